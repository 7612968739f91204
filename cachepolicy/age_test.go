package cachepolicy

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

const day = 24 * time.Hour

func TestLongestLifetime(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.Header
		want time.Duration
	}{
		{"nothing said", fields("Date: @0s"), 0},
		{"max-age", fields("Cache-Control: public, max-age=60"), time.Minute},
		{"s-maxage counts for some, max-age for others", fields("Cache-Control: s-maxage=10, max-age=60"), time.Minute},
		{"of two values the longer, because a cache may use either, section 4.2.1",
			fields("Cache-Control: max-age=60", "Cache-Control: MAX-AGE=90"), 90 * time.Second},
		{"as a string, section 5.2", fields(`Cache-Control: max-age="60"`), time.Minute},
		{"one that is no number", fields("Cache-Control: max-age=x, max-age=60"), time.Minute},
		{"overflow, section 1.2.2", fields("Cache-Control: max-age=99999999999"), MaxDelta},
		{"other directives do not count", fields("Cache-Control: max-age=60, stale-while-revalidate=600, min-fresh=999"), time.Minute},
		{"a targeted field, RFC 9213", fields("CDN-Cache-Control: max-age=90", "Cache-Control: max-age=60"), 90 * time.Second},
		{"a field targeted at other caches", fields("Other-CDN-Cache-Control: max-age=90", "Cache-Control: max-age=60"), 90 * time.Second},
		{"browsers with a longer lifetime", fields("CDN-Cache-Control: max-age=60", "Cache-Control: max-age=90"), 90 * time.Second},
		{"Surrogate-Control", fields(`Surrogate-Control: content="ESI/1.0", max-age=90+600;other`,
			"Cache-Control: max-age=60"), 90 * time.Second},
		{"Expires minus Date", fields("Date: @-1h", "Expires: @1h"), 2 * time.Hour},
		{"Expires beside a shorter max-age", fields("Date: @0s", "Expires: @1h", "Cache-Control: max-age=60"), time.Hour},
		{"two Expires", fields("Date: @0s", "Expires: @1h", "Expires: @2h"), 2 * time.Hour},
		{"Expires in the past", fields("Date: @0s", "Expires: @-1h", "Cache-Control: max-age=60"), time.Minute},
		{"a heuristic", fields("Date: @0s", "Last-Modified: @-10h"), 2 * time.Hour},
		{"a heuristic has no upper bound", fields("Date: @0s", "Last-Modified: @-2400h"), 480 * time.Hour},
		{"browsers use a heuristic beside s-maxage, section 5.2.2.10",
			fields("Date: @0s", "Last-Modified: @-10h", "Cache-Control: s-maxage=60"), 2 * time.Hour},
		{"no heuristic beside an explicit lifetime",
			fields("Date: @0s", "Last-Modified: @-2400h", "Cache-Control: max-age=60"), time.Minute},
	} {
		if got := LongestLifetime(c.h, t0); got != c.want {
			t.Errorf("%s: LongestLifetime(%v) = %v, want %v", c.name, c.h, got, c.want)
		}
	}
}

func TestAgeToSend(t *testing.T) {
	const split = "Cache-Control: max-age=86400"
	never := time.Duration(-1)
	for _, c := range []struct {
		name         string
		h            http.Header
		purged, sent time.Duration // since t0
		want         time.Duration
	}{
		{"fresh", fields(cdn, "Age: 10"), never, 20 * time.Second, 30 * time.Second},
		{"stale by its age: the true age", fields(cdn, "Age: 10"), never, 70 * time.Second, 80 * time.Second},
		{"a shorter lifetime for the edge: browsers may use theirs", fields("CDN-Cache-Control: max-age=60", split),
			never, 70 * time.Second, 70 * time.Second},
		{"purged: the end of its lifetime", fields(cdn, "Age: 10"), 20 * time.Second, 20 * time.Second, time.Minute},
		{"purged: the age increases from there", fields(cdn, "Age: 10"), 20 * time.Second, 25 * time.Second, 65 * time.Second},
		{"purged: stale for browsers too", fields("CDN-Cache-Control: max-age=60", split), 20 * time.Second,
			25 * time.Second, day + 5*time.Second},
		{"purged while stale: stale for browsers too", fields("CDN-Cache-Control: max-age=60", split),
			70 * time.Second, 75 * time.Second, day + 15*time.Second},
		{"purged: its true age exceeds the lifetime", fields(cdn, "Age: 1000"), 20 * time.Second, 25 * time.Second, 1025 * time.Second},
		{"purged: its true age, because caches downstream do not see its lifetime",
			fields("Iconedge-Cache-Control: max-age=60", "Cache-Control: max-age=10"), 50 * time.Second,
			55 * time.Second, 55 * time.Second},
		{"the greatest Age, section 1.2.2", fields("Cache-Control: max-age=2147483648"), time.Second, time.Hour, MaxDelta},
	} {
		e := NewEntry(200, c.h, t0, t0)
		if c.purged >= 0 {
			e = e.Expired(t0.Add(c.purged))
		}
		c.h.Del("Iconedge-Cache-Control") // the edge removes it from responses on its own paths
		if got := e.AgeToSend(c.h, t0.Add(c.sent)); got != c.want {
			t.Errorf("%s: AgeTold = %v, want %v", c.name, got, c.want)
		}
	}
}

// No cache, shared or private, takes a purged response for fresh by its fields and its Age, and no
// cache derives a freshness lifetime beyond LongestLifetime.
func FuzzAgeToSend(f *testing.F) {
	f.Add("max-age=60", "", "", "", int64(10), int64(3))
	f.Add("s-maxage=5, max-age=100", "max-age=999", "max-age=7+8", "Sat, 21 Nov 2026 13:00:00 GMT", int64(2), int64(0))
	f.Add("max-age=2147483648", "max-age=x", `max-age="5"`, "0", int64(1), int64(1<<31))
	f.Add("", "", "", "", int64(1), int64(1))
	f.Fuzz(func(t *testing.T, control, cdn, surrogate, expires string, purged, later int64) {
		if purged < 0 || later < 0 || purged > 1<<31 || later > 1<<31 {
			return
		}
		h := fields("Date: @0s", "Last-Modified: @-1000h")
		for name, value := range map[string]string{"Cache-Control": control, "Cdn-Cache-Control": cdn,
			"Surrogate-Control": surrogate, "Expires": expires} {
			if value != "" {
				h.Set(name, value)
			}
		}
		when := t0.Add(time.Duration(purged) * time.Second)
		now := when.Add(time.Duration(later) * time.Second)
		sent := NewEntry(200, h, t0, t0).Expired(when).AgeToSend(h, now)
		h.Set("Age", strconv.FormatInt(int64(sent/time.Second), 10))
		private := http.Header{"Cache-Control": {control}, "Expires": h["Expires"], "Date": h["Date"], "Age": h["Age"]}
		for _, h := range []http.Header{h, private} {
			if e := NewEntry(200, h, now, now); e.Fresh(now) {
				t.Fatalf("%v is fresh for %v", h, e.TTL(now))
			}
			if freshFor, _ := Lifetime(200, h, now); freshFor > LongestLifetime(h, now) {
				t.Fatalf("the lifetime of %v is %v, and LongestLifetime is %v", h, freshFor, LongestLifetime(h, now))
			}
		}
	})
}
