package cachepolicy

import (
	"net/http"
	"time"
)

// The three forms of HTTP-date (RFC 9110, section 5.6.7). The first is the preferred one.
var dateForms = [...]string{http.TimeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

// ParseDate parses an HTTP-date strictly. It rejects variations that time.Parse accepts: a
// one-digit hour, fractions of a second, another case. A two-digit year that appears to be more
// than 50 years after now is in the past (RFC 9110, section 5.6.7).
func ParseDate(s string, now time.Time) (time.Time, bool) {
	for i, form := range dateForms {
		t, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		var buf [40]byte
		if string(t.AppendFormat(buf[:0], form)) != s { // also rejects a wrong weekday
			return time.Time{}, false
		}
		if i == 1 {
			t = nearCentury(t, now)
		}
		return t, true
	}
	return time.Time{}, false
}

// nearCentury moves t to the latest century in which its year is at most 50 years after now.
func nearCentury(t, now time.Time) time.Time {
	year := t.Year()%100 + now.Year() - now.Year()%100
	if year > now.Year()+50 {
		year -= 100
	}
	return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}
