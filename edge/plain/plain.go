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
	Secure         bool   // it came by TLS
	Tier           bool   // its connection is that of an edge behind this one, by its certificate
	Client         netip.Addr
	Now            time.Time
	Fields         Fields // all that it came with
	Chosen         bool   // who answers has left it to the server, to be followed there
}

// Fields are those of a request, for who wants one that no answer depends on: what is written about the request, say.
type Fields interface {
	// Line is the value of the nth line of a field, from 0; nil: there are not so many. The name is in small letters.
	Line(name string, nth int) []byte
}

// A State says what a part of a request makes of the whole. The greatest of all parts counts.
type State uint8

const (
	Plain State = iota
	Other       // the server must judge it
)

// MaxTarget is how long the target of a plain request may be, in bytes.
const MaxTarget = 512

// Begin forgets the request before. Secure, Tier, Client, Now and Fields stay.
func (r *Request) Begin() {
	r.Target, r.Host, r.AcceptEncoding, r.IfNoneMatch, r.Forwarded, r.Chosen = nil, nil, nil, nil, false, false
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
		return ifName(name, "te")
	case 4:
		if Is(name, "host") {
			return once(&r.Host, value)
		}
	case 5:
		return ifName(name, "range")
	case 6:
		return ifName(name, "expect")
	case 7:
		return ifName(name, "upgrade", "trailer")
	case 8:
		return ifName(name, "if-match", "if-range", "cdn-loop")
	case 9:
		if Is(name, "forwarded") {
			r.Forwarded = true
		}
	case 10:
		if Is(name, "connection") && !Is(Trim(value), "keep-alive") {
			return Other
		}
	case 13:
		if Is(name, "if-none-match") {
			return once(&r.IfNoneMatch, value)
		}
		return ifName(name, "authorization")
	case 14:
		return ifName(name, "content-length")
	case 15:
		switch {
		case Is(name, "accept-encoding"):
			return once(&r.AcceptEncoding, value)
		case Is(name, "x-forwarded-for"):
			r.Forwarded = true
		}
	case 17:
		return ifName(name, "transfer-encoding", "if-modified-since")
	case 19:
		return ifName(name, "if-unmodified-since")
	case 20:
		return ifName(name, "iconedge-tier-secret") // who asks decides about limits, and about what is told
	}
	return Plain
}

// ifName is the state that a field with one of these names makes of its request.
func ifName(name []byte, lower ...string) State {
	for _, l := range lower {
		if Is(name, l) {
			return Other
		}
	}
	return Plain
}

// once keeps the value of a field that a plain request has at most once.
func once(at *[]byte, value []byte) State {
	if *at != nil {
		return Other
	}
	*at = Trim(value)
	return Plain
}

// Is compares a name, without case, with one in lower case.
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

// Trim takes spaces and tabs off both ends. It is never nil.
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
