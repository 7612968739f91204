package cachepolicy

import (
	"strings"
	"time"
)

// Directives are what the Cache-Control lines of one request or one answer say (RFC 9111, section 5.2). A duration counts
// only where its Has field is set; one that was given but can't be read is zero, and set: stale, not unlimited.
type Directives struct {
	MaxAge, SMaxage                    time.Duration
	StaleWhileRevalidate, StaleIfError time.Duration // RFC 5861
	MaxStale, MinFresh                 time.Duration // of requests; a max-stale without a value is MaxDelta

	HasMaxAge, HasSMaxage                    bool
	HasStaleWhileRevalidate, HasStaleIfError bool
	HasMaxStale, HasMinFresh                 bool

	NoStore, NoCache, Private, Public bool // no-cache="field" and private="field" count as no-cache and private
	MustRevalidate, ProxyRevalidate   bool
	MustUnderstand, NoTransform       bool
	Immutable                         bool // RFC 8246
	OnlyIfCached                      bool // of requests
}

// MaxDelta is the longest time that a directive or an Age can name: a number that is larger counts as 2^31 seconds
// (RFC 9111, section 1.2.2).
const MaxDelta = (1 << 31) * time.Second

// ParseCacheControl reads the lines of one message's Cache-Control. Unknown directives are ignored. What is given twice or
// can't be read takes the safe side: the shorter life, and no storing at all where a quoted string has no end, since any
// directive may be hidden in it.
func ParseCacheControl(values ...string) (d Directives) {
	for _, rest := range values {
		for rest != "" {
			var name, arg string
			var has, ok bool
			name, arg, has, rest, ok = nextDirective(rest)
			if !ok {
				d.NoStore = true
				break
			}
			d.set(name, arg, has)
		}
	}
	return d
}

// set takes in one directive; its name is compared without case (RFC 9111, section 5.2).
func (d *Directives) set(name, arg string, has bool) {
	switch name = lower(name); name {
	case "max-age":
		shorter(&d.MaxAge, &d.HasMaxAge, arg)
	case "s-maxage":
		shorter(&d.SMaxage, &d.HasSMaxage, arg)
	case "stale-while-revalidate":
		shorter(&d.StaleWhileRevalidate, &d.HasStaleWhileRevalidate, arg)
	case "stale-if-error":
		shorter(&d.StaleIfError, &d.HasStaleIfError, arg)
	case "max-stale":
		if !has {
			arg = "2147483648" // any staleness will do (RFC 9111, section 5.2.1.2)
		}
		shorter(&d.MaxStale, &d.HasMaxStale, arg)
	case "min-fresh":
		n, ok := delta(arg)
		if !ok {
			n = MaxDelta // the safe side of a demand is the larger one
		}
		d.MinFresh, d.HasMinFresh = max(d.MinFresh, n), true
	default:
		if b := d.flag(name); b != nil {
			*b = true
		}
	}
}

// flag is the field of a directive without an argument, nil where there is none of that name. An argument is ignored, as
// that of no-cache and private is: taking the whole answer for the fields named is the safe side.
func (d *Directives) flag(name string) *bool {
	switch name {
	case "no-store":
		return &d.NoStore
	case "no-cache":
		return &d.NoCache
	case "private":
		return &d.Private
	case "public":
		return &d.Public
	case "must-revalidate":
		return &d.MustRevalidate
	case "proxy-revalidate":
		return &d.ProxyRevalidate
	case "must-understand":
		return &d.MustUnderstand
	case "no-transform":
		return &d.NoTransform
	case "immutable":
		return &d.Immutable
	case "only-if-cached":
		return &d.OnlyIfCached
	}
	return nil
}

// shorter keeps the shorter of what was there and what arg says (RFC 9111, section 4.2.1: of two values, the first or none).
func shorter(d *time.Duration, has *bool, arg string) {
	n, ok := delta(arg)
	if !ok {
		n = 0
	}
	if !*has || n < *d {
		*d = n
	}
	*has = true
}

// delta reads delta-seconds: digits and nothing else (RFC 9111, section 1.2.2).
func delta(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	var n int64
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int64(c-'0'); n > 1<<31 {
			n = 1 << 31
		}
	}
	return time.Duration(n) * time.Second, true
}

// nextDirective cuts the first directive off a list: token [ "=" ( token / quoted-string ) ]. An element of another shape is
// returned with what stands before its "=" as a name and an argument that no directive takes; ok is false where a quoted
// string has no end.
func nextDirective(s string) (name, arg string, has bool, rest string, ok bool) {
	i := strings.IndexAny(s, `,=`)
	if i < 0 {
		return trim(s), "", false, "", true
	}
	name = trim(s[:i])
	if s[i] == ',' {
		return name, "", false, s[i+1:], true
	}
	if i > 0 && name != trimLeft(s[:i]) {
		name, arg = trim(name), "bad" // "max-age =1" is no max-age, but a wish for one
	}
	value := s[i+1:]
	if strings.HasPrefix(value, `"`) {
		quoted, after, closed := unquote(value)
		if !closed {
			return name, "", true, "", false
		}
		junk, rest, _ := strings.Cut(after, ",")
		if arg == "bad" || trim(junk) != "" {
			quoted = "bad"
		}
		return name, quoted, true, rest, true
	}
	value, rest, _ = strings.Cut(value, ",")
	if arg == "bad" || trimLeft(value) != value {
		return name, "bad", true, rest, true
	}
	return name, trim(value), true, rest, true
}

// unquote reads the quoted-string that s begins with (RFC 9110, section 5.6.4).
func unquote(s string) (value, rest string, ok bool) {
	plain := true
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			plain = false
			i++
		case '"':
			value = s[1:i]
			if !plain {
				value = unescape(value)
			}
			return value, s[i+1:], true
		}
	}
	return "", "", false
}

func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}
