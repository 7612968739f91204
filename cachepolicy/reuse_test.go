package cachepolicy

import (
	"net/http"
	"testing"
	"time"
)

const cdn = "Cache-Control: public, max-age=60, stale-while-revalidate=30, stale-if-error=100"

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       http.Header
		request string        // Cache-Control of the request
		at      time.Duration // since the response arrived
		want    Verdict
	}{
		{"just stored", fields(cdn), "", 0, Fresh},
		{"the last nanosecond of its lifetime", fields(cdn), "", 60*time.Second - 1, Fresh},
		{"lifetime must exceed age, section 4.2", fields(cdn), "", 60 * time.Second, StaleWhileRevalidate},
		{"RFC 5861, section 3", fields(cdn), "", 90*time.Second - 1, StaleWhileRevalidate},
		{"after stale-while-revalidate", fields(cdn), "", 90 * time.Second, Revalidate},
		{"Age counts", fields(cdn, "Age: 50"), "", 20 * time.Second, StaleWhileRevalidate},
		{"Date counts", fields(cdn, "Date: @-50s"), "", 20 * time.Second, StaleWhileRevalidate},
		{"an Age that is no number", fields(cdn, "Age: old"), "", 0, Revalidate},
		{"an invalid Age, with the longest lifetime", fields("Cache-Control: max-age=99999999999", "Age: 0, 0"), "", 0, Revalidate},
		{"must-revalidate while fresh", fields(cdn + ", must-revalidate"), "", 0, Fresh},
		{"must-revalidate, section 4.2.4", fields(cdn + ", must-revalidate"), "", 60 * time.Second, Revalidate},
		{"proxy-revalidate", fields(cdn + ", proxy-revalidate"), "", 60 * time.Second, Revalidate},
		{"s-maxage, section 5.2.2.10", fields("Cache-Control: s-maxage=10, max-age=60"), "", 10 * time.Second, Revalidate},
		{"s-maxage beside stale-while-revalidate", fields("Cache-Control: s-maxage=10, stale-while-revalidate=30"), "",
			40*time.Second - 1, StaleWhileRevalidate},
		{"s-maxage after stale-while-revalidate", fields("Cache-Control: s-maxage=10, stale-while-revalidate=30"), "",
			40 * time.Second, Revalidate},
		{"s-maxage and proxy-revalidate", fields("Cache-Control: s-maxage=10, proxy-revalidate, stale-while-revalidate=30"), "",
			10 * time.Second, Revalidate},
		{"s-maxage beside stale-if-error", fields("Cache-Control: s-maxage=10, stale-if-error=30"), "", 10 * time.Second, Revalidate},
		{"no-cache, section 5.2.2.4", fields(cdn + ", no-cache"), "", 0, Revalidate},
		{"no-cache of a field", fields(cdn + `, no-cache="a"`), "", 0, Fresh},
		{"no freshness lifetime", fields(`ETag: "x"`), "", 0, Revalidate},
		{"targeted, RFC 9213", fields("Cache-Control: no-cache", "CDN-Cache-Control: max-age=60"), "", 59 * time.Second, Fresh},

		{"the client's no-cache, section 5.2.1.4", fields(cdn), "no-cache", 0, Revalidate},
		{"the client's max-age, section 5.2.1.1", fields(cdn), "max-age=10", 10 * time.Second, Fresh},
		{"the client's max-age exceeded", fields(cdn), "max-age=10", 10*time.Second + 1, Revalidate},
		{"a reload", fields(cdn), "max-age=0", 1, Revalidate},
		{"the client's max-age exceeded by Age", fields(cdn, "Age: 20"), "max-age=10", 0, Revalidate},
		{"min-fresh, section 5.2.1.3", fields(cdn), "min-fresh=20", 40 * time.Second, Fresh},
		{"min-fresh not met", fields(cdn), "min-fresh=20", 40*time.Second + 1, Revalidate},
		{"a min-fresh that can't be read", fields(cdn), "min-fresh=x", 0, Revalidate},
		{"max-stale, section 5.2.1.2", fields(cdn), "max-stale=1000", 1060 * time.Second, Fresh},
		{"max-stale exceeded", fields(cdn), "max-stale=1000", 1060*time.Second + 1, Revalidate},
		{"max-stale of any length", fields(cdn), "max-stale", 1e6 * time.Second, Fresh},
		{"max-stale while fresh", fields(cdn), "max-stale=0", 0, Fresh},
		{"a max-stale that can't be read", fields(cdn), "max-stale=x", 61 * time.Second, Revalidate},
		{"max-stale against must-revalidate", fields(cdn + ", must-revalidate"), "max-stale", 60 * time.Second, Revalidate},
		{"max-stale against proxy-revalidate", fields(cdn + ", proxy-revalidate"), "max-stale", 60 * time.Second, Revalidate},
		{"max-stale against s-maxage", fields("Cache-Control: s-maxage=60"), "max-stale", 60 * time.Second, Revalidate},
		{"max-stale against no-cache", fields(cdn + ", no-cache"), "max-stale", 0, Revalidate},
		{"max-stale, max-age met", fields(cdn), "max-stale, max-age=100", 100 * time.Second, Fresh},
		{"max-stale, max-age exceeded", fields(cdn), "max-stale, max-age=100", 101 * time.Second, Revalidate},
		{"a shorter max-stale than the response allows", fields(cdn), "max-stale=10", 80 * time.Second, Revalidate},
		{"max-age without max-stale accepts no stale response", fields(cdn), "max-age=1000", 61 * time.Second, Revalidate},
		{"stale-if-error of the client does not apply before a failure", fields(cdn), "stale-if-error=1000", 100 * time.Second, Revalidate},
		{"stale-while-revalidate is not a request directive", fields("Cache-Control: max-age=60"),
			"stale-while-revalidate=60", 61 * time.Second, Revalidate},
	} {
		e := NewEntry(200, c.h, t0, t0)
		if got := Decide(e, Request{Directives: ParseCacheControl(c.request)}, t0.Add(c.at)); got != c.want {
			t.Errorf("%s: Decide(%v, %q, after %v) = %v, want %v", c.name, c.h, c.request, c.at, got, c.want)
		}
	}
}

func TestMayServeStale(t *testing.T) {
	const plain, day = "Cache-Control: max-age=60", 24 * time.Hour
	for _, c := range []struct {
		name    string
		h       http.Header
		request string
		f       Failure
		at      time.Duration
		want    bool
	}{
		{"stale-if-error, RFC 5861 section 4", fields(cdn), "", FailureStatus, 160*time.Second - 1, true},
		{"after stale-if-error", fields(cdn), "", FailureStatus, 160 * time.Second, false},
		{"stale-if-error, origin lost", fields(cdn), "", FailureDisconnected, 160*time.Second - 1, true},
		{"after stale-if-error, origin lost", fields(cdn), "", FailureDisconnected, 160 * time.Second, false},
		{"no stale-if-error, an error response", fields(plain), "", FailureStatus, 60 * time.Second, false},
		{"no stale-if-error, origin lost, RFC 9111 section 4.2.4", fields(plain), "", FailureDisconnected, 60*time.Second + day - 1, true},
		{"no stale-if-error, origin lost for a day", fields(plain), "", FailureDisconnected, 60*time.Second + day, false},
		{"a stale-if-error longer than a day", fields(plain + ", stale-if-error=604800"), "", FailureDisconnected, 6 * day, true},
		{"stale on arrival", fields("Expires: @-1h", "Date: @0s"), "", FailureDisconnected, time.Second, true},
		{"must-revalidate", fields(cdn + ", must-revalidate"), "", FailureDisconnected, 60 * time.Second, false},
		{"proxy-revalidate", fields(cdn + ", proxy-revalidate"), "", FailureDisconnected, 60 * time.Second, false},
		{"s-maxage", fields(plain + ", s-maxage=2"), "", FailureDisconnected, 60 * time.Second, false},
		{"s-maxage beside stale-if-error", fields(plain + ", s-maxage=2, stale-if-error=9"), "", FailureStatus, 11*time.Second - 1, true},
		{"s-maxage after stale-if-error", fields(plain + ", s-maxage=2, stale-if-error=9"), "",
			FailureDisconnected, 11 * time.Second, false},
		{"s-maxage in stale-while-revalidate", fields(plain + ", s-maxage=2, stale-while-revalidate=9"), "",
			FailureStatus, 11*time.Second - 1, true},
		{"s-maxage after stale-while-revalidate", fields(plain + ", s-maxage=2, stale-while-revalidate=9"), "",
			FailureDisconnected, 11 * time.Second, false},
		{"no-cache", fields(cdn + ", no-cache"), "", FailureDisconnected, 0, false},
		{"an Age that is no number", fields(plain, "Age: x"), "", FailureDisconnected, 0, false},
		{"still fresh", fields(plain + ", must-revalidate"), "", FailureStatus, 0, true},

		{"the client's no-cache", fields(cdn), "no-cache", FailureDisconnected, 0, false},
		{"the client's no-cache, stale", fields(cdn), "no-cache", FailureDisconnected, 60 * time.Second, false},
		{"a reload", fields(cdn), "max-age=0", FailureDisconnected, 10 * time.Second, false},
		{"the client's min-fresh", fields(cdn), "min-fresh=30", FailureDisconnected, 40 * time.Second, false},
		{"max-age without max-stale accepts no stale response", fields(cdn), "max-age=100", FailureDisconnected, 61 * time.Second, false},
		{"max-age with max-stale", fields(cdn), "max-age=100, max-stale=5", FailureStatus, 61 * time.Second, true},
		{"max-stale exceeded", fields(cdn), "max-stale=5", FailureDisconnected, 66 * time.Second, false},
		{"the client's stale-if-error", fields(plain), "stale-if-error=100", FailureStatus, 160*time.Second - 1, true},
		{"the end of the client's stale-if-error", fields(plain), "stale-if-error=100", FailureStatus, 160 * time.Second, false},
		{"the client's stale-if-error, longer than that of the response", fields(cdn), "stale-if-error=1000",
			FailureStatus, 1000 * time.Second, true},
		{"the client's stale-if-error against must-revalidate", fields(plain + ", must-revalidate"),
			"stale-if-error=100", FailureStatus, 61 * time.Second, false},
	} {
		e := NewEntry(200, c.h, t0, t0)
		if got := MayServeStale(e, Request{Directives: ParseCacheControl(c.request)}, c.f, t0.Add(c.at)); got != c.want {
			t.Errorf("%s: MayServeStale(%v, %q, %d, after %v) = %v, want %v", c.name, c.h, c.request, c.f, c.at, got, c.want)
		}
	}
}

func TestExpired(t *testing.T) {
	e := NewEntry(200, fields(cdn, "Age: 10"), t0, t0)
	purged := t0.Add(20 * time.Second)
	for _, c := range []struct {
		name string
		at   time.Duration // since the purge
		want Verdict
	}{
		{"stale at once", 0, StaleWhileRevalidate},
		{"stale-while-revalidate begins with the purge", 30*time.Second - 1, StaleWhileRevalidate},
		{"the end of stale-while-revalidate", 30 * time.Second, Revalidate},
	} {
		if got := Decide(e.Expired(purged), Request{}, purged.Add(c.at)); got != c.want {
			t.Errorf("%s: Decide = %v, want %v", c.name, got, c.want)
		}
	}
	late, ended := t0.Add(70*time.Second), e
	if ended.SoftPurged = true; e.Expired(late) != ended {
		t.Errorf("Expired of a stale entry = %+v, want %+v", e.Expired(late), ended)
	}
	if again := e.Expired(purged).Expired(purged.Add(time.Second)); again != e.Expired(purged) {
		t.Errorf("Expired twice = %+v, want %+v", again, e.Expired(purged))
	}
	if MayServeStale(e.Expired(purged), Request{}, FailureStatus, purged.Add(100*time.Second)) {
		t.Error("stale-if-error does not begin with the purge")
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
		t.Errorf("AgeAt after the clock was set back = %v, want %v", got, want)
	}
	req := Request{Directives: ParseCacheControl("max-age=10, max-stale=5"), Cookie: true, Policy: Policy{SafeCookies: true}}
	if n := testing.AllocsPerRun(100, func() { Decide(e, req, now); MayServeStale(e, req, FailureDisconnected, now) }); n != 0 {
		t.Errorf("Decide and MayServeStale allocate %v times", n)
	}
}

// A request's directives make no response usable that the response itself forbids, and a soft purge
// makes no response usable for longer.
func FuzzDecide(f *testing.F) {
	f.Add("max-age=60, stale-while-revalidate=30", "max-stale", int64(70), int64(10))
	f.Add("max-age=60, must-revalidate", "max-stale=9, max-age=100", int64(65), int64(0))
	f.Add("s-maxage=5, stale-if-error=60", "stale-if-error=60", int64(6), int64(1))
	f.Fuzz(func(t *testing.T, answer, request string, at, purge int64) {
		if at < 0 || at > 1<<32 || purge < 0 || purge > at {
			return
		}
		d, req, now := ParseCacheControl(answer), Request{Directives: ParseRequest([]string{request}, nil)},
			t0.Add(time.Duration(at)*time.Second)
		e := NewEntry(200, http.Header{"Cache-Control": {answer}}, t0, t0)
		with, without := Decide(e, req, now), Decide(e, Request{}, now)
		if with > without && (req.Policy.neverStale(d) || d.NoCache || !req.Directives.HasMaxStale || with == StaleWhileRevalidate) {
			t.Fatalf("Decide(%q) is %v, but for %q %v", answer, without, request, with)
		}
		if with == Revalidate && without == Fresh && MayServeStale(e, req, FailureDisconnected, now) {
			t.Fatalf("%q after %d s: served although the request rejects it with %q", answer, at, request)
		}
		if late := -e.TTL(now); late >= 0 && (req.Policy.neverStale(d) || d.NoCache) && MayServeStale(e, req, FailureDisconnected, now) {
			t.Fatalf("%q is served stale to %q", answer, request)
		}
		if purged := e.Expired(t0.Add(time.Duration(purge) * time.Second)); Decide(purged, req, now) > with {
			t.Fatalf("%q after %d s, purged after %d s, for %q: %v instead of %v", answer, at, purge, request,
				Decide(purged, req, now), with)
		}
	})
}

// A response to a user that was never fresh is not served to others while the origin is lost.
func TestEntryOfUser(t *testing.T) {
	safe := Policy{SafeCookies: true}
	for _, c := range []struct {
		name string
		r    Request
		h    http.Header
		want bool
	}{
		{"never fresh", Request{Cookie: true, Policy: safe}, fields("Cache-Control: max-age=0"), false},
		{"expired on arrival", Request{Cookie: true, Policy: safe}, fields("Cache-Control: max-age=10", "Age: 10"), false},
		{"its origin permits it", Request{Cookie: true, Policy: safe}, fields("Cache-Control: max-age=0, stale-if-error=60"), true},
		{"public", Request{Cookie: true, Policy: safe}, fields("Cache-Control: public, max-age=0"), true},
		{"fresh for a while", Request{Cookie: true, Policy: safe}, fields("Cache-Control: max-age=10"), true},
		{"to nobody in particular", Request{Policy: safe}, fields("Cache-Control: max-age=0"), true},
		{"by RFC 9111, section 4.2.4, alone", Request{Cookie: true}, fields("Cache-Control: max-age=0"), true},
	} {
		e := c.r.NewEntry(http.StatusOK, c.h, t0, t0)
		if got := MayServeStale(e, Request{}, FailureDisconnected, t0.Add(20*time.Second)); got != c.want {
			t.Errorf("%s: MayServeStale = %v, want %v", c.name, got, c.want)
		}
	}
}
