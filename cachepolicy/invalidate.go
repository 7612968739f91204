package cachepolicy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Invalidated returns the targets (path and query) that a response invalidates (RFC 9111, section
// 4.4). If the method is safe or the response is an error, there are none. Otherwise they are the
// request's own target and those in Location and Content-Location. These must have the same origin,
// so that one origin cannot invalidate the stored responses of another.
func Invalidated(r Request, status int, h http.Header) []string {
	if safe(r.Method) || r.ContentKeyed || status < 200 || status >= 400 {
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

// MethodQuery is a safe, idempotent method with content (RFC 10008).
const MethodQuery = "QUERY"

// safe reports whether a method is safe (RFC 9110, section 9.2.1). An unknown method is not.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, MethodQuery:
		return true
	}
	return false
}

// sameOrigin resolves a URI reference in the response to r (RFC 3986, section 5.2). ok is false if
// the reference is invalid or has another host. The scheme that the client used is unknown here, so
// http and https are both accepted.
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

// authority returns host and port in lower case, without the default port of the scheme (RFC 9110,
// section 4.2.3).
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
