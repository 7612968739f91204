package cachepolicy

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseCacheControl(t *testing.T) {
	maxAge := func(seconds int64) Directives {
		return Directives{HasMaxAge: true, MaxAge: time.Duration(seconds) * time.Second}
	}
	for _, c := range []struct {
		name string
		in   string // lines separated by "\n"
		want Directives
	}{
		{"an empty field", "", Directives{}},
		{"every flag", "no-store, no-cache, private, public, must-revalidate, proxy-revalidate, must-understand, " +
			"no-transform, immutable, only-if-cached",
			Directives{NoStore: true, NoCache: true, Private: true, Public: true, MustRevalidate: true, ProxyRevalidate: true,
				MustUnderstand: true, NoTransform: true, Immutable: true, OnlyIfCached: true}},
		{"every number", "max-age=1, s-maxage=2, stale-while-revalidate=3, stale-if-error=4, max-stale=5, min-fresh=6",
			Directives{MaxAge: 1 * time.Second, SMaxage: 2 * time.Second, StaleWhileRevalidate: 3 * time.Second,
				StaleIfError: 4 * time.Second, MaxStale: 5 * time.Second, MinFresh: 6 * time.Second, HasMaxAge: true, HasSMaxage: true,
				HasStaleWhileRevalidate: true, HasStaleIfError: true, HasMaxStale: true, HasMinFresh: true}},
		{"names without case, section 5.2", "Max-AGE=1", maxAge(1)},
		{"a quoted number, section 5.2", `max-age="10"`, maxAge(10)},
		{"escapes in it, RFC 9110 section 5.6.4", `max-age="1\0"`, maxAge(10)},
		{"single quotes do not quote", "max-age='10'", maxAge(0)},
		{"quoted text is not a directive", `x="max-age=100, no-store", max-age=1`, maxAge(1)},
		{"a quote in quotes", `x="\", no-store", max-age=1`, maxAge(1)},
		{"overflow, section 1.2.2", "max-age=99999999999999999999999", maxAge(1 << 31)},
		{"just too large", "max-age=2147483649", maxAge(1 << 31)},
		{"leading zeros", "max-age=007", maxAge(7)},
		{"two: the shorter, section 4.2.1", "max-age=100, max-age=1", maxAge(1)},
		{"two lines: the shorter", "max-age=1\nmax-age=100", maxAge(1)},
		{"one of two can't be read", "max-age=100, max-age=x", maxAge(0)},
		{"negative is stale", "max-age=-1", maxAge(0)},
		{"a sign is not digits", "max-age=+1", maxAge(0)},
		{"a fraction", "max-age=1.5", maxAge(0)},
		{"letters after it", "max-age=100a", maxAge(0)},
		{"no number after =", "max-age=", maxAge(0)},
		{"no =", "max-age", maxAge(0)},
		{"space before =", "max-age =100", maxAge(0)},
		{"space after =", "max-age= 100", maxAge(0)},
		{"junk after the quotes", `max-age="100"x`, maxAge(0)},
		{"empty elements, RFC 9110 section 5.6.1", " ,, max-age=1 ,\t,", maxAge(1)},
		{"fields of no-cache, section 5.2.2.4", `no-cache="set-cookie, x"`, Directives{NoCacheFields: []string{"Set-Cookie", "X"}}},
		{"fields of private, section 5.2.2.7", `private="x"`, Directives{PrivateFields: []string{"X"}}},
		{"a field without quotes, section 5.2", "no-cache=x-y", Directives{NoCacheFields: []string{"X-Y"}}},
		{"fields of two", `no-cache="a, ,", no-cache="b"`, Directives{NoCacheFields: []string{"A", "B"}}},
		{"fields, and the whole response", `no-cache="a", no-cache`, Directives{NoCache: true, NoCacheFields: []string{"A"}}},
		{"no fields: the whole response", `no-cache="", private=`, Directives{NoCache: true, Private: true}},
		{"invalid field names: the whole response", `no-cache="a b", private="a;b"`, Directives{NoCache: true, Private: true}},
		{"junk after the fields", `no-cache="a"b, private= a`, Directives{NoCache: true, Private: true}},
		{"an indispensable field", `no-cache="x, content-encoding"`, Directives{NoCache: true}},
		{"a quote without an end may hide any directive", `private="x, max-age=1`, Directives{NoStore: true}},
		{"a quote without an end, after a backslash", `max-age=1, x="\`,
			func() Directives { d := maxAge(1); d.NoStore = true; return d }()},
		{"semicolons do not hide what restricts caches", "private; max-age=60", Directives{Private: true}},
		{"each of them", "no-store; no-cache;Private ; must-revalidate",
			Directives{NoStore: true, NoCache: true, Private: true, MustRevalidate: true}},
		{"a semicolon after a lifetime", "max-age=60; proxy-revalidate",
			func() Directives { d := maxAge(0); d.MustRevalidate = true; return d }()},
		{"a semicolon at the end", "no-store;", Directives{NoStore: true}},
		{"a quoted semicolon", `x="a; private", max-age=1`, maxAge(1)},
		{"semicolons give no permission", "public; max-age=60", Directives{}},
		{"max-stale without a value, section 5.2.1.2", "max-stale", Directives{HasMaxStale: true, MaxStale: MaxDelta}},
		{"max-stale that can't be read", "max-stale=x", Directives{HasMaxStale: true}},
		{"min-fresh that can't be read", "min-fresh=x", Directives{HasMinFresh: true, MinFresh: MaxDelta}},
		{"two min-fresh: the longer", "min-fresh=5, min-fresh=2", Directives{HasMinFresh: true, MinFresh: 5 * time.Second}},
		// ſ, which Unicode folds to s
		{"a letter that is not ASCII", "no-\u017ftore", Directives{}},
	} {
		if got := ParseCacheControl(strings.Split(c.in, "\n")...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: ParseCacheControl(%q) = %+v, want %+v", c.name, c.in, got, c.want)
		}
	}
}

// Text before or after a directive does not weaken it: no-store stays, and a freshness lifetime
// does not grow. Each field name in the result is canonical.
func FuzzParseCacheControl(f *testing.F) {
	for _, s := range []string{"", "max-age=1", `x="a, b"`, `x="`, "max-age=99999999999", "no-cache=\"a\", ,",
		"a=b=c", `"`, "=", `max-age="\1"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		alone := ParseCacheControl(s)
		for _, d := range []time.Duration{alone.MaxAge, alone.SMaxage, alone.StaleIfError, alone.StaleWhileRevalidate,
			alone.MaxStale, alone.MinFresh} {
			if d < 0 || d > MaxDelta {
				t.Fatalf("ParseCacheControl(%q): %v is not a delta-seconds value", s, d)
			}
		}
		if d := ParseCacheControl("no-store, no-cache, private, " + s); !d.NoStore || !d.NoCache || !d.Private {
			t.Fatalf("a directive before %q is lost", s)
		}
		for _, name := range append(alone.NoCacheFields, alone.PrivateFields...) {
			if !isToken(name) || name != http.CanonicalHeaderKey(name) {
				t.Fatalf("ParseCacheControl(%q) names %q as a field", s, name)
			}
		}
		after := ParseCacheControl(s + ", no-store, max-age=5")
		if strings.Count(s, `"`) == 0 && (!after.NoStore || !after.HasMaxAge) {
			t.Fatalf("directives after %q are lost", s)
		}
		if lines := ParseCacheControl(s, "max-age=5"); !lines.HasMaxAge || lines.MaxAge > 5*time.Second {
			t.Fatalf("a line after %q: max-age is %v", s, lines.MaxAge)
		}
	})
}
