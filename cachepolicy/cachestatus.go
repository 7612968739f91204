package cachepolicy

import (
	"strconv"
	"time"
)

// A Forward says why a request went to the origin (RFC 9211, section 2.2).
type Forward string

const (
	ForwardBypass  Forward = "bypass"
	ForwardMethod  Forward = "method"
	ForwardURIMiss Forward = "uri-miss"
	ForwardVary    Forward = "vary-miss"
	ForwardMiss    Forward = "miss"
	ForwardRequest Forward = "request"
	ForwardStale   Forward = "stale"
	ForwardPartial Forward = "partial"
)

// CacheStatus is one cache's member of the Cache-Status field (RFC 9211, section 2).
type CacheStatus struct {
	Cache     string        // its name, a token; empty: iconedge
	Hit       bool          // answered without the origin
	Forward   Forward       // else, why it was asked
	FwdStatus int           // what the origin said; 0: left out
	Stored    bool          // its answer was stored
	Collapsed bool          // the answer to another request under way was shared
	HasTTL    bool          // TTL is known
	TTL       time.Duration // how long the answer stays fresh; negative when stale
	Detail    string        // one of our own words; anything but visible ASCII and spaces is left out
}

// AppendCacheStatus appends the member, such as "iconedge; hit; ttl=30", to dst.
func AppendCacheStatus(dst []byte, s CacheStatus) []byte {
	if s.Cache == "" {
		s.Cache = "iconedge"
	}
	dst = append(dst, s.Cache...)
	if s.Hit {
		dst = append(dst, "; hit"...)
	} else if s.Forward != "" { // a hit has no fwd (section 2.2)
		dst = append(append(dst, "; fwd="...), s.Forward...)
		if s.FwdStatus != 0 {
			dst = strconv.AppendInt(append(dst, "; fwd-status="...), int64(s.FwdStatus), 10)
		}
		if s.Stored {
			dst = append(dst, "; stored"...)
		}
		if s.Collapsed {
			dst = append(dst, "; collapsed"...)
		}
	}
	if s.HasTTL {
		dst = strconv.AppendInt(append(dst, "; ttl="...), int64(floorSeconds(s.TTL)), 10)
	}
	if s.Detail != "" {
		dst = appendString(append(dst, "; detail="...), s.Detail)
	}
	return dst
}

// floorSeconds rounds down, so that what has been stale for half a second has a ttl of -1.
func floorSeconds(d time.Duration) time.Duration {
	n := d / time.Second
	if d%time.Second < 0 {
		n--
	}
	return n
}

// appendString writes a structured field's String (RFC 9651, section 4.1.6).
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case ' ' <= c && c < 0x7f:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
