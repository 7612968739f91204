package cachepolicy

import (
	"net/http"
	"strings"
	"time"
)

// AgeTold is the Age that goes out with a stored answer which has these fields (RFC 9111, section 5.1). Of one that is stale by its age that is
// the truth, which the caches below judge as this one does. Of one whose life was ended before its time it is what it would be if that life
// had been lived: the longest that any cache could read from the fields, and for how long it has been stale. Else every cache below would
// take it for fresh until the life that the fields tell of is over, and keep for a day what was purged. The fields themselves stay as
// the origin wrote them: for how long it may be served stale has its beginning at the end of that life, here and below (RFC 5861).
func (e Entry) AgeTold(h http.Header, now time.Time) time.Duration {
	age, late := e.AgeAt(now), -e.TTL(now)
	if !e.Ended || late < 0 {
		return age
	}
	return min(max(age, LongestLife(h, now)+late), MaxDelta)
}

// LongestLife is for how long any cache could take an answer with these fields for fresh, from an age of zero: a browser, which goes by
// Cache-Control or Expires, or a shared cache for which there is a field of its own (RFC 9213; the W3C Note "Edge Architecture"). Of what
// is said twice the longest counts; now stands in for a Date that is missing.
func LongestLife(h http.Header, now time.Time) time.Duration {
	life, guessed := time.Duration(0), len(h["Cache-Control"])+len(h["Expires"]) == 0
	for name, lines := range h {
		if name != "Surrogate-Control" && name != "Cache-Control" && !strings.HasSuffix(name, "-Cache-Control") {
			continue
		}
		named, ok := longestNamed(lines)
		life = max(life, named)
		guessed = guessed || !ok && (name != "Cache-Control" || len(h["Expires"]) == 0)
	}
	for _, expires := range h["Expires"] {
		life = max(life, untilExpires([]string{expires}, date(h, now), now))
	}
	if guessed {
		life = max(life, longestGuess(h, now))
	}
	return life
}

// longestNamed is the longest life that lines of a field name; ok is false where some cache finds none in them, and may guess.
func longestNamed(lines []string) (life time.Duration, ok bool) {
	for _, rest := range lines {
		for closed := true; rest != "" && closed; {
			var name, arg string
			name, arg, _, rest, closed = nextDirective(rest)
			if name = lower(name); name != "max-age" && name != "s-maxage" {
				continue
			}
			ok = ok || name == "max-age" // s-maxage is for shared caches alone
			arg, _, _ = strings.Cut(arg, ";")
			arg, _, _ = strings.Cut(arg, "+")
			named, _ := delta(trim(arg))
			life = max(life, named)
		}
	}
	return life, ok
}

// longestGuess is a fifth of the time since Last-Modified: caches take a tenth (RFC 9111, section 4.2.2) or, as Squid does, a fifth of it. Where
// it ends they do not agree.
func longestGuess(h http.Header, now time.Time) time.Duration {
	modified, ok := ParseDate(h.Get("Last-Modified"), now)
	if !ok {
		return 0
	}
	fifth := max(date(h, now).Sub(modified), 0) / 5
	return min((fifth + time.Second - 1).Truncate(time.Second), MaxDelta) // an Age is in whole seconds
}
