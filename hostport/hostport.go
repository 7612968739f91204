// Package hostport knows the form of addresses that are listened on, HOST:PORT, and of those that are called, http://HOST:PORT.
package hostport

import (
	"errors"
	"net"
	"net/url"
)

// Valid reports whether s is HOST:PORT, with a port that there is: a number up to 65535, or the name of a service. The host may be empty; it is not
// looked up.
func Valid(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && validPort(port)
}

func validPort(s string) bool {
	_, err := net.LookupPort("tcp", s)
	return err == nil
}

var errURL = errors.New("not http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]")

// ParseURL reads http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]: no name of a user, no query, no fragment.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		!validPort(u.Port()) {
		return nil, errURL
	}
	return u, nil
}
