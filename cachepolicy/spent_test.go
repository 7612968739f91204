package cachepolicy

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

const day = 24 * time.Hour

func TestLongestLife(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.Header
		want time.Duration
	}{
		{"nothing said", fields("Date: @0s"), 0},
		{"max-age", fields("Cache-Control: public, max-age=60"), time.Minute},
		{"s-maxage counts for some, max-age for others", fields("Cache-Control: s-maxage=10, max-age=60"), time.Minute},
		{"of two the longer, whichever a cache takes, section 4.2.1", fields("Cache-Control: max-age=60", "Cache-Control: MAX-AGE=90"), 90 * time.Second},
		{"as a string, section 5.2", fields(`Cache-Control: max-age="60"`), time.Minute},
		{"one that is no number", fields("Cache-Control: max-age=x, max-age=60"), time.Minute},
		{"overflow, section 1.2.2", fields("Cache-Control: max-age=99999999999"), MaxDelta},
		{"other directives have no say", fields("Cache-Control: max-age=60, stale-while-revalidate=600, min-fresh=999"), time.Minute},
		{"a targeted field, RFC 9213", fields("CDN-Cache-Control: max-age=90", "Cache-Control: max-age=60"), 90 * time.Second},
		{"one that is targeted at others", fields("Other-CDN-Cache-Control: max-age=90", "Cache-Control: max-age=60"), 90 * time.Second},
		{"and browsers, who have a longer life", fields("CDN-Cache-Control: max-age=60", "Cache-Control: max-age=90"), 90 * time.Second},
		{"Surrogate-Control", fields(`Surrogate-Control: content="ESI/1.0", max-age=90+600;other`, "Cache-Control: max-age=60"), 90 * time.Second},
		{"Expires minus Date", fields("Date: @-1h", "Expires: @1h"), 2 * time.Hour},
		{"Expires beside a shorter max-age", fields("Date: @0s", "Expires: @1h", "Cache-Control: max-age=60"), time.Hour},
		{"two Expires", fields("Date: @0s", "Expires: @1h", "Expires: @2h"), 2 * time.Hour},
		{"Expires in the past", fields("Date: @0s", "Expires: @-1h", "Cache-Control: max-age=60"), time.Minute},
		{"a guess", fields("Date: @0s", "Last-Modified: @-10h"), 2 * time.Hour},
		{"a guess has no end", fields("Date: @0s", "Last-Modified: @-2400h"), 480 * time.Hour},
		{"browsers guess beside s-maxage, section 5.2.2.10", fields("Date: @0s", "Last-Modified: @-10h", "Cache-Control: s-maxage=60"), 2 * time.Hour},
		{"where nothing must be guessed it is not", fields("Date: @0s", "Last-Modified: @-2400h", "Cache-Control: max-age=60"), time.Minute},
	} {
		if got := LongestLife(c.h, t0); got != c.want {
			t.Errorf("%s: LongestLife(%v) = %v, want %v", c.name, c.h, got, c.want)
		}
	}
}

func TestAgeTold(t *testing.T) {
	const split = "Cache-Control: max-age=86400"
	never := time.Duration(-1)
	for _, c := range []struct {
		name         string
		h            http.Header
		purged, told time.Duration // since t0
		want         time.Duration
	}{
		{"fresh", fields(cdn, "Age: 10"), never, 20 * time.Second, 30 * time.Second},
		{"stale by its age: the truth", fields(cdn, "Age: 10"), never, 70 * time.Second, 80 * time.Second},
		{"a life of its own for the edge: browsers may go on", fields("CDN-Cache-Control: max-age=60", split), never, 70 * time.Second, 70 * time.Second},
		{"purged: its life is over", fields(cdn, "Age: 10"), 20 * time.Second, 20 * time.Second, time.Minute},
		{"and from there it grows older", fields(cdn, "Age: 10"), 20 * time.Second, 25 * time.Second, 65 * time.Second},
		{"browsers may not go on then", fields("CDN-Cache-Control: max-age=60", split), 20 * time.Second, 25 * time.Second, day + 5*time.Second},
		{"nor where it was stale when it was purged", fields("CDN-Cache-Control: max-age=60", split), 70 * time.Second, 75 * time.Second, day + 15*time.Second},
		{"old enough as it is", fields(cdn, "Age: 1000"), 20 * time.Second, 25 * time.Second, 1025 * time.Second},
		{"its own age, where others are not told of its life", fields("Iconedge-Cache-Control: max-age=60", "Cache-Control: max-age=10"), 50 * time.Second, 55 * time.Second, 55 * time.Second},
		{"no longer than an Age can be, section 1.2.2", fields("Cache-Control: max-age=2147483648"), time.Second, time.Hour, MaxDelta},
	} {
		e := NewEntry(200, c.h, t0, t0)
		if c.purged >= 0 {
			e = e.Expired(t0.Add(c.purged))
		}
		c.h.Del("Iconedge-Cache-Control") // on an edge's own paths it goes no further
		if got := e.AgeTold(c.h, t0.Add(c.told)); got != c.want {
			t.Errorf("%s: AgeTold = %v, want %v", c.name, got, c.want)
		}
	}
}

// What was purged is fresh to nobody who goes by its fields and its Age, be it a cache like this one or a private one; and nobody takes
// any answer for fresh for longer than LongestLife.
func FuzzAgeTold(f *testing.F) {
	f.Add("max-age=60", "", "", "", int64(10), int64(3))
	f.Add("s-maxage=5, max-age=100", "max-age=999", "max-age=7+8", "Sat, 21 Nov 2026 13:00:00 GMT", int64(2), int64(0))
	f.Add("max-age=2147483648", "max-age=x", `max-age="5"`, "0", int64(1), int64(1<<31))
	f.Add("", "", "", "", int64(1), int64(1))
	f.Fuzz(func(t *testing.T, control, cdn, surrogate, expires string, purged, later int64) {
		if purged < 0 || later < 0 || purged > 1<<31 || later > 1<<31 {
			return
		}
		h := fields("Date: @0s", "Last-Modified: @-1000h")
		for name, value := range map[string]string{"Cache-Control": control, "Cdn-Cache-Control": cdn, "Surrogate-Control": surrogate, "Expires": expires} {
			if value != "" {
				h.Set(name, value)
			}
		}
		when := t0.Add(time.Duration(purged) * time.Second)
		now := when.Add(time.Duration(later) * time.Second)
		told := NewEntry(200, h, t0, t0).Expired(when).AgeTold(h, now)
		h.Set("Age", strconv.FormatInt(int64(told/time.Second), 10))
		private := http.Header{"Cache-Control": {control}, "Expires": h["Expires"], "Date": h["Date"], "Age": h["Age"]}
		for _, h := range []http.Header{h, private} {
			if e := NewEntry(200, h, now, now); e.Fresh(now) {
				t.Fatalf("%v is fresh for %v", h, e.TTL(now))
			}
			if life, _ := Lifetime(200, h, now); life > LongestLife(h, now) {
				t.Fatalf("%v lives %v, and at most %v", h, life, LongestLife(h, now))
			}
		}
	})
}
