package cachepolicy

import (
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
		{CacheStatus{Hit: true, HasTTL: true, TTL: -time.Millisecond}, "iconedge; hit; ttl=-1"}, // RFC 9211, section 2.5: stale
		{CacheStatus{Hit: true, HasTTL: true, TTL: 999 * time.Millisecond}, "iconedge; hit; ttl=0"},
		{CacheStatus{Forward: ForwardURIMiss, Stored: true}, "iconedge; fwd=uri-miss; stored"},
		{CacheStatus{Forward: ForwardURIMiss, FwdStatus: 404, Stored: true, HasTTL: true, TTL: 5 * time.Second}, "iconedge; fwd=uri-miss; fwd-status=404; stored; ttl=5"},
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
			t.Errorf("%s is no structured field: %v", got, err)
		}
	}
	buf := make([]byte, 0, 128)
	status := CacheStatus{Forward: ForwardStale, FwdStatus: 502, HasTTL: true, TTL: -time.Minute, Detail: "origin failed"}
	if n := testing.AllocsPerRun(100, func() { AppendCacheStatus(buf, status) }); n != 0 {
		t.Errorf("AppendCacheStatus allocates %v times", n)
	}
}
