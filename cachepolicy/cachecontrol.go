package cachepolicy

import (
	"net/http"
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

	NoStore, NoCache, Private, Public bool // NoCache and Private: for the whole answer, not for the fields below alone
	MustRevalidate, ProxyRevalidate   bool
	MustUnderstand, NoTransform       bool
	Immutable                         bool // RFC 8246
	OnlyIfCached                      bool // of requests

	NoCacheFields, PrivateFields []string // of no-cache="field" and private="field", as http.CanonicalHeaderKey spells them
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
	case "no-cache":
		limited(&d.NoCache, &d.NoCacheFields, arg, has)
	case "private":
		limited(&d.Private, &d.PrivateFields, arg, has)
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

// flag is the field of a directive without an argument, nil where there is none of that name. An argument is ignored.
func (d *Directives) flag(name string) *bool {
	switch name {
	case "no-store":
		return &d.NoStore
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

// limited takes in a no-cache or private that may name the fields it is about (RFC 9111, sections 5.2.2.4 and 5.2.2.7). Where
// it names none, or they can't be read, it is about the whole answer.
func limited(whole *bool, names *[]string, arg string, has bool) {
	list, ok := fieldNames(arg)
	if !has || !ok {
		*whole = true
		return
	}
	*names = append(*names, list...)
}

// fieldNames reads a list of field names; ok is false where there is none, one is no name, or a stored answer would be
// another without it.
func fieldNames(list string) (names []string, ok bool) {
	for name := range strings.SplitSeq(list, ",") {
		if name = trim(name); name == "" {
			continue
		}
		name = http.CanonicalHeaderKey(name)
		if !isToken(name) || indispensable(name) {
			return nil, false
		}
		names = append(names, name)
	}
	return names, len(names) > 0
}

// indispensable fields say what the content is, for which requests and for how long: a copy without one is not to be kept.
func indispensable(name string) bool {
	switch name {
	case "Age", "Cache-Control", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type", "Date", "Expires", "Vary":
		return true
	}
	return false
}

// unreadable stands for an argument that no directive takes.
const unreadable = "="

// nextDirective cuts the first directive off a list: token [ "=" ( token / quoted-string ) ]. An element of another shape is
// returned with what stands before its "=" as a name and an unreadable argument; ok is false where a quoted string has no end.
func nextDirective(s string) (name, arg string, has bool, rest string, ok bool) {
	i := strings.IndexAny(s, `,=`)
	if i < 0 {
		return trim(s), "", false, "", true
	}
	name = trim(s[:i])
	if s[i] == ',' {
		return name, "", false, s[i+1:], true
	}
	spaced := name != trimLeft(s[:i]) // "max-age =1" is no max-age, but a wish for one
	arg, rest, ok = argument(s[i+1:])
	if spaced {
		arg = unreadable
	}
	return name, arg, true, rest, ok
}

// argument reads what stands behind a directive's "=", and the comma after it.
func argument(s string) (arg, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		arg, rest, _ = strings.Cut(s, ",")
		if trimLeft(arg) != arg {
			return unreadable, rest, true
		}
		return trim(arg), rest, true
	}
	arg, after, ok := unquote(s)
	junk, rest, _ := strings.Cut(after, ",")
	if trim(junk) != "" {
		arg = unreadable
	}
	return arg, rest, ok
}
