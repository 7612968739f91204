package cachepolicy

import (
	"net/http"
	"time"
)

// maxHeuristic is the longest heuristic freshness lifetime: a response without an explicit lifetime
// is revalidated within a day.
const maxHeuristic = 24 * time.Hour

// Lifetime returns the freshness lifetime of a response, which begins when the origin generates it
// (RFC 9111, section 4.2.1). now replaces a missing Date. It returns false if the response has no
// explicit lifetime and a heuristic is not allowed.
func Lifetime(status int, h http.Header, now time.Time) (time.Duration, bool) {
	d, targeted := ResponseDirectives(h)
	return Policy{}.lifetime(d, targeted, status, h, now)
}

func (p Policy) lifetime(d Directives, targeted bool, status int, h http.Header, now time.Time) (time.Duration, bool) {
	switch {
	case d.HasSMaxage:
		return d.SMaxage, true
	case d.HasMaxAge:
		return d.MaxAge, true
	// RFC 9213, section 2.2: a targeted field overrides Expires
	case !targeted && len(h["Expires"]) > 0:
		return untilExpires(h["Expires"], date(h, now), now), true
	}
	if ttl, ok := p.negativeTTL(d, status); ok {
		return ttl, true
	}
	if !heuristicallyCacheable(status) && !d.Public {
		return 0, false
	}
	modified, ok := ParseDate(h.Get("Last-Modified"), now)
	if !ok {
		return 0, false
	}
	tenth := date(h, now).Sub(modified) / 10 // RFC 9111, section 4.2.2: a typical setting
	return min(max(tenth, 0), maxHeuristic), true
}

// untilExpires returns Expires minus Date. An invalid date, above all "0", is a time in the past
// (RFC 9111, section 5.3), and so are two lines that differ.
func untilExpires(expires []string, date, now time.Time) time.Duration {
	for _, other := range expires[1:] {
		if other != expires[0] {
			return 0
		}
	}
	t, ok := ParseDate(expires[0], now)
	if !ok {
		return 0
	}
	return min(max(t.Sub(date), 0), MaxDelta)
}

// date returns the time at which the origin generated the response: its Date, or now, when it
// arrived, if it has no valid Date (RFC 9110, section 6.6.1).
func date(h http.Header, now time.Time) time.Time {
	if t, ok := ParseDate(h.Get("Date"), now); ok {
		return t
	}
	return now
}

// heuristicallyCacheable reports whether RFC 9110, section 15.1, allows a heuristic freshness
// lifetime for a status. It allows one for 206 too, which this cache never stores.
func heuristicallyCacheable(status int) bool {
	switch status {
	case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501:
		return true
	}
	return false
}

// Age returns the current age of a response (RFC 9111, section 4.2.3). The request was sent at
// requestTime, the response arrived at responseTime, and it is reused at now.
func Age(h http.Header, requestTime, responseTime, now time.Time) time.Duration {
	return initialAge(h, requestTime, responseTime) + max(now.Sub(responseTime), 0)
}

// initialAge returns the corrected_initial_age of RFC 9111, section 4.2.3.
func initialAge(h http.Header, requestTime, responseTime time.Time) time.Duration {
	apparent := max(responseTime.Sub(date(h, responseTime)), 0)
	return min(max(apparent, ageField(h["Age"])+max(responseTime.Sub(requestTime), 0)), MaxDelta)
}

// ageField parses Age. RFC 9111, section 5.1, lets a cache use the first of several values and
// ignore an invalid one. But a response with such an Age has been in a cache for an unknown time,
// so its age is taken to exceed every freshness lifetime.
func ageField(lines []string) time.Duration {
	if len(lines) == 0 {
		return 0
	}
	if age, ok := deltaSeconds(trim(lines[0])); ok && len(lines) == 1 {
		return age
	}
	return MaxDelta
}
