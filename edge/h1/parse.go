package h1

import (
	"bytes"

	"github.com/iconedge/iconedge/edge/plain"
)

// A state says what stands at the beginning of some bytes.
type state uint8

const (
	answerable state = iota // it is plain
	partial                 // the beginning of a head
	other                   // one whole request, with a body of the length that it says, that the server must judge
	opaque                  // it is not certain where it ends
	unsound                 // nor is it by the letter
)

// blankLines is how many empty lines may come before a request (RFC 9112, section 2.2: one should be overlooked).
const blankLines = 4

// A verdict is a state, and the bytes that the head takes, with those of the empty lines before it.
type verdict struct {
	state state
	size  int
	blank int
}

var endOfHead = []byte("\r\n\r\n")

// parse looks at the request that b begins with, and fills r where it is plain. It is strict where parsers have been known to differ: a line ends with
// CR LF, a name is a token with its colon at once behind it, no line is folded, no byte is a control byte
// (RFC 9112, sections 2.2, 5 and 5.2). Anything with a body in chunks, or that could become another protocol, is opaque.
func parse(b []byte, r *request) verdict {
	if b[0] == '\r' {
		return behindBlanks(b, r)
	}
	if !plain.Token[b[0]] {
		return verdict{state: unsound}
	}
	end := bytes.Index(b, endOfHead)
	if end < 0 {
		if bareLF(b) || unversioned(b) {
			return verdict{state: unsound}
		}
		return verdict{state: partial}
	}
	v := verdict{state: answerable, size: end + len(endOfHead)}
	line, head, ok := cutLine(b[:end+2])
	if !ok {
		return verdict{state: unsound}
	}
	r.Begin()
	r.head, r.length, r.measured, r.expects = head, 0, false, false
	v.state = requestLine(line, r)
	for lines := 0; len(head) > 0; lines++ {
		if lines == maxFields {
			v.state = max(v.state, other)
		}
		if line, head, ok = cutLine(head); !ok {
			return verdict{state: unsound}
		}
		if v.state = max(v.state, field(line, r)); v.state == unsound {
			return v
		}
	}
	if r.Host == nil {
		v.state = max(v.state, other)
	}
	return v
}

// behindBlanks looks at a request that empty lines come before.
func behindBlanks(b []byte, r *request) verdict {
	lines := 0
	for bytes.HasPrefix(b[2*lines:], endOfHead[:2]) {
		lines++
	}
	switch rest := b[2*lines:]; {
	case lines > blankLines, len(rest) > 1 && rest[0] == '\r':
		return verdict{state: unsound}
	case len(rest) == 0, rest[0] == '\r':
		return verdict{state: partial}
	default:
		v := parse(rest, r)
		v.size, v.blank = v.size+2*lines, 2*lines
		return v
	}
}

// cutLine cuts the first line off, without its CR LF. It is not ok where the line has any other control byte but a tab.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 || b[i-1] != '\r' || plain.Controls(b[:i-1]) {
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

// unversioned reports whether the first line has ended, and not with a version: who speaks HTTP/0.9 (GET and a path, no more),
// or no HTTP, waits for an answer now.
func unversioned(b []byte) bool {
	line, _, ended := bytes.Cut(b, endOfHead[:2])
	n := len(line) - len("HTTP/1.1")
	return ended && (n < 0 || string(line[n:n+len("HTTP/")]) != "HTTP/")
}

// requestLine reads "GET /target HTTP/1.1". Another method is for the server, as is HTTP/1.0; another version makes everything
// after it uncertain.
func requestLine(line []byte, r *request) state {
	const before, after, old = "GET ", " HTTP/1.1", " HTTP/1.0"
	n := len(line) - len(after)
	if n < 0 || string(line[n:]) != after {
		if n >= 0 && string(line[n:]) == old {
			return other
		}
		return opaque
	}
	line = line[:n]
	if len(line) <= len(before) || string(line[:len(before)]) != before {
		return other
	}
	return stateOf(r.Aim(line[len(before):]))
}

// stateOf is what a part of a request that makes it plain, or not, makes of it here.
func stateOf(s plain.State) state {
	if s == plain.Plain {
		return answerable
	}
	return other
}

// field reads one line. Fields that a hit does not depend on may say what they like.
func field(line []byte, r *request) state {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 || !plain.IsToken(line[:colon]) {
		return unsound
	}
	name, value := line[:colon], line[colon+1:]
	switch len(name) { // what says how the request goes on
	case len("expect"):
		if plain.Is(name, "expect") {
			r.expects = plain.Is(plain.Trim(value), "100-continue")
		}
	case len("upgrade"):
		if plain.Is(name, "upgrade") {
			return opaque
		}
	case len("content-length"):
		if plain.Is(name, "content-length") {
			return r.measure(plain.Trim(value))
		}
	case len("transfer-encoding"):
		if plain.Is(name, "transfer-encoding") {
			return opaque
		}
	}
	return stateOf(r.Field(name, value))
}

// measure takes the length of a body: one number, of digits alone (RFC 9112, section 6.3). No server reads as many as 10^18 bytes.
func (r *request) measure(digits []byte) state {
	if r.measured || len(digits) == 0 {
		return opaque
	}
	r.measured = true
	for _, c := range digits {
		if c < '0' || c > '9' || r.length >= 1e17 {
			return opaque
		}
		r.length = r.length*10 + int64(c-'0')
	}
	return other
}
