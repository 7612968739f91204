package cachepolicy

import (
	"net/http"
	"slices"
	"time"
)

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
	// NegativeTTL has the freshness lifetimes of errors without an explicit one, by status. Such a
	// lifetime counts like a heuristic one: the origin did not name it.
	NegativeTTL map[int]time.Duration
	// Grace is the stale-while-revalidate of responses that name none, and then also their
	// stale-if-error, unless they name that. With a Grace s-maxage no longer implies
	// proxy-revalidate, so that the Grace counts beside it.
	Grace time.Duration
	// Override replaces a part of what responses say; nil: nothing is replaced.
	Override *Override
}

// An Override replaces a part of what responses say about their storing.
type Override struct {
	// TTL returns the freshness lifetime of responses with a status, which begins when they arrive.
	// It takes precedence over every field, but no-store and private still forbid storing. With a
	// lifetime of zero, responses are stored and revalidated each time. nil: there is none.
	TTL func(status int) (ttl time.Duration, ok bool)
	// DefaultTTL is as TTL, for responses that name no lifetime and no condition of their own.
	DefaultTTL func(status int) (ttl time.Duration, ok bool)
	// Path is the path of the request without its query. To a response that does not say itself
	// that others may get it, TTL applies only if no user could have made it personal; see
	// Request.lasting.
	Path string
	// AnyUser makes TTL apply although the request has Cookie.
	AnyUser bool
	// Grace and StaleIfError replace stale-while-revalidate and stale-if-error; nil: nothing does.
	Grace, StaleIfError *time.Duration
	// Force stores responses although private, no-store or the credentials of the request forbid
	// it. The caller removes Set-Cookie.
	Force bool
}

// ttl returns the lifetime that the policy sets for a response with the fields h and these
// directives.
func (p Policy) ttl(status int, d Directives, targeted bool, h http.Header) (ttl time.Duration, ok bool) {
	o := p.Override
	if o == nil {
		return 0, false
	}
	if o.TTL != nil {
		ttl, ok = o.TTL(status)
	}
	if !ok && o.DefaultTTL != nil && !d.NoCache && !explicitlyFresh(d, targeted, h) {
		ttl, ok = o.DefaultTTL(status)
	}
	return ttl, ok
}

// directives returns the directives of a response by the policy; see ResponseDirectives. set means
// that the policy sets the lifetime.
func (p Policy) directives(status int, h http.Header) (d Directives, targeted, set bool) {
	d, targeted = ResponseDirectives(h)
	o := p.Override
	if o == nil {
		return d, targeted, false
	}
	if o.Force {
		d.NoStore, d.Private, d.NoCache, d.MustUnderstand, d.Public = false, false, false, false, true
	}
	var ttl time.Duration
	if ttl, set = p.ttl(status, d, targeted, h); set {
		targeted = true // no Expires
		d.NoCache, d.MustRevalidate, d.ProxyRevalidate, d.HasSMaxage = false, false, false, false
		d.MaxAge, d.HasMaxAge = ttl, true
		if ttl == 0 {
			d.NoCache = o.StaleIfError == nil
			d.StaleWhileRevalidate, d.HasStaleWhileRevalidate = 0, false
		}
	}
	if o.Grace != nil && !d.NoCache {
		d.StaleWhileRevalidate, d.HasStaleWhileRevalidate = *o.Grace, true
		if o.StaleIfError == nil && !d.HasStaleIfError {
			d.StaleIfError = *o.Grace
		}
		d.MustRevalidate, d.ProxyRevalidate = false, false
	}
	if o.StaleIfError != nil && !d.NoCache {
		d.StaleIfError, d.HasStaleIfError = *o.StaleIfError, true
		d.MustRevalidate, d.ProxyRevalidate = false, false
	}
	return d, targeted, set
}

// lasting returns the policy for a response to r. Some applications ignore the end of a path, so
// that /account/x.css is the page of a user: a TTL for style sheets would give it to all. The TTL
// does not apply to the response to a request with Cookie or Authorization, unless it says itself
// that others may get it, its type belongs to the end of the path, the cookies are part of what
// selects it, or the operator says that they do not count.
func (r Request) lasting(status int, h http.Header, now time.Time) Policy {
	p, o := r.Policy, r.Policy.Override
	if o == nil || o.TTL == nil && o.DefaultTTL == nil || o.Force || !r.credentials() {
		return p
	}
	cookiesCount := !o.AnyUser && !r.CookieKeyed && !variesByCookie(h)
	if !r.Authorized && !cookiesCount || Belongs(h.Get("Content-Type"), o.Path) || permits(status, h, now) {
		return p
	}
	limited := *o
	limited.TTL, limited.DefaultTTL, p.Override = nil, nil, &limited
	return p
}

// permits reports whether a response says itself that every user may get it: by public, or by a
// freshness lifetime.
func permits(status int, h http.Header, now time.Time) bool {
	d, targeted := ResponseDirectives(h)
	freshFor, _ := Policy{}.lifetime(d, targeted, status, h, now)
	return !d.NoCache && (d.Public || explicitlyFresh(d, targeted, h) && freshFor > 0)
}

func variesByCookie(h http.Header) bool {
	names, _ := VaryNames(h)
	return slices.Contains(names, "Cookie")
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

// negativeTTL returns the lifetime that the policy gives to an error without an explicit one. A
// no-cache forbids it.
func (p Policy) negativeTTL(d Directives, status int) (time.Duration, bool) {
	if d.NoCache {
		return 0, false
	}
	ttl, ok := p.NegativeTTL[status]
	return ttl, ok
}

// neverStale reports whether the response forbids its use when stale. s-maxage implies
// proxy-revalidate (RFC 9111, sections 5.2.2.2, 5.2.2.8 and 5.2.2.10), unless the policy has a
// Grace, or the response itself has a window of RFC 5861: frameworks that send both mean both.
func (p Policy) neverStale(d Directives) bool {
	if d.MustRevalidate || d.ProxyRevalidate {
		return true
	}
	windows := d.HasStaleWhileRevalidate || d.HasStaleIfError
	return d.HasSMaxage && !windows && p.Grace == 0 && !p.staleByOverride()
}

// stale sets how long the response may be served stale. The response's own windows take precedence
// over the Grace. A response with a freshness lifetime of zero gets no Grace, because its origin
// wants it to be revalidated each time.
func (p Policy) stale(e *Entry, d Directives) {
	e.MustRevalidate = p.neverStale(d)
	e.StaleWhileRevalidate, e.StaleIfError, e.StaleWhenLost = d.StaleWhileRevalidate, d.StaleIfError, MaxStaleWhenLost
	mayBeStale := e.Lifetime > 0 && !e.MustRevalidate && !d.NoCache && !d.Private
	if p.Grace > 0 && mayBeStale && !d.HasStaleWhileRevalidate {
		e.StaleWhileRevalidate = p.Grace
		e.StaleIfError = p.Grace
	}
	if d.HasSMaxage && !p.staleByOverride() {
		// s-maxage forbids any other use of a stale response.
		e.StaleIfError, e.StaleWhenLost = e.StaleWhileRevalidate, e.StaleWhileRevalidate
	}
	if d.HasStaleIfError {
		// RFC 5861, section 4: after that time a cache should not use the stale response.
		e.StaleIfError, e.StaleWhenLost = d.StaleIfError, d.StaleIfError
	}
}

// staleByOverride reports whether the policy itself sets how long responses may be served stale.
func (p Policy) staleByOverride() bool {
	return p.Override != nil && (p.Override.Grace != nil || p.Override.StaleIfError != nil)
}
