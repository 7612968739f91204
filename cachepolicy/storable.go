package cachepolicy

import (
	"net/http"
	"strings"
	"time"
)

// Storable reports whether a shared cache may store, and can ever reuse, the answer to a request (RFC 9111, section 3). The
// request's fields that count are Authorization and Cache-Control; a route on which a client's no-store has no say leaves
// it out of request. An answer without Date is given one before it is judged (RFC 9110, section 6.6.1).
func Storable(method string, status int, request, response http.Header) bool {
	d := ParseCacheControl(response["Cache-Control"]...)
	switch {
	case method != http.MethodGet:
		return false // a HEAD has no body to reuse, and nothing else is asked for twice
	case status < 200 || status == http.StatusPartialContent || status == http.StatusNotModified:
		return false // not final, or not whole
	case forbidden(d, status), d.Private:
		return false
	case ParseCacheControl(request["Cache-Control"]...).NoStore:
		return false
	case len(request["Authorization"]) > 0 && !d.Public && !d.HasSMaxage && !d.MustRevalidate:
		return false // RFC 9111, section 3.5
	case variesOnEverything(response):
		return false // section 4.1: "*" never matches
	}
	return reusable(d, status, response)
}

// forbidden is no-store, which must-understand overrides for a status whose meaning is known (RFC 9111, section 5.2.2.3).
func forbidden(d Directives, status int) bool {
	if d.MustUnderstand {
		return http.StatusText(status) == ""
	}
	return d.NoStore
}

// reusable reports whether a stored copy could ever answer anything: while fresh, stale by RFC 5861, or confirmed by a
// validator. A guessed life is not enough for an answer with cookies: its maker did not think of caches.
func reusable(d Directives, status int, h http.Header) bool {
	life, known := lifetime(d, status, h, date(h, time.Time{}))
	explicit := d.HasSMaxage || d.HasMaxAge || len(h["Expires"]) > 0
	if !explicit && len(h["Set-Cookie"]) > 0 {
		return false
	}
	if explicit && (d.StaleWhileRevalidate > 0 || d.StaleIfError > 0) {
		return true
	}
	if known && life > 0 && !d.NoCache {
		return true
	}
	validator := h.Get("ETag") != "" || h.Get("Last-Modified") != ""
	return validator && (explicit || d.NoCache || d.Public || heuristicallyCacheable(status))
}

func variesOnEverything(h http.Header) bool {
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			if trim(name) == "*" {
				return true
			}
		}
	}
	return false
}
