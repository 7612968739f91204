// Package request parses eligible requests: those that a stored response may answer, whatever
// protocol they use. Some fields make their request ineligible, such as Expect and If-Match, and
// the pipeline handles it. The package knows nothing of caches or connections, and imports the
// standard library alone.
package request

import (
	"net/netip"
	"time"
)

// A Request is an eligible request. Its slices are parts of the buffer that it was read into, and
// stay valid until it is answered.
type Request struct {
	Target         []byte // path and query; visible ASCII that begins with a slash
	Host           []byte // not validated yet
	Head           bool   // the method is HEAD, else GET
	AcceptEncoding []byte // nil: none
	Conditions
	Seen
	Secure bool // received over TLS
	Tier   bool // the certificate of the connection is that of another edge of our own
	Client netip.Addr
	Now    time.Time
	Fields Fields // all fields received

	// TakesBody says that a long body may be left in Body instead of being copied behind the head.
	TakesBody bool
	Body      []byte // the response's body, which is never modified; nil: it is behind the head
}

// Conditions are the fields by which a client asks for less than the whole response (RFC 9110,
// sections 13 and 14). nil: none.
type Conditions struct {
	IfNoneMatch, IfModifiedSince []byte
	Range, IfRange               []byte
}

// Any reports whether there are any.
func (c *Conditions) Any() bool {
	return c.IfNoneMatch != nil || c.IfModifiedSince != nil || c.Range != nil || c.IfRange != nil
}

// Seen says which other fields on which a decision may depend are among Fields.
type Seen struct {
	Forwarded     bool // a proxy added Forwarded or X-Forwarded-For
	ForwardedHost bool // a proxy may have named another host, in Forwarded or X-Forwarded-Host
	// ForwardedProto: a proxy may have named another scheme, in Forwarded or X-Forwarded-Proto.
	ForwardedProto bool
	Cookie         bool
	Authorization  bool
	CacheControl   bool // Cache-Control or Pragma
	Dictionary     bool // Available-Dictionary (RFC 9842)
	Loop           bool // CDN-Loop (RFC 8586): it has passed another cache
}

// Fields gives access to the fields that a Request has no member for: those that keys, Vary, rules
// and the access log need.
type Fields interface {
	// Line returns the value of the nth line of a field, counted from 0, or nil if there are not so
	// many. The name may be in either case.
	Line(name string, nth int) []byte
}

// A Pending is the response to a request that is being made ready.
type Pending interface {
	// Due returns until when the client waits.
	Due() time.Time
	// Expire ends the wait: the response is ready now, if it was not, and is an error.
	Expire()
}

// A State says whether a request is still eligible. The greatest state of all its parts counts.
type State uint8

const (
	Eligible   State = iota
	Ineligible       // the pipeline must handle the request
)

// MaxTarget limits the target of an eligible request, in bytes.
const MaxTarget = 1 << 10

// Reset resets the fields of the previous request. Secure, Tier, Client, Now, Fields and TakesBody
// stay.
func (r *Request) Reset() {
	r.Target, r.Host, r.Head, r.AcceptEncoding, r.Conditions, r.Seen, r.Body = nil, nil, false, nil, Conditions{}, Seen{}, nil
}

// SetTarget accepts a target that is a path of visible ASCII without a fragment.
func (r *Request) SetTarget(target []byte) State {
	if len(target) == 0 || target[0] != '/' || len(target) > MaxTarget || !isPath(target) {
		return Ineligible
	}
	r.Target = target
	return Eligible
}

// Field reads one field; its name may be in either case. A field that no stored response depends on
// may have any value.
func (r *Request) Field(name, value []byte) State {
	switch len(name) {
	case 4:
		if Is(name, "host") {
			return once(&r.Host, value)
		}
	case 5:
		if Is(name, "range") {
			return once(&r.Range, value)
		}
	case 6:
		r.Cookie = r.Cookie || Is(name, "cookie")
		r.CacheControl = r.CacheControl || Is(name, "pragma")
		return ifName(name, "expect")
	case 7:
		return ifName(name, "upgrade", "trailer")
	case 8:
		if Is(name, "if-range") {
			return once(&r.IfRange, value)
		}
		r.Loop = r.Loop || Is(name, "cdn-loop")
		return ifName(name, "if-match")
	case 9:
		if Is(name, "forwarded") {
			r.Forwarded, r.ForwardedHost, r.ForwardedProto = true, true, true
		}
	case 10:
		if Is(name, "connection") && !Is(Trim(value), "keep-alive") {
			return Ineligible
		}
	case 13:
		if Is(name, "if-none-match") {
			return once(&r.IfNoneMatch, value)
		}
		r.Authorization = r.Authorization || Is(name, "authorization")
		r.CacheControl = r.CacheControl || Is(name, "cache-control")
	case 14:
		return ifName(name, "content-length")
	case 15:
		switch {
		case Is(name, "accept-encoding"):
			return once(&r.AcceptEncoding, value)
		case Is(name, "x-forwarded-for"):
			r.Forwarded = true
		}
	case 16:
		r.ForwardedHost = r.ForwardedHost || Is(name, "x-forwarded-host")
	case 17:
		switch {
		case Is(name, "if-modified-since"):
			return once(&r.IfModifiedSince, value)
		case Is(name, "x-forwarded-proto"):
			r.ForwardedProto = true
		}
		return ifName(name, "transfer-encoding")
	case 19:
		return ifName(name, "if-unmodified-since")
	case 20:
		r.Dictionary = r.Dictionary || Is(name, "available-dictionary")
		// An authenticated edge has no limits and gets more information.
		return ifName(name, "iconedge-tier-secret")
	}
	return Eligible
}

// ifName returns Ineligible for a field with one of these names.
func ifName(name []byte, lower ...string) State {
	for _, l := range lower {
		if Is(name, l) {
			return Ineligible
		}
	}
	return Eligible
}

// once stores the value of a field that an eligible request has at most once.
func once(at *[]byte, value []byte) State {
	if *at != nil {
		return Ineligible
	}
	*at = Trim(value)
	return Eligible
}

// Is compares a name with one in lower case, ignoring case.
func Is(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// Trim removes spaces and tabs from both ends. Its result is never nil.
func Trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	if b == nil {
		b = []byte{}
	}
	return b
}

// Lines returns all lines of a field.
func (r *Request) Lines(name string) (all [][]byte) {
	for i := 0; ; i++ {
		line := r.Fields.Line(name, i)
		if line == nil {
			return all
		}
		all = append(all, line)
	}
}
