package h1

import (
	"bytes"
	"encoding/binary"
)

// A state says what stands at the beginning of some bytes.
type state uint8

const (
	plain   state = iota
	partial       // the beginning of a head
	other         // one whole request, without a body, that the server must judge
	opaque        // it is not certain where it ends
)

// A verdict is a state, and the bytes that the head takes.
type verdict struct {
	state state
	size  int
}

var endOfHead = []byte("\r\n\r\n")

// parse looks at the request that b begins with, and fills r where it is plain. It is strict where parsers have been known to differ: a line ends with
// CR LF, a name is a token with its colon at once behind it, no line is folded, no byte is a control byte
// (RFC 9112, sections 2.2, 5 and 5.2). Anything with a body, or that could have one, is opaque.
func parse(b []byte, r *Request) verdict {
	if b[0] < 'A' || b[0] > 'Z' {
		return verdict{state: opaque}
	}
	end := bytes.Index(b, endOfHead)
	if end < 0 {
		if bareLF(b) {
			return verdict{state: opaque}
		}
		return verdict{state: partial}
	}
	v := verdict{plain, end + len(endOfHead)}
	line, head, ok := cutLine(b[:end+2])
	if !ok {
		return verdict{state: opaque}
	}
	if v.state = requestLine(line, r); v.state == opaque {
		return v
	}
	r.Host, r.AcceptEncoding, r.IfNoneMatch, r.Forwarded = nil, nil, nil, false
	for len(head) > 0 {
		if line, head, ok = cutLine(head); !ok {
			return verdict{state: opaque}
		}
		v.state = max(v.state, field(line, r))
		if v.state == opaque {
			return v
		}
	}
	if r.Host == nil {
		v.state = other
	}
	return v
}

// cutLine cuts the first line off, without its CR LF. It is not ok where the line has any other control byte but a tab.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 || b[i-1] != '\r' || controls(b[:i-1]) {
		return nil, nil, false
	}
	return b[:i-1], b[i+1:], true
}

// bareLF reports whether some line ends without a CR.
func bareLF(b []byte) bool {
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return false
		}
		if i += n; i == 0 || b[i-1] != '\r' {
			return true
		}
		i++
	}
}

// requestLine reads "GET /target HTTP/1.1". Another method is for the server, another version makes everything after it
// uncertain.
func requestLine(line []byte, r *Request) state {
	const before, after = "GET ", " HTTP/1.1"
	n := len(line) - len(after)
	if n < 0 || string(line[n:]) != after {
		return opaque
	}
	line = line[:n]
	if len(line) <= len(before) || string(line[:len(before)]) != before {
		return other
	}
	target := line[len(before):]
	if target[0] != '/' || len(target) > maxTarget {
		return other
	}
	for _, c := range target {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return other
		}
	}
	r.Target = target
	return plain
}

// field reads one line. Fields that a hit does not depend on may say what they like.
func field(line []byte, r *Request) state {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return opaque
	}
	name, value := line[:colon], line[colon+1:]
	for _, c := range name {
		if !isToken[c] {
			return opaque
		}
	}
	switch len(name) {
	case 2:
		return ifName(name, "te", other)
	case 4:
		if is(name, "host") {
			return once(&r.Host, value)
		}
	case 5:
		return ifName(name, "range", other)
	case 6:
		return ifName(name, "expect", opaque)
	case 7:
		return max(ifName(name, "upgrade", opaque), ifName(name, "trailer", opaque))
	case 8:
		return max(ifName(name, "if-match", other), ifName(name, "if-range", other), ifName(name, "cdn-loop", other))
	case 9:
		if is(name, "forwarded") {
			r.Forwarded = true
		}
	case 10:
		if is(name, "connection") && !is(trim(value), "keep-alive") {
			return other
		}
	case 13:
		if is(name, "if-none-match") {
			return once(&r.IfNoneMatch, value)
		}
		return ifName(name, "authorization", other)
	case 14:
		return ifName(name, "content-length", opaque)
	case 15:
		switch {
		case is(name, "accept-encoding"):
			return once(&r.AcceptEncoding, value)
		case is(name, "x-forwarded-for"):
			r.Forwarded = true
		}
	case 17:
		return max(ifName(name, "transfer-encoding", opaque), ifName(name, "if-modified-since", other))
	case 19:
		return ifName(name, "if-unmodified-since", other)
	}
	return plain
}

// ifName is the state that a field of that name makes of its request.
func ifName(name []byte, lower string, s state) state {
	if is(name, lower) {
		return s
	}
	return plain
}

// once keeps the value of a field that a plain request has at most once.
func once(at *[]byte, value []byte) state {
	if *at != nil {
		return other
	}
	*at = trim(value)
	return plain
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

// isToken holds the bytes of a token (RFC 9110, section 5.6.2).
var isToken = func() (t [256]bool) {
	for c := range t {
		t[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c < 0x80 && bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return t
}()

// controls reports whether a line has a control byte other than a tab. Eight bytes are looked at together.
func controls(b []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		del := w ^ 0x7f*ones
		if (w-0x20*ones)&^w&highs|(del-ones)&^del&highs != 0 && anyControl(b[:8]) {
			return true // of what the arithmetic takes for one, some are none: it borrows
		}
	}
	return anyControl(b)
}

func anyControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}
