package cachepolicy

import (
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
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

const (
	mostBefore = 4   // members of other caches that are kept: those of the caches nearest to this one
	maxBefore  = 512 // bytes of them
)

// CacheStatusBefore is the value of the lines of Cache-Status that came with an answer, to stand before this cache's own member: the cache
// nearest to the origin comes first (RFC 9211, section 2). Lines that are no such list are nothing, as is what is too long to be
// carried about with every answer.
func CacheStatusBefore(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for i, member := range list[max(0, len(list)-mostBefore):] {
		if i > 0 {
			b.WriteString(", ")
		}
		if !appendMember(&b, member) || b.Len() > maxBefore {
			return ""
		}
	}
	return b.String()
}

// appendMember writes a cache's name, a token or a string, and what is said of it. It is false where the member is anything else.
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
