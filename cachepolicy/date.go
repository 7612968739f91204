package cachepolicy

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// The three forms of HTTP-date (RFC 9110, section 5.6.7). The first is the preferred one.
var dateForms = [...]string{http.TimeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

// ParseDate parses an HTTP-date strictly, but in any case (RFC 9111, section 4.2). It rejects
// variations that time.Parse accepts: a one-digit hour, fractions of a second. A two-digit year
// that appears to be more than 50 years after now is in the past (RFC 9110, section 5.6.7).
func ParseDate(s string, now time.Time) (time.Time, bool) {
	s = inGMT(s)
	for i, form := range dateForms {
		t, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		var buf [40]byte
		// A wrong weekday changes nothing: the date says the day, and other caches read no weekday.
		if !bytes.EqualFold(afterWeekday(t.AppendFormat(buf[:0], form)), afterWeekday([]byte(s))) {
			return time.Time{}, false
		}
		if i == 1 {
			t = nearCentury(t, now)
		}
		return t, true
	}
	return time.Time{}, false
}

// afterWeekday returns a date without the name of the weekday.
func afterWeekday(date []byte) []byte { return date[bytes.IndexAny(date, ", "):] }

// inGMT returns s with its time zone in upper case, because time.Parse accepts the names of days
// and months in any case, but not that of the zone.
func inGMT(s string) string {
	const zone = " GMT"
	if n := len(s) - len(zone); n >= 0 && s[n:] != zone && strings.EqualFold(s[n:], zone) {
		return s[:n] + zone
	}
	return s
}

// nearCentury moves t to the latest century in which its year is at most 50 years after now.
func nearCentury(t, now time.Time) time.Time {
	year := t.Year()%100 + now.Year() - now.Year()%100
	if year > now.Year()+50 {
		year -= 100
	}
	return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}
