package cachepolicy

import (
	"testing"
	"time"
)

// With NegativeTTL an error without an explicit freshness lifetime gets the operator's, and nothing
// else changes.
func TestNegativeTTL(t *testing.T) {
	policy := Policy{SafeCookies: true, NegativeTTL: map[int]time.Duration{404: time.Minute, 500: 10 * time.Second, 403: time.Second}}
	anonymous, cookie := Request{Method: "GET"}, Request{Method: "GET", Cookie: true}
	for _, c := range []struct {
		name     string
		r        Request
		status   int
		fields   []string
		storable bool
		want     time.Duration // freshness lifetime
	}{
		{"no lifetime", anonymous, 404, nil, true, time.Minute},
		{"another status", anonymous, 500, nil, true, 10 * time.Second},
		{"a status without a lifetime", anonymous, 502, nil, false, 0},
		{"no error", anonymous, 200, nil, false, 0},
		{"a heuristic", anonymous, 404, []string{"Date: @0s", "Last-Modified: @-10h"}, true, time.Minute},
		{"the origin's own max-age", anonymous, 404, []string{"Cache-Control: max-age=5"}, true, 5 * time.Second},
		{"max-age=0", anonymous, 404, []string{"Cache-Control: max-age=0"}, false, 0},
		{"Expires", anonymous, 404, []string{"Date: @0s", "Expires: @5s"}, true, 5 * time.Second},
		{"Expires: 0", anonymous, 404, []string{"Expires: 0"}, false, 0},
		{"CDN-Cache-Control", anonymous, 404, []string{"CDN-Cache-Control: max-age=5"}, true, 5 * time.Second},
		{"public names no lifetime", anonymous, 404, []string{"Cache-Control: public"}, true, time.Minute},
		{"no-store", anonymous, 404, []string{"Cache-Control: no-store"}, false, time.Minute},
		{"private", anonymous, 404, []string{"Cache-Control: private"}, false, time.Minute},
		{"no-cache", anonymous, 404, []string{"Cache-Control: no-cache"}, false, 0},
		{"Vary: *", anonymous, 404, []string{"Vary: *"}, false, time.Minute},
		{"a cookie for one client", anonymous, 404, []string{"Set-Cookie: a=b"}, false, time.Minute},
		{"to a request with Cookie", cookie, 404, nil, false, time.Minute},
		{"to a request with Authorization", Request{Method: "GET", Authorized: true}, 403, nil, false, time.Second},
		{"to a POST", Request{Method: "POST"}, 404, nil, false, time.Minute},
	} {
		c.r.Policy = policy
		h := fields(c.fields...)
		e := policy.NewEntry(c.status, h, t0, t0)
		if got := Storable(c.r, c.status, h, t0); got != c.storable || e.Lifetime != c.want {
			t.Errorf("%s: Storable %v and a lifetime of %v, want %v and %v", c.name, got, e.Lifetime, c.storable, c.want)
		}
		if !c.storable {
			continue
		}
		// The error may show the user's name, so a request with Cookie never gets it unless the
		// origin named a lifetime.
		explicit := c.want == 5*time.Second
		cookie.Policy = policy
		if got := Decide(e, cookie, t0); (got == Fresh) != explicit {
			t.Errorf("%s: %v for a request with Cookie", c.name, got)
		}
		if got := Decide(e, c.r, t0.Add(c.want)); got == Fresh {
			t.Errorf("%s: fresh at the end of its lifetime", c.name)
		}
	}
}

func TestGrace(t *testing.T) {
	policy := Policy{Grace: time.Hour}
	r := Request{Method: "GET", Policy: policy}
	for _, c := range []struct {
		name   string
		fields []string
		want   time.Duration // after its lifetime, for which it is served while it is revalidated
		failed time.Duration // after its lifetime, for which it is served instead of a 500
	}{
		{"max-age", []string{"Cache-Control: max-age=60"}, time.Hour, time.Hour},
		{"a heuristic", []string{"Date: @0s", "Last-Modified: @-10m"}, time.Hour, time.Hour},
		{"s-maxage", []string{"Cache-Control: s-maxage=60"}, time.Hour, time.Hour},
		{"the response's own window", []string{"Cache-Control: max-age=60, stale-while-revalidate=5"}, 5 * time.Second, 0},
		{"the response's own window beside s-maxage",
			[]string{"Cache-Control: s-maxage=60, stale-while-revalidate=5"}, 5 * time.Second, 5 * time.Second},
		{"the response's own window of 0", []string{"Cache-Control: max-age=60, stale-while-revalidate=0"}, 0, 0},
		{"stale-if-error", []string{"Cache-Control: max-age=60, stale-if-error=5"}, time.Hour, 5 * time.Second},
		{"stale-if-error beside s-maxage", []string{"Cache-Control: s-maxage=60, stale-if-error=5"}, time.Hour, 5 * time.Second},
		{"must-revalidate", []string{"Cache-Control: max-age=60, must-revalidate"}, 0, 0},
		{"must-revalidate beside s-maxage", []string{"Cache-Control: s-maxage=60, must-revalidate"}, 0, 0},
		{"must-revalidate and its own window", []string{"Cache-Control: max-age=60, must-revalidate, stale-while-revalidate=5"}, 0, 0},
		{"proxy-revalidate", []string{"Cache-Control: max-age=60, proxy-revalidate"}, 0, 0},
		{"no-cache", []string{"Cache-Control: max-age=60, no-cache"}, 0, 0},
		{"private", []string{"Cache-Control: max-age=60, private"}, 0, 0},
		// The origin wants such a response revalidated each time.
		{"max-age=0", []string{"Cache-Control: max-age=0", `ETag: "x"`}, 0, 0},
		{"s-maxage=0", []string{"Cache-Control: s-maxage=0", `ETag: "x"`}, 0, 0},
		{"only a validator", []string{`ETag: "x"`}, 0, 0},
	} {
		e := policy.NewEntry(200, fields(c.fields...), t0, t0)
		at := func(late time.Duration) time.Time { return t0.Add(e.Lifetime + late) }
		if c.want > 0 && Decide(e, r, at(c.want-1)) != StaleWhileRevalidate || Decide(e, r, at(c.want)) != Revalidate {
			t.Errorf("%s: %v just before %v, %v then", c.name, Decide(e, r, at(c.want-1)), c.want, Decide(e, r, at(c.want)))
		}
		if c.failed > 0 && !MayServeStale(e, r, FailureStatus, at(c.failed-1)) || MayServeStale(e, r, FailureStatus, at(c.failed)) {
			t.Errorf("%s: stale instead of a 500: %v just before %v, %v then", c.name,
				MayServeStale(e, r, FailureStatus, at(c.failed-1)), c.failed, MayServeStale(e, r, FailureStatus, at(c.failed)))
		}
	}
	// s-maxage still limits the use of a response whose origin can't be reached.
	e := policy.NewEntry(200, fields("Cache-Control: s-maxage=60"), t0, t0)
	if MayServeStale(e, r, FailureDisconnected, t0.Add(time.Minute+time.Hour)) {
		t.Error("s-maxage: served after the grace because the origin is disconnected")
	}
}

// A grace adds only a time in which a response is stale: it never makes a response fresh, and
// changes nothing about one that its origin wants revalidated.
func FuzzGrace(f *testing.F) {
	f.Add("s-maxage=60", int64(70), int64(30))
	f.Add("max-age=60, must-revalidate, stale-while-revalidate=9", int64(61), int64(30))
	f.Fuzz(func(t *testing.T, control string, at, grace int64) {
		if at < 0 || at > 1<<31 || grace < 0 || grace > 1<<31 {
			return
		}
		h := fields("Date: @0s", "Cache-Control: "+control)
		p := Policy{Grace: time.Duration(grace) * time.Second}
		e, before, now := p.NewEntry(200, h, t0, t0), NewEntry(200, h, t0, t0), t0.Add(time.Duration(at)*time.Second)
		if e.Lifetime != before.Lifetime || e.Fresh(now) != before.Fresh(now) {
			t.Fatalf("%q: a lifetime of %v, without a grace %v", control, e.Lifetime, before.Lifetime)
		}
		d, _ := ResponseDirectives(h)
		if got := Decide(e, Request{}, now); got == StaleWhileRevalidate && (d.MustRevalidate || d.ProxyRevalidate || d.NoCache) {
			t.Fatalf("%q: %v", control, got)
		}
	})
}
