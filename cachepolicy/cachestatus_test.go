package cachepolicy

import (
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

func TestAppendCacheStatus(t *testing.T) {
	for _, c := range []struct {
		s    CacheStatus
		want string
	}{
		{CacheStatus{Hit: true, HasTTL: true, TTL: 30 * time.Second}, "iconedge; hit; ttl=30"},
		// RFC 9211, section 2.5: stale
		{CacheStatus{Hit: true, HasTTL: true, TTL: -time.Millisecond}, "iconedge; hit; ttl=-1"},
		{CacheStatus{Hit: true, HasTTL: true, TTL: 999 * time.Millisecond}, "iconedge; hit; ttl=0"},
		{CacheStatus{Forward: ForwardURIMiss, Stored: true}, "iconedge; fwd=uri-miss; stored"},
		{CacheStatus{Forward: ForwardURIMiss, FwdStatus: 404, Stored: true, HasTTL: true, TTL: 5 * time.Second},
			"iconedge; fwd=uri-miss; fwd-status=404; stored; ttl=5"},
		{CacheStatus{Forward: ForwardURIMiss, Collapsed: true}, "iconedge; fwd=uri-miss; collapsed"},
		{CacheStatus{Forward: ForwardStale, FwdStatus: 304}, "iconedge; fwd=stale; fwd-status=304"},
		{CacheStatus{Hit: true, Forward: ForwardStale}, "iconedge; hit"}, // section 2.2: not both
		{CacheStatus{Cache: "edge-2", Forward: ForwardMethod, Detail: `say "no" \`}, `edge-2; fwd=method; detail="say \"no\" \\"`},
		{CacheStatus{Forward: ForwardRequest, Detail: "a\r\nSet-Cookie: b\x00\xff"}, `iconedge; fwd=request; detail="aSet-Cookie: b"`},
	} {
		got := string(AppendCacheStatus(nil, c.s))
		if got != c.want {
			t.Errorf("AppendCacheStatus(%+v) = %s, want %s", c.s, got, c.want)
		}
		if _, err := httpsfv.UnmarshalList([]string{got}); err != nil {
			t.Errorf("%s is not a structured field: %v", got, err)
		}
	}
	buf := make([]byte, 0, 128)
	status := CacheStatus{Forward: ForwardStale, FwdStatus: 502, HasTTL: true, TTL: -time.Minute, Detail: "origin failed"}
	if n := testing.AllocsPerRun(100, func() { AppendCacheStatus(buf, status) }); n != 0 {
		t.Errorf("AppendCacheStatus allocates %v times", n)
	}
}

func TestCacheStatusBefore(t *testing.T) {
	long := "x; detail=\"" + strings.Repeat("a", 600) + "\""
	for _, row := range []struct {
		lines []string
		want  string
	}{
		{nil, ""},
		{[]string{"iconedge; hit; ttl=30"}, "iconedge; hit; ttl=30"},
		// The example of RFC 9211, section 3.
		{[]string{`OriginCache;hit;ttl=1100,"CDN Company Here";   hit;ttl=-545`},
			`OriginCache; hit; ttl=1100, "CDN Company Here"; hit; ttl=-545`},
		{[]string{"a; fwd=uri-miss", "b; hit"}, "a; fwd=uri-miss, b; hit"},
		{[]string{`a; hit=?0; detail="say \"no\""; x=1.5`}, `a; hit=?0; detail="say \"no\""; x=1.5`},
		{[]string{"a, b, c, d, e, f"}, "c, d, e, f"}, // the members nearest to this cache
		{[]string{"HIT from cache.example"}, ""},     // a form from before the RFC
		{[]string{"a; hit", "b; ="}, ""},
		{[]string{"(a b); hit"}, ""},
		{[]string{"42; hit"}, ""},
		{[]string{""}, ""},
		{[]string{long}, ""},
	} {
		if got := CacheStatusBefore(row.lines); got != row.want {
			t.Errorf("CacheStatusBefore(%q) = %s, want %s", row.lines, got, row.want)
		}
	}
}

// The result is a list of a few members, and CacheStatusBefore does not change it further.
func FuzzCacheStatusBefore(f *testing.F) {
	for _, seed := range []string{"", "iconedge; hit; ttl=30", `"a b"; detail="c;d,e", f`, "a;b=:aGk=:", "a\x00", "((a))", "a;b=@1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := CacheStatusBefore([]string{line})
		if len(got) > maxUpstreamBytes || CacheStatusBefore([]string{got}) != got {
			t.Errorf("%q became %q, then %q", line, got, CacheStatusBefore([]string{got}))
		}
		if list, err := httpsfv.UnmarshalList([]string{got}); err != nil || len(list) > maxUpstreamMembers {
			t.Errorf("%q became %q: %v", line, got, err)
		}
	})
}
