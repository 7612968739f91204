package cachepolicy

import "net/http"

// A Policy holds the choices that RFC 9111 leaves to the operator of a cache. The zero Policy
// follows RFC 9111 to the letter.
type Policy struct {
	// SafeCookies keeps responses that may belong to one user away from all others, as nginx and
	// Varnish do. The cache stores no response with Set-Cookie. A response without an explicit
	// freshness lifetime is not stored for a request with Cookie, and does not answer one, because
	// its origin did not say that it is the same for every user.
	SafeCookies bool
	// IgnoreRevalidation obeys only no-store and only-if-cached of a request's directives, because
	// the others, and Pragma, would let every client send the cache to its origin.
	IgnoreRevalidation bool
}

// Obeyed returns those of a request's directives that the policy obeys.
func (p Policy) Obeyed(d Directives) Directives {
	if p.IgnoreRevalidation {
		return Directives{NoStore: d.NoStore, OnlyIfCached: d.OnlyIfCached}
	}
	return d
}

// Selectable reports whether a stored response may answer the request at all: fresh, stale or
// confirmed by the origin. A cache treats a response that is not selectable as if it were not
// stored. It does not even send its validator, because an origin that compares only Last-Modified
// may confirm a response that it would generate differently for this user.
func Selectable(e Entry, r Request) bool {
	return !r.Policy.SafeCookies || !e.SetsCookie && !(r.Cookie && e.Heuristic)
}

// personal reports whether SafeCookies keeps a response to r out of the cache.
func personal(r Request, d Directives, targeted bool, h http.Header) bool {
	return r.Policy.SafeCookies && (setsCookie(h) || r.Cookie && heuristic(d, targeted, h))
}

// heuristic reports whether the response leaves its freshness lifetime to caches (RFC 9111, section
// 4.2.2). No cache guesses one for no-cache, which makes it ask the origin each time.
func heuristic(d Directives, targeted bool, h http.Header) bool {
	return !d.NoCache && !explicitlyFresh(d, targeted, h)
}

func setsCookie(h http.Header) bool { return len(h["Set-Cookie"]) > 0 }
