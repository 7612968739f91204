package cachepolicy

import (
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// A Forward is the reason why a request was forwarded to the origin (RFC 9211, section 2.2).
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
	Forward   Forward       // otherwise, why the request was forwarded
	FwdStatus int           // the origin's status; 0: left out
	Stored    bool          // the origin's response was stored
	Collapsed bool          // the request shared a collapsed fetch
	HasTTL    bool          // TTL is known
	TTL       time.Duration // remaining freshness lifetime; negative when stale
	Detail    string        // free text; all but visible ASCII and spaces is removed
}

// AppendCacheStatus appends the member, such as "iconedge; hit; ttl=30", to dst.
func AppendCacheStatus(dst []byte, s CacheStatus) []byte {
	if s.Cache == "" {
		if s.Hit && s.HasTTL && s.Detail == "" { // a hit of an edge: one append instead of three
			return strconv.AppendInt(append(dst, "iconedge; hit; ttl="...), int64(floorSeconds(s.TTL)), 10)
		}
		s.Cache = "iconedge"
	}
	dst = append(dst, s.Cache...)
	if s.Hit {
		dst = append(dst, "; hit"...)
	} else if s.Forward != "" { // section 2.2: hit and fwd exclude each other
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

// floorSeconds rounds down, so a response that has been stale for half a second has a ttl of -1.
func floorSeconds(d time.Duration) time.Duration {
	n := d / time.Second
	if d%time.Second < 0 {
		n--
	}
	return n
}

// appendString appends a String of Structured Fields (RFC 9651, section 4.1.6).
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

const (
	// maxUpstreamMembers is how many members of other caches are passed on, those nearest to this
	// cache.
	maxUpstreamMembers = 4
	maxUpstreamBytes   = 512 // length of these members in bytes
)

// CacheStatusBefore normalises the Cache-Status of an upstream response. The result goes before
// this cache's own member, because the cache nearest to the origin comes first (RFC 9211, section
// 2). It is empty if the field is malformed or too long to repeat with every response.
func CacheStatusBefore(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for i, member := range list[max(0, len(list)-maxUpstreamMembers):] {
		if i > 0 {
			b.WriteString(", ")
		}
		if !appendMember(&b, member) || b.Len() > maxUpstreamBytes {
			return ""
		}
	}
	return b.String()
}

// appendMember writes a member: the name of a cache, which is a token or a string, and its
// parameters. It returns false if the member has another type.
func appendMember(b *strings.Builder, member httpsfv.Member) bool {
	item, ok := member.(httpsfv.Item)
	if !ok {
		return false
	}
	switch item.Value.(type) {
	case httpsfv.Token, string:
	default:
		return false
	}
	if !appendBare(b, item.Value) {
		return false
	}
	for _, name := range item.Params.Names() {
		value, _ := item.Params.Get(name)
		b.WriteString("; " + name)
		if value == true {
			continue
		}
		if b.WriteByte('='); !appendBare(b, value) {
			return false
		}
	}
	return true
}

func appendBare(b *strings.Builder, value any) bool {
	text, err := httpsfv.Marshal(httpsfv.NewItem(value))
	b.WriteString(text)
	return err == nil
}
