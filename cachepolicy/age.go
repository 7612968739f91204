package cachepolicy

import (
	"net/http"
	"strings"
	"time"
)

// AgeToSend returns the Age to send with a stored response that has these fields (RFC 9111, section
// 5.1). For an entry that is fresh, or stale by its age, that is its current age, so the caches
// downstream decide as this one does.
//
// For an entry that a soft purge expired, it is an age at which every cache downstream takes the
// response for stale: the longest lifetime that any of them could derive from the fields, plus the
// time since this entry became stale, or the true age if that is greater. With the true age alone a
// cache downstream would store a purged response until the lifetime in its fields is over. The
// fields stay as the origin wrote them, because the periods of RFC 5861 begin at the end of that
// lifetime, here and downstream.
func (e Entry) AgeToSend(h http.Header, now time.Time) time.Duration {
	age, late := e.AgeAt(now), -e.TTL(now)
	if !e.SoftPurged || late < 0 {
		return age
	}
	return min(max(age, LongestLifetime(h, now)+late), MaxDelta)
}

// LongestLifetime returns the longest freshness lifetime that any cache could derive from these
// fields: a browser, which uses Cache-Control or Expires, or a shared cache that has a field of its
// own (RFC 9213; the W3C Note "Edge Architecture"). Of repeated values the longest counts. now
// replaces a missing Date.
func LongestLifetime(h http.Header, now time.Time) time.Duration {
	freshFor, guessed := time.Duration(0), len(h["Cache-Control"])+len(h["Expires"]) == 0
	for name, lines := range h {
		if name != "Surrogate-Control" && name != "Cache-Control" && !strings.HasSuffix(name, "-Cache-Control") {
			continue
		}
		named, ok := longestExplicit(lines)
		freshFor = max(freshFor, named)
		guessed = guessed || !ok && (name != "Cache-Control" || len(h["Expires"]) == 0)
	}
	for _, expires := range h["Expires"] {
		freshFor = max(freshFor, untilExpires([]string{expires}, date(h, now), now))
	}
	if guessed {
		freshFor = max(freshFor, longestHeuristic(h, now))
	}
	return freshFor
}

// longestExplicit returns the longest freshness lifetime in the lines of a field. ok is false if
// some cache finds no lifetime in them and may use a heuristic.
func longestExplicit(lines []string) (freshFor time.Duration, ok bool) {
	for _, rest := range lines {
		for closed := true; rest != "" && closed; {
			var name, arg string
			name, arg, _, rest, closed = nextDirective(rest)
			if name = lower(name); name != "max-age" && name != "s-maxage" {
				continue
			}
			ok = ok || name == "max-age" // only shared caches use s-maxage
			arg, _, _ = strings.Cut(arg, ";")
			arg, _, _ = strings.Cut(arg, "+")
			named, _ := deltaSeconds(trim(arg))
			freshFor = max(freshFor, named)
		}
	}
	return freshFor, ok
}

// longestHeuristic returns a fifth of the time since Last-Modified. Most caches use a tenth (RFC
// 9111, section 4.2.2), Squid a fifth, and they differ in the upper bound.
func longestHeuristic(h http.Header, now time.Time) time.Duration {
	modified, ok := ParseDate(h.Get("Last-Modified"), now)
	if !ok {
		return 0
	}
	fifth := max(date(h, now).Sub(modified), 0) / 5
	// An Age is in whole seconds.
	return min((fifth + time.Second - 1).Truncate(time.Second), MaxDelta)
}
