package objectstore

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// An s3Address holds the parts of an s3:// address.
type s3Address struct {
	bucket, prefix   string
	endpoint, region string // no region: the store asks the service
	tls              bool
}

// Address opens the store with address s, without access to disk or network:
//
//	dir:PATH
//	s3://BUCKET[/PREFIX]?endpoint=HOST:PORT&tls=false&region=REGION
//
// The default endpoint is Amazon's, and tls is true by default. Without a region, the store uses
// AWS_REGION or AWS_DEFAULT_REGION, or else asks the service. Credentials come from the AWS
// environment variables or else the AWS files; they are never part of an address. The error is
// ErrAddress, and does not repeat s.
func Address(s string) (Bucket, error) {
	if path, ok := strings.CutPrefix(s, "dir:"); ok {
		if path == "" || strings.ContainsRune(path, 0) {
			return nil, fmt.Errorf("%w: dir: needs a path, as in dir:/var/lib/iconedge", ErrAddress)
		}
		return Dir(path), nil
	}
	if strings.HasPrefix(s, "s3:") {
		a, err := parseS3(s)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAddress, err)
		}
		return openS3(a)
	}
	return nil, fmt.Errorf("%w: it must be dir:PATH or s3://BUCKET[/PREFIX]?endpoint=HOST:PORT", ErrAddress)
}

// parseS3 reads an s3:// address. Its errors go to the operator, and repeat nothing of the address
// except the names of parameters, because the operator may have put a secret into it.
func parseS3(s string) (a s3Address, err error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "":
		return a, fmt.Errorf("it must have the form s3://BUCKET[/PREFIX]?endpoint=HOST:PORT")
	case u.User != nil:
		return a, fmt.Errorf("credentials belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the AWS files, not in an address")
	case u.Fragment != "":
		return a, fmt.Errorf("it must not contain #")
	}
	a = s3Address{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), endpoint: "s3.amazonaws.com", tls: true}
	if err := checkPrefix(a.prefix); err != nil {
		return a, fmt.Errorf("the prefix is %w", err)
	}
	a.region = os.Getenv("AWS_REGION")
	if a.region == "" {
		a.region = os.Getenv("AWS_DEFAULT_REGION")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return a, fmt.Errorf("its parameters are not percent-encoded correctly")
	}
	for name, values := range query {
		if len(values) > 1 {
			return a, fmt.Errorf("parameter %s is repeated", name)
		}
		if err := a.set(name, values[0]); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *s3Address) set(name, value string) (err error) {
	switch name {
	case "endpoint":
		a.endpoint = value
		if !isHostPort(value) {
			return fmt.Errorf("endpoint must be HOST or HOST:PORT, without https:// (tls=false selects http)")
		}
	case "region":
		a.region = value
	case "tls":
		if a.tls, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("tls must be true or false")
		}
	default:
		return fmt.Errorf("the only parameters are endpoint, tls and region")
	}
	return nil
}

// isHostPort reports whether s consists of a host and an optional port.
func isHostPort(s string) bool {
	u, err := url.Parse("http://" + s)
	if err != nil || u.Host != s || u.Hostname() == "" {
		return false
	}
	if _, port, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.Atoi(port)
		return err == nil && n > 0 && n < 1<<16
	}
	return true
}
