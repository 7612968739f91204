// Package hostport checks the form of addresses to listen on, HOST:PORT, and of addresses to call,
// http://HOST:PORT.
package hostport

import (
	"errors"
	"net"
	"net/url"
)

// Valid reports whether s is HOST:PORT. The port must be a number up to 65535 or the name of a
// service. The host may be empty, and Valid does not look it up.
func Valid(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && validPort(port)
}

func validPort(s string) bool {
	_, err := net.LookupPort("tcp", s)
	return err == nil
}

var errURL = errors.New("must be http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]")

// ParseURL reads http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]. It refuses user names,
// queries and fragments.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		!validPort(u.Port()) {
		return nil, errURL
	}
	return u, nil
}
