package cachepolicy

import (
	"net/http"
	"slices"
	"time"
)

// Storable reports whether a shared cache may store, and can ever reuse, the answer to a request (RFC 9111, section 3). An
// answer without Date counts as made now (RFC 9110, section 6.6.1).
func Storable(r Request, status int, h http.Header, now time.Time) bool {
	d, targeted := AnswerDirectives(h)
	explicit := explicitlyFresh(d, targeted, h)
	switch {
	case status < 200 || status == http.StatusPartialContent || status == http.StatusNotModified:
		return false // not final, or not whole
	case r.Method != http.MethodGet && !(explicit && representsTarget(r, status, h)):
		return false // a HEAD has no body to reuse, and no other method is answered from a cache
	case r.Directives.NoStore, forbidden(d, status), d.Private:
		return false
	case r.Authorized && !d.Public && !d.HasSMaxage && !d.MustRevalidate:
		return false // RFC 9111, section 3.5
	case variesOnEverything(h):
		return false // section 4.1: "*" never matches
	case personal(r, d, targeted, h):
		return false
	case !explicit && len(h["Set-Cookie"]) > 0:
		return false // a guess will not do for cookies: their maker did not think of caches
	}
	return reusable(d, targeted, status, h, now)
}

// explicitlyFresh reports whether the answer says how long it lives, be it for no time at all.
func explicitlyFresh(d Directives, targeted bool, h http.Header) bool {
	return d.HasSMaxage || d.HasMaxAge || !targeted && len(h["Expires"]) > 0
}

// representsTarget reports whether a POST's answer is what a GET would bring: its Content-Location is the request's own URI
// (RFC 9110, sections 8.7 and 9.3.3).
func representsTarget(r Request, status int, h http.Header) bool {
	location := h["Content-Location"]
	if r.Method != http.MethodPost || status != http.StatusOK || len(location) != 1 {
		return false
	}
	target, ok := sameOrigin(r, location[0])
	return ok && target == r.Target
}

// forbidden is no-store, which must-understand overrides for a status whose meaning is known (RFC 9111, section 5.2.2.3).
func forbidden(d Directives, status int) bool {
	if d.MustUnderstand {
		return http.StatusText(status) == ""
	}
	return d.NoStore
}

// reusable reports whether a stored copy could ever answer anything: while fresh, stale by RFC 5861, or confirmed by a
// validator.
func reusable(d Directives, targeted bool, status int, h http.Header, now time.Time) bool {
	life, known := lifetime(d, targeted, status, h, now)
	explicit := explicitlyFresh(d, targeted, h)
	switch {
	case d.NoCache: // not without asking
		return validated(h)
	case known && life > 0:
		return true
	case explicit && !neverStale(d) && (d.StaleWhileRevalidate > 0 || d.StaleIfError > 0):
		return true
	}
	return validated(h) && (explicit || d.Public || heuristicallyCacheable(status))
}

func validated(h http.Header) bool { return h.Get("ETag") != "" || h.Get("Last-Modified") != "" }

func variesOnEverything(h http.Header) bool {
	_, any := VaryNames(h)
	return any
}

// StoredHeader is what is kept of an answer's fields: without those of its connection (RFC 9111, section 3.1) and those that
// no-cache="..." and private="..." name (sections 5.2.2.4 and 5.2.2.7). It is h itself where nothing is to be taken out; h is
// never changed.
func StoredHeader(h http.Header) http.Header {
	d, _ := AnswerDirectives(h)
	names := slices.Concat(d.NoCacheFields, d.PrivateFields, connectionFields(h))
	has := func(name string) bool { _, ok := h[name]; return ok }
	if !slices.ContainsFunc(names, has) {
		return h
	}
	kept := h.Clone()
	for _, name := range names {
		delete(kept, name)
	}
	return kept
}
