package cachepolicy

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fields makes a header of lines "Name: value". A value "@DURATION" is the time t0 plus DURATION as
// an HTTP-date.
func fields(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		if d, err := time.ParseDuration(strings.TrimPrefix(value, "@")); err == nil && strings.HasPrefix(value, "@") {
			value = t0.Add(d).Format(http.TimeFormat)
		}
		h.Add(name, value)
	}
	return h
}

func TestLifetime(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		h      http.Header
		want   time.Duration
		known  bool
	}{
		{"no freshness lifetime", 200, fields("Date: @0s"), 0, false},
		{"max-age", 200, fields("Cache-Control: max-age=60"), time.Minute, true},
		{"s-maxage wins, section 4.2.1", 200, fields("Cache-Control: max-age=60, s-maxage=10"), 10 * time.Second, true},
		{"a malformed s-maxage wins too", 200, fields("Cache-Control: max-age=60, s-maxage=x"), 0, true},
		{"max-age wins over Expires, section 5.3", 200, fields("Cache-Control: max-age=60", "Expires: @1h"), time.Minute, true},
		{"Expires minus Date", 200, fields("Date: @0s", "Expires: @1h"), time.Hour, true},
		{"Expires minus an older Date", 200, fields("Date: @-1h", "Expires: @1h"), 2 * time.Hour, true},
		{"Expires without Date", 200, fields("Expires: @1h"), time.Hour, true},
		{"Expires and an invalid Date", 200, fields("Date: yesterday", "Expires: @1h"), time.Hour, true},
		{"Expires in the past", 200, fields("Date: @0s", "Expires: @-1h"), 0, true},
		{"Expires: 0, section 5.3", 200, fields("Date: @0s", "Expires: 0"), 0, true},
		{"an empty Expires", 200, fields("Date: @0s", "Expires: "), 0, true},
		{"a targeted field wins, RFC 9213 section 2.2", 200,
			fields("CDN-Cache-Control: max-age=60", "Cache-Control: max-age=10, no-store"), time.Minute, true},
		{"a targeted field wins over Expires", 200, fields("CDN-Cache-Control: max-age=60", "Expires: @1h"), time.Minute, true},
		{"even a targeted field without a lifetime", 200, fields("CDN-Cache-Control: must-revalidate", "Expires: @1h"), 0, false},
		{"Surrogate-Control wins over Expires", 200, fields("Surrogate-Control: max-age=0", "Expires: @1h"), 0, true},
		{"two Expires that differ", 200, fields("Date: @0s", "Expires: @1h", "Expires: @2h"), 0, true},
		{"twice the same Expires", 200, fields("Date: @0s", "Expires: @1h", "Expires: @1h"), time.Hour, true},
		{"a tenth of the time since Last-Modified, section 4.2.2", 200, fields("Date: @0s", "Last-Modified: @-10h"), time.Hour, true},
		{"heuristic: at most a day", 200, fields("Date: @0s", "Last-Modified: @-10000h"), 24 * time.Hour, true},
		{"modified in the future", 200, fields("Date: @0s", "Last-Modified: @10h"), 0, true},
		{"a heuristic for a 404", 404, fields("Date: @0s", "Last-Modified: @-10h"), time.Hour, true},
		{"no heuristic for a 500", 500, fields("Date: @0s", "Last-Modified: @-10h"), 0, false},
		{"a heuristic for a public 500", 500, fields("Date: @0s", "Last-Modified: @-10h", "Cache-Control: public"), time.Hour, true},
		{"an explicit lifetime for any status", 599, fields("Cache-Control: max-age=60"), time.Minute, true},
	} {
		if got, known := Lifetime(c.status, c.h, t0); got != c.want || known != c.known {
			t.Errorf("%s: Lifetime(%d, %v) = %v, %v; want %v, %v", c.name, c.status, c.h, got, known, c.want, c.known)
		}
	}
}

func TestAge(t *testing.T) {
	const requested, came, reused = -2 * time.Second, 0, 10 * time.Second
	for _, c := range []struct {
		name string
		h    http.Header
		want time.Duration
	}{
		// The age includes the delay of the response (section 4.2.3).
		{"only the time in this cache", fields("Date: @0s"), 10*time.Second + 2*time.Second},
		{"no Date", fields(), 12 * time.Second},
		{"an older Date", fields("Date: @-30s"), 40 * time.Second},
		{"Date in the future", fields("Date: @30s"), 12 * time.Second},
		{"Age and the delay", fields("Date: @0s", "Age: 100"), 112 * time.Second},
		{"the larger of the two", fields("Date: @-200s", "Age: 100"), 210 * time.Second},
		{"several values: unknown", fields("Age: 5, 100"), MaxDelta + 10*time.Second},
		{"two lines: unknown", fields("Age: 0", "Age: 0"), MaxDelta + 10*time.Second},
		{"negative", fields("Age: -100"), MaxDelta + 10*time.Second},
		{"a fraction", fields("Age: 100.5"), MaxDelta + 10*time.Second},
		{"a parameter", fields("Age: 100;a=1"), MaxDelta + 10*time.Second},
		{"an empty Age", fields("Age: "), MaxDelta + 10*time.Second},
		{"overflow, section 1.2.2", fields("Age: 99999999999999999999"), MaxDelta + 10*time.Second},
	} {
		if got := Age(c.h, t0.Add(requested), t0.Add(came), t0.Add(reused)); got != c.want {
			t.Errorf("%s: Age(%v) = %v, want %v", c.name, c.h, got, c.want)
		}
	}
	if got := Age(fields(), t0, t0, t0.Add(-time.Hour)); got != 0 {
		t.Errorf("Age after the clock was set back = %v, want 0", got)
	}
}

func TestParseDate(t *testing.T) {
	want := time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC)
	for _, s := range []string{ // RFC 9110, section 5.6.7
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
		// In any case (RFC 9111, section 4.2).
		"sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nOV 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 gMt",
		"SUNDAY, 06-NOV-94 08:49:37 gmt", "sUN nOV  6 08:49:37 1994",
		// With another weekday, as the public suite for caches has it.
		"mon, 06 Nov 1994 08:49:37 GMT", "Monday, 06-Nov-94 08:49:37 GMT", "Thu Nov  6 08:49:37 1994",
	} {
		if got, ok := ParseDate(s, t0); !ok || !got.Equal(want) {
			t.Errorf("ParseDate(%q) = %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "0", "-1", "Sun, 06 Nov 1994 8:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 est", "Sun, 06 Nov 1994 08:49:37 \u212aMT", "gmt", "GMT", "Sun, 06 Nov 1994 08:49:37GMT",
		"Mond, 06 Nov 1994 08:49:37 GMT", ", 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37.5 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
		"Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 94 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
		" Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun Nov 06 08:49:37 1994", "Sun, 31 Feb 1994 08:49:37 GMT"} {
		if got, ok := ParseDate(s, t0); ok {
			t.Errorf("ParseDate(%q) = %v, want none", s, got)
		}
	}
	// A year that appears to be more than 50 years ahead is in the past.
	for year, want := range map[string]int{"76": 2076, "77": 1977, "26": 2026, "00": 2000} {
		for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
			if got, ok := ParseDate(day+", 01-Jan-"+year+" 00:00:00 GMT", t0); ok && got.Year() != want {
				t.Errorf("the year %s is read as %d, want %d", year, got.Year(), want)
			}
		}
	}
}

// An accepted date is unchanged after it is formatted and parsed again.
func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := ParseDate(s, t0)
		if !ok {
			return
		}
		again, ok := ParseDate(d.Format(http.TimeFormat), t0)
		if !ok || !again.Equal(d) {
			t.Fatalf("ParseDate(%q) = %v, which is read back as %v, %v", s, d, again, ok)
		}
		if strings.HasSuffix(s, "GMT") && len(s) == len(http.TimeFormat) && !strings.EqualFold(d.Format(http.TimeFormat), s) {
			t.Fatalf("ParseDate(%q) = %v, which is another date", s, d)
		}
	})
}
