package cachepolicy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Invalidated are the targets (path and query) that an answer makes invalid (RFC 9111, section 4.4): none if the method is safe
// or the answer an error; else the request's own, and what Location and Content-Location name on the same origin, so that
// nobody can empty the cache of another's answers.
func Invalidated(r Request, status int, h http.Header) []string {
	if safe(r.Method) || status < 200 || status >= 400 {
		return nil
	}
	targets := []string{r.Target}
	for _, reference := range slices.Concat(h["Location"], h["Content-Location"]) {
		if target, ok := sameOrigin(r, reference); ok && !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	return targets
}

// safe methods change nothing (RFC 9110, section 9.2.1). Any that is not known may.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// sameOrigin resolves a URI reference in the answer to r (RFC 3986, section 5.2); ok is false where it can't be read or leads
// to another host. Which scheme the client used is not known here: both are taken for it.
func sameOrigin(r Request, reference string) (target string, ok bool) {
	base, err := url.ParseRequestURI(r.Target)
	if err != nil {
		return "", false
	}
	u, err := base.Parse(trim(reference))
	if err != nil || u.Opaque != "" || u.User != nil {
		return "", false
	}
	if u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	relative := u.Scheme == "" && u.Host == ""
	same := r.Host != "" && authority(u.Host, u.Scheme) == authority(r.Host, u.Scheme)
	return u.RequestURI(), relative || same
}

// authority is host and port in lower case, without a port that is the scheme's own (RFC 9110, section 4.2.3).
func authority(host, scheme string) string {
	host = lower(host)
	switch scheme {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}
