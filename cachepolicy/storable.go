package cachepolicy

import (
	"net/http"
	"slices"
	"time"
)

// Storable reports whether a shared cache may store the response to a request, and could ever reuse
// it (RFC 9111, section 3). A response without Date is taken to be generated now (RFC 9110, section
// 6.6.1).
func Storable(r Request, status int, h http.Header, now time.Time) bool {
	r.Policy = r.lasting(status, h, now)
	d, targeted, _ := r.Policy.directives(status, h)
	explicit := explicitlyFresh(d, targeted, h)
	switch {
	case status < 200 || status > 599 || status == http.StatusPartialContent || status == http.StatusNotModified ||
		status == http.StatusRequestedRangeNotSatisfiable:
		return false // not final, of no class, not complete, or about the range alone
	case r.Method != http.MethodGet && !r.ContentKeyed && !(explicit && representsTarget(r, status, h)):
		return false // a HEAD has no content to reuse, and a cache answers no other method
	case r.Directives.NoStore, forbidsStoring(d, status), d.Private:
		return false
	case r.Authorized && !d.Public && !d.HasSMaxage && !d.MustRevalidate:
		return false // RFC 9111, section 3.5
	case variesOnEverything(h):
		return false // section 4.1: "*" never matches
	case !r.VariesBy(h):
		return false // a request without these fields would get what they caused
	case personal(r, d, targeted, h):
		return false
	case !explicit && len(h["Set-Cookie"]) > 0:
		// With a heuristic lifetime, the origin did not consider caches when it set the cookie.
		return false
	}
	return r.Policy.reusable(d, targeted, status, h, now)
}

// Supersedes reports whether the response to r, which may not be stored, shows that a response
// stored before is not to be used any more (RFC 9111, section 4.3.3): its origin has taken the
// permission to store away, or the resource. A response for one client does not show that: one to
// a request with credentials or with fields of scripts, or with Set-Cookie. Nor does an error that
// may be over soon.
func Supersedes(r Request, status int, h http.Header, now time.Time) bool {
	switch {
	case status == http.StatusPartialContent || setsCookie(h) || r.credentials() || !r.VariesBy(h):
		return false
	case status >= http.StatusBadRequest && status != http.StatusNotFound && status != http.StatusGone &&
		status != http.StatusUnavailableForLegalReasons:
		return false
	}
	r.Directives = Directives{} // no-store of the client says nothing about the resource
	return !Storable(r, status, h, now)
}

// explicitlyFresh reports whether the response has an explicit freshness lifetime, which may be
// zero.
func explicitlyFresh(d Directives, targeted bool, h http.Header) bool {
	return d.HasSMaxage || d.HasMaxAge || !targeted && len(h["Expires"]) > 0
}

// representsTarget reports whether the response to a POST is what a GET would return: its
// Content-Location is the request's own URI (RFC 9110, sections 8.7 and 9.3.3).
func representsTarget(r Request, status int, h http.Header) bool {
	location := h["Content-Location"]
	if r.Method != http.MethodPost || status != http.StatusOK || len(location) != 1 {
		return false
	}
	target, ok := sameOrigin(r, location[0])
	return ok && target == r.Target
}

// forbidsStoring reports whether no-store applies. must-understand overrides it for a status that
// this cache understands (RFC 9111, section 5.2.2.3).
func forbidsStoring(d Directives, status int) bool {
	if d.MustUnderstand {
		return http.StatusText(status) == ""
	}
	return d.NoStore
}

// reusable reports whether a stored response could ever answer a request: while fresh, stale under
// RFC 5861, or confirmed by means of its validator.
func (p Policy) reusable(d Directives, targeted bool, status int, h http.Header, now time.Time) bool {
	freshFor, known := p.lifetime(d, targeted, status, h, now)
	explicit := explicitlyFresh(d, targeted, h)
	switch {
	case d.NoCache: // never without revalidation
		return hasValidator(h)
	case known && freshFor > 0:
		return true
	case explicit && !p.neverStale(d) && (d.StaleWhileRevalidate > 0 || d.StaleIfError > 0):
		return true
	}
	return hasValidator(h) && (explicit || d.Public || heuristicallyCacheable(status))
}

// VariesBy reports whether Vary names every field of r that scripts set.
func (r Request) VariesBy(h http.Header) bool {
	if len(r.Scripted) == 0 {
		return true
	}
	names, _ := VaryNames(h)
	return !slices.ContainsFunc(r.Scripted, func(name string) bool { return !slices.Contains(names, name) })
}

func hasValidator(h http.Header) bool { return h.Get("ETag") != "" || h.Get("Last-Modified") != "" }

func variesOnEverything(h http.Header) bool {
	_, any := VaryNames(h)
	return any
}

// StoredHeader returns the fields of a response that a cache stores. It leaves out the fields of
// the connection (RFC 9111, section 3.1) and those that no-cache="..." and private="..." name
// (sections 5.2.2.4 and 5.2.2.7). It never modifies h, and returns h itself if no field has to be
// left out.
func StoredHeader(h http.Header) http.Header {
	d, _ := ResponseDirectives(h)
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
