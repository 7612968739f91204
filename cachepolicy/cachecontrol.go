package cachepolicy

import (
	"net/http"
	"strings"
	"time"
)

// Directives are the directives in the Cache-Control lines of one request or one response (RFC
// 9111, section 5.2). A duration is meaningful only if its Has field is set. A duration whose
// argument is malformed is zero with its Has field set, so the response is stale and not fresh
// without limit.
type Directives struct {
	MaxAge, SMaxage                    time.Duration
	StaleWhileRevalidate, StaleIfError time.Duration // RFC 5861
	// MaxStale and MinFresh are directives of requests. max-stale without a value is MaxDelta.
	MaxStale, MinFresh time.Duration

	HasMaxAge, HasSMaxage                    bool
	HasStaleWhileRevalidate, HasStaleIfError bool
	HasMaxStale, HasMinFresh                 bool

	// NoCache and Private apply to the whole response, not only to the fields below.
	NoStore, NoCache, Private, Public bool
	MustRevalidate, ProxyRevalidate   bool
	MustUnderstand, NoTransform       bool
	Immutable                         bool // RFC 8246
	OnlyIfCached                      bool // of requests

	// The fields of no-cache="field" and private="field" have the form of http.CanonicalHeaderKey.
	NoCacheFields, PrivateFields []string
}

// MaxDelta is the longest time that a directive or an Age can express: a larger number is read as
// 2^31 seconds (RFC 9111, section 1.2.2).
const MaxDelta = (1 << 31) * time.Second

// ParseCacheControl parses the Cache-Control lines of one message. It ignores unknown directives.
// Where a directive is repeated or malformed, the result is the safer one: the shorter freshness
// lifetime, NoStore if a quoted string has no end, because it may hide any directive, and what
// restricts caches also where semicolons separate it.
func ParseCacheControl(values ...string) (d Directives) {
	for _, rest := range values {
		if strings.Contains(rest, ";") {
			d.restrict(rest)
		}
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

// set adds one directive. Its name is compared without regard to case (RFC 9111, section 5.2).
func (d *Directives) set(name, arg string, has bool) {
	switch name = lower(name); name {
	case "no-cache":
		setQualified(&d.NoCache, &d.NoCacheFields, arg, has)
	case "private":
		setQualified(&d.Private, &d.PrivateFields, arg, has)
	case "max-age":
		setShorter(&d.MaxAge, &d.HasMaxAge, arg)
	case "s-maxage":
		setShorter(&d.SMaxage, &d.HasSMaxage, arg)
	case "stale-while-revalidate":
		setShorter(&d.StaleWhileRevalidate, &d.HasStaleWhileRevalidate, arg)
	case "stale-if-error":
		setShorter(&d.StaleIfError, &d.HasStaleIfError, arg)
	case "max-stale":
		if !has {
			// Without a value, max-stale accepts any staleness (RFC 9111, section 5.2.1.2).
			arg = "2147483648"
		}
		setShorter(&d.MaxStale, &d.HasMaxStale, arg)
	case "min-fresh":
		n, ok := deltaSeconds(arg)
		if !ok {
			n = MaxDelta // the longer one is the safer one
		}
		d.MinFresh, d.HasMinFresh = max(d.MinFresh, n), true
	default:
		if b := d.flag(name); b != nil {
			*b = true
		}
	}
}

// restrict sets what restricts caches in a line whose directives are separated by semicolons, as
// "private; max-age=60". Its origin means them, and other shared caches obey them.
func (d *Directives) restrict(line string) {
	parts, _ := splitUnquoted(line, ';')
	if len(parts) == 1 {
		return // the semicolon is quoted
	}
	for _, part := range parts {
		members, _ := splitUnquoted(part, ',')
		for _, member := range members {
			name, _, _ := strings.Cut(member, "=")
			switch lower(trim(name)) {
			case "no-store":
				d.NoStore = true
			case "no-cache":
				d.NoCache = true
			case "private":
				d.Private = true
			case "must-revalidate", "proxy-revalidate":
				d.MustRevalidate = true
			}
		}
	}
}

// flag returns the field of a directive without an argument, or nil if name is not such a
// directive. Arguments are ignored.
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

// setShorter sets d to the duration in arg, or to 0 if arg is malformed, unless d has a shorter one
// already. RFC 9111, section 4.2.1, lets a cache use the first of two values or treat the response
// as stale.
func setShorter(d *time.Duration, has *bool, arg string) {
	n, ok := deltaSeconds(arg)
	if !ok {
		n = 0
	}
	if !*has || n < *d {
		*d = n
	}
	*has = true
}

// deltaSeconds parses delta-seconds, which are digits only (RFC 9111, section 1.2.2).
func deltaSeconds(s string) (time.Duration, bool) {
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

// setQualified adds a no-cache or private directive, whose argument may name fields (RFC 9111,
// sections 5.2.2.4 and 5.2.2.7). A directive without an argument, or with a malformed one, applies
// to the whole response.
func setQualified(whole *bool, names *[]string, arg string, has bool) {
	list, ok := fieldNames(arg)
	if !has || !ok {
		*whole = true
		return
	}
	*names = append(*names, list...)
}

// fieldNames parses a list of field names. ok is false if the list is empty, if a member is not a
// field name, or if a stored response without that field would mean something else.
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

// indispensable reports whether a field describes the content, the requests it is for, or its
// freshness. A cache must not store a response without such a field.
func indispensable(name string) bool {
	switch name {
	case "Age", "Cache-Control", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type", "Date", "Expires", "Vary":
		return true
	}
	return false
}

// unreadable stands for a malformed argument: no directive accepts it.
const unreadable = "="

// nextDirective cuts the first directive off a list: token [ "=" ( token / quoted-string ) ]. For
// an element of another form it returns the text before its "=" as the name, and an unreadable
// argument. ok is false if a quoted string has no end.
func nextDirective(s string) (name, arg string, has bool, rest string, ok bool) {
	i := strings.IndexAny(s, `,=`)
	if i < 0 {
		return trim(s), "", false, "", true
	}
	name = trim(s[:i])
	if s[i] == ',' {
		return name, "", false, s[i+1:], true
	}
	spaced := name != trimLeft(s[:i]) // "max-age =1" is malformed, but the origin meant max-age
	arg, rest, ok = argument(s[i+1:])
	if spaced {
		arg = unreadable
	}
	return name, arg, true, rest, ok
}

// argument reads the argument after a directive's "=", and the comma after it.
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
