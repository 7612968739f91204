package cachepolicy

import (
	"net/http"
	"time"
)

// maxHeuristic is the longest life that is guessed: an answer whose maker named none is looked at again within a day.
const maxHeuristic = 24 * time.Hour

// Lifetime is how long an answer is fresh from the moment its origin made it (RFC 9111, section 4.2.1); now stands in for a
// Date that is missing. It is false where nothing says how long and nothing may be guessed.
func Lifetime(status int, h http.Header, now time.Time) (time.Duration, bool) {
	d, targeted := AnswerDirectives(h)
	return lifetime(d, targeted, status, h, now)
}

func lifetime(d Directives, targeted bool, status int, h http.Header, now time.Time) (time.Duration, bool) {
	switch {
	case d.HasSMaxage:
		return d.SMaxage, true
	case d.HasMaxAge:
		return d.MaxAge, true
	case !targeted && len(h["Expires"]) > 0: // RFC 9213, section 2.2: a targeted field leaves it no say
		return untilExpires(h["Expires"], date(h, now), now), true
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

// untilExpires is Expires minus Date. An invalid date, "0" above all, is a time in the past (RFC 9111, section 5.3), and so
// are two that differ.
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

// date is when the origin made the answer; one without a readable Date was made when it came (RFC 9110, section 6.6.1).
func date(h http.Header, now time.Time) time.Time {
	if t, ok := ParseDate(h.Get("Date"), now); ok {
		return t
	}
	return now
}

// heuristicallyCacheable statuses are those of RFC 9110, section 15.1. 206 is one of them, but is never stored here.
func heuristicallyCacheable(status int) bool {
	switch status {
	case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501:
		return true
	}
	return false
}

// Age is the current age of an answer (RFC 9111, section 4.2.3): requestTime is when it was asked for, responseTime when it
// came, and now when it is reused.
func Age(h http.Header, requestTime, responseTime, now time.Time) time.Duration {
	return initialAge(h, requestTime, responseTime) + max(now.Sub(responseTime), 0)
}

// initialAge is corrected_initial_age.
func initialAge(h http.Header, requestTime, responseTime time.Time) time.Duration {
	apparent := max(responseTime.Sub(date(h, responseTime)), 0)
	return min(max(apparent, statedAge(h["Age"])+max(responseTime.Sub(requestTime), 0)), MaxDelta)
}

// statedAge reads Age. RFC 9111, section 5.1, lets a cache take the first of several and ignore what is no number; but an answer
// with such an Age has been in a cache for nobody knows how long, and so counts as older than any life.
func statedAge(lines []string) time.Duration {
	if len(lines) == 0 {
		return 0
	}
	if age, ok := delta(trim(lines[0])); ok && len(lines) == 1 {
		return age
	}
	return MaxDelta
}
