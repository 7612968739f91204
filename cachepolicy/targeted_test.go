package cachepolicy

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestResponseDirectives(t *testing.T) {
	maxAge := func(d time.Duration) Directives { return Directives{HasMaxAge: true, MaxAge: d} }
	const general = "Cache-Control: max-age=10"
	for _, c := range []struct {
		name     string
		h        http.Header
		want     Directives
		targeted bool
	}{
		{"no field", fields(), Directives{}, false},
		{"Cache-Control", fields(general), maxAge(10 * time.Second), false},
		{"CDN-Cache-Control", fields(general, "CDN-Cache-Control: max-age=60"), maxAge(time.Minute), true},
		{"our own field wins, RFC 9213 section 2.2",
			fields("CDN-Cache-Control: max-age=60", "Iconedge-Cache-Control: max-age=5"), maxAge(5 * time.Second), true},
		{"a targeted field overrides no-store of Cache-Control",
			fields("Cache-Control: no-store", "CDN-Cache-Control: max-age=60"), maxAge(time.Minute), true},
		{"every kind of member", fields(`CDN-Cache-Control: no-store, public, s-maxage=3, stale-if-error=4, no-cache="a, b", private=c`),
			Directives{NoStore: true, Public: true, HasSMaxage: true, SMaxage: 3 * time.Second, HasStaleIfError: true,
				StaleIfError:  4 * time.Second,
				NoCacheFields: []string{"A", "B"}, PrivateFields: []string{"C"}}, true},
		{"two lines are one field", fields("CDN-Cache-Control: max-age=60", "CDN-Cache-Control: must-revalidate"),
			Directives{HasMaxAge: true, MaxAge: time.Minute, MustRevalidate: true}, true},
		{"parameters are ignored, section 2.1", fields("CDN-Cache-Control: max-age=60;a=1, no-cache;b"),
			Directives{HasMaxAge: true, MaxAge: time.Minute, NoCache: true}, true},
		{"a member that is false", fields("CDN-Cache-Control: no-store=?0, max-age=60"), maxAge(time.Minute), true},
		{"a max-age of another type", fields(`CDN-Cache-Control: max-age="60"`), maxAge(0), true},
		{"a fraction", fields("CDN-Cache-Control: max-age=60.5"), maxAge(0), true},
		{"a max-age without a number", fields("CDN-Cache-Control: max-age"), maxAge(0), true},
		{"a negative number", fields("CDN-Cache-Control: max-age=-60"), maxAge(0), true},
		{"overflow, RFC 9111 section 1.2.2", fields("CDN-Cache-Control: max-age=99999999999"), maxAge(MaxDelta), true},
		{"an inner list in place of fields", fields(`CDN-Cache-Control: no-cache=("a" "b")`), Directives{NoCache: true}, true},
		{"only unknown members", fields(general, "CDN-Cache-Control: x"), Directives{}, true},
		{"an empty field is ignored, section 2.1", fields(general, "CDN-Cache-Control: "), maxAge(10 * time.Second), false},
		{"a malformed field is ignored entirely, section 2.1",
			fields(general, "CDN-Cache-Control: no-store, max-age=60,"), maxAge(10 * time.Second), false},
		{"names are case-sensitive", fields(general, "CDN-Cache-Control: Max-Age=60"), maxAge(10 * time.Second), false},
		{"the next field after a malformed one", fields("Iconedge-Cache-Control: (", "CDN-Cache-Control: max-age=60"),
			maxAge(time.Minute), true},

		{"Surrogate-Control", fields(general, "Surrogate-Control: max-age=60"), maxAge(time.Minute), true},
		{"Surrogate-Control after the targeted fields",
			fields("Surrogate-Control: max-age=60", "CDN-Cache-Control: max-age=5"), maxAge(5 * time.Second), true},
		{"no-store in Surrogate-Control", fields(general, "Surrogate-Control: no-store"), Directives{NoStore: true}, true},
		{"targeted at us by name", fields("Cache-Control: no-store", "Surrogate-Control: max-age=60;iconedge"), maxAge(time.Minute), true},
		{"for us and for all caches", fields("Surrogate-Control: max-age=5;iconedge, max-age=60, max-age=70;x"),
			maxAge(5 * time.Second), true},
		{"for other caches", fields(general, "Surrogate-Control: max-age=60;x, no-store; y"), maxAge(10 * time.Second), false},
		{"another use of Surrogate-Control", fields(general, `Surrogate-Control: content="ESI/1.0, max-age=60"`),
			maxAge(10 * time.Second), false},
		{"another use beside max-age", fields(`Surrogate-Control: content="ESI/1.0", foobar, MaX-aGe=60`), maxAge(time.Minute), true},
		{"the time to serve stale is ignored", fields("Surrogate-Control: max-age=60+600;iconedge"), maxAge(time.Minute), true},
		{"the shorter of two", fields("Surrogate-Control: max-age=60", "Surrogate-Control: max-age=5"), maxAge(5 * time.Second), true},
		{"Surrogate-Control without a number", fields("Surrogate-Control: max-age;iconedge"), maxAge(0), true},
		{"spaces around =", fields("Surrogate-Control: max-age = 60"), maxAge(0), true},
		{"too large", fields("Surrogate-Control: max-age=99999999999"), maxAge(MaxDelta), true},
		{"a quote without an end may hide any directive", fields(`Surrogate-Control: x="max-age=60`), Directives{NoStore: true}, true},
	} {
		got, targeted := ResponseDirectives(c.h)
		if !reflect.DeepEqual(got, c.want) || targeted != c.targeted {
			t.Errorf("%s: AnswerDirectives(%v) = %+v, %v; want %+v, %v", c.name, c.h, got, targeted, c.want, c.targeted)
		}
	}
	if !strings.HasPrefix(SurrogateCapability, surrogate+"=") {
		t.Errorf("%s does not start with the device token", SurrogateCapability)
	}
}

// A valid targeted field applies alone, an invalid one changes nothing, and every duration is a
// valid delta-seconds value.
func FuzzResponseDirectives(f *testing.F) {
	for _, s := range []string{"max-age=60", `no-cache="a"`, "max-age=60;iconedge", "x=?0", "a=(1 2);b",
		"max-age=1+2;x", `="`, "no-store,"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, cdn, surrogate string) {
		with := func(cacheControl string) (Directives, bool) {
			return ResponseDirectives(http.Header{"Cdn-Cache-Control": {cdn}, "Surrogate-Control": {surrogate},
				"Cache-Control": {cacheControl}})
		}
		d, targeted := with("max-age=5")
		for _, n := range []time.Duration{d.MaxAge, d.SMaxage, d.StaleIfError, d.StaleWhileRevalidate} {
			if n < 0 || n > MaxDelta {
				t.Fatalf("%q, %q: %v is not a delta-seconds value", cdn, surrogate, n)
			}
		}
		other, again := with("no-store")
		if again != targeted || targeted && !reflect.DeepEqual(d, other) {
			t.Fatalf("%q, %q: Cache-Control changes the result to %+v from %+v", cdn, surrogate, other, d)
		}
		if !targeted && !reflect.DeepEqual(d, Directives{HasMaxAge: true, MaxAge: 5 * time.Second}) {
			t.Fatalf("%q, %q: not targeted, but %+v", cdn, surrogate, d)
		}
	})
}
