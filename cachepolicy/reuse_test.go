package cachepolicy

import (
	"net/http"
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	cdn := "Cache-Control: public, max-age=60, stale-while-revalidate=30, stale-if-error=100"
	for _, c := range []struct {
		name string
		h    http.Header
		at   time.Duration // since it came
		want Verdict
	}{
		{"just stored", fields(cdn), 0, Fresh},
		{"its last moment", fields(cdn), 60*time.Second - 1, Fresh},
		{"lifetime must exceed age, section 4.2", fields(cdn), 60 * time.Second, StaleWhileRevalidate},
		{"RFC 5861, section 3", fields(cdn), 90*time.Second - 1, StaleWhileRevalidate},
		{"RFC 5861, section 4", fields(cdn), 90 * time.Second, StaleIfError},
		{"its last moment", fields(cdn), 160*time.Second - 1, StaleIfError},
		{"no longer", fields(cdn), 160 * time.Second, Revalidate},
		{"Age counts", fields(cdn, "Age: 50"), 20 * time.Second, StaleWhileRevalidate},
		{"Date counts", fields(cdn, "Date: @-50s"), 20 * time.Second, StaleWhileRevalidate},
		{"must-revalidate while fresh", fields(cdn + ", must-revalidate"), 0, Fresh},
		{"must-revalidate, section 4.2.4", fields(cdn + ", must-revalidate"), 60 * time.Second, Revalidate},
		{"proxy-revalidate", fields(cdn + ", proxy-revalidate"), 60 * time.Second, Revalidate},
		{"s-maxage, section 5.2.2.10", fields(cdn + ", s-maxage=10"), 10 * time.Second, Revalidate},
		{"no-cache, section 5.2.2.4", fields(cdn + ", no-cache"), 0, Revalidate},
		{"nothing said", fields(`ETag: "x"`), 0, Revalidate},
	} {
		e := NewEntry(200, c.h, t0, t0)
		if got := Decide(e, t0.Add(c.at)); got != c.want {
			t.Errorf("%s: Decide(%v, after %v) = %v, want %v", c.name, c.h, c.at, got, c.want)
		}
	}
}

func TestEntry(t *testing.T) {
	e := NewEntry(200, fields("Cache-Control: max-age=60", "Age: 10"), t0.Add(-time.Second), t0)
	now := t0.Add(5 * time.Second)
	if got, want := e.AgeAt(now), 16*time.Second; got != want {
		t.Errorf("AgeAt = %v, want %v", got, want)
	}
	if got, want := e.TTL(now), 44*time.Second; got != want {
		t.Errorf("TTL = %v, want %v", got, want)
	}
	if got, want := e.AgeAt(t0.Add(-time.Hour)), 11*time.Second; got != want {
		t.Errorf("AgeAt with a clock that went back = %v, want %v", got, want)
	}
	if n := testing.AllocsPerRun(100, func() { Decide(e, now) }); n != 0 {
		t.Errorf("Decide allocates %v times", n)
	}
}
