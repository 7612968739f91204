// Package plain says which requests are plain: those that a stored answer can meet without a look at anything but address, coding and
// entity tag, whatever protocol they come by. A field that might change the answer makes its request one for the server. It knows
// nothing of caches or connections, and imports nothing.
package plain

import (
	"net/netip"
	"time"
)

// A Request is a plain one. Its slices are parts of the buffer that it was read into, and hold until it is answered.
type Request struct {
	Target         []byte // path and query; visible ASCII that begins with a slash
	Host           []byte // not yet judged
	AcceptEncoding []byte // nil: none
	IfNoneMatch    []byte // nil: none
	Forwarded      bool   // some proxy says for whom it asks
	Client         netip.Addr
	Now            time.Time
}

// A State says what a part of a request makes of the whole. The greatest of all parts counts.
type State uint8

const (
	Plain  State = iota
	Other        // one whole request, without a body, that the server must judge
	Opaque       // it may have a body, or be the beginning of another protocol
)

// MaxTarget is how long the target of a plain request may be, in bytes.
const MaxTarget = 512

// Begin forgets the request before. Client and Now stay.
func (r *Request) Begin() {
	r.Target, r.Host, r.AcceptEncoding, r.IfNoneMatch, r.Forwarded = nil, nil, nil, nil, false
}

// Aim takes the target, if it is a path of visible ASCII without a fragment.
func (r *Request) Aim(target []byte) State {
	if len(target) == 0 || target[0] != '/' || len(target) > MaxTarget {
		return Other
	}
	for _, c := range target {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return Other
		}
	}
	r.Target = target
	return Plain
}

// Field takes one field, its name in small letters or capitals. Fields that a stored answer does not depend on may say what they like.
func (r *Request) Field(name, value []byte) State {
	switch len(name) {
	case 2:
		return ifName(name, "te", Other)
	case 4:
		if is(name, "host") {
			return once(&r.Host, value)
		}
	case 5:
		return ifName(name, "range", Other)
	case 6:
		return ifName(name, "expect", Opaque)
	case 7:
		return max(ifName(name, "upgrade", Opaque), ifName(name, "trailer", Opaque))
	case 8:
		return max(ifName(name, "if-match", Other), ifName(name, "if-range", Other), ifName(name, "cdn-loop", Other))
	case 9:
		if is(name, "forwarded") {
			r.Forwarded = true
		}
	case 10:
		if is(name, "connection") && !is(trim(value), "keep-alive") {
			return Other
		}
	case 13:
		if is(name, "if-none-match") {
			return once(&r.IfNoneMatch, value)
		}
		return ifName(name, "authorization", Other)
	case 14:
		return ifName(name, "content-length", Opaque)
	case 15:
		switch {
		case is(name, "accept-encoding"):
			return once(&r.AcceptEncoding, value)
		case is(name, "x-forwarded-for"):
			r.Forwarded = true
		}
	case 17:
		return max(ifName(name, "transfer-encoding", Opaque), ifName(name, "if-modified-since", Other))
	case 19:
		return ifName(name, "if-unmodified-since", Other)
	}
	return Plain
}

// ifName is the state that a field of that name makes of its request.
func ifName(name []byte, lower string, s State) State {
	if is(name, lower) {
		return s
	}
	return Plain
}

// once keeps the value of a field that a plain request has at most once.
func once(at *[]byte, value []byte) State {
	if *at != nil {
		return Other
	}
	*at = trim(value)
	return Plain
}

// is compares a name, without case, with one in lower case.
func is(name []byte, lower string) bool {
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

// trim takes spaces and tabs off both ends. It is never nil.
func trim(b []byte) []byte {
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
