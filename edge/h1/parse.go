package h1

import (
	"bytes"

	"github.com/iconedge/iconedge/edge/request"
)

// A state classifies the beginning of some bytes.
type state uint8

const (
	forHitPath state = iota // an eligible request
	partial                 // an incomplete head
	other                   // a request with a body of known length, which the server must answer
	coded                   // a request with a chunked body
	opaque                  // a request whose end is not certain
	malformed               // a malformed request
)

// blankLines is the number of empty lines that may precede a request (RFC 9112, section 2.2, asks
// servers to ignore at least one).
const blankLines = 4

// A verdict is a state, the size of the head with the empty lines before it, and the size of those
// lines.
type verdict struct {
	state state
	size  int
	blank int
}

var endOfHead = []byte("\r\n\r\n")

// parse parses the request at the beginning of b, and fills r if it is eligible. It is strict where
// parsers are known to differ: a line ends with CR LF, a name is a token directly followed by a
// colon, no line is folded, and no byte is a control character (RFC 9112, sections 2.2, 5 and 5.2).
// A request whose body has another coding than chunked alone is opaque.
func parse(b []byte, r *parsedHead) verdict {
	if b[0] == '\r' {
		return parseAfterBlanks(b, r)
	}
	if !request.Token[b[0]] {
		return verdict{state: malformed}
	}
	line, rest, ok := cutLine(b)
	if !ok {
		return unfinished(b)
	}
	head := len(line) + len("\r\n")
	r.Reset()
	r.length, r.hasLength, r.expects, r.chunked = 0, false, false, false
	v := verdict{state: requestLine(line, r)}
	old := v.state == other && bytes.HasSuffix(line, []byte("HTTP/1.0"))
	for lines := 0; ; lines++ {
		if line, rest, ok = cutLine(rest); !ok {
			return unfinished(b)
		}
		if len(line) == 0 {
			break
		}
		if lines == maxFields {
			v.state = max(v.state, other)
		}
		if v.state = max(v.state, field(line, r)); v.state == malformed {
			return unfinished(b)
		}
	}
	v.size = len(b) - len(rest)
	r.head = b[head : v.size-len("\r\n")]
	if r.Host == nil {
		v.state = max(v.state, other)
	}
	if r.chunked && (r.hasLength || old) {
		v.state = max(v.state, opaque) // a request may be hidden in it (RFC 9112, section 6.1)
	}
	return v
}

// unfinished returns the verdict on a head with a line that is malformed or has no end yet. A
// malformed line of an incomplete head is judged when the rest has arrived.
func unfinished(b []byte) verdict {
	if bytes.Contains(b, endOfHead) || bareLF(b) || lacksVersion(b) {
		return verdict{state: malformed}
	}
	return verdict{state: partial}
}

// parseAfterBlanks parses a request with empty lines before it.
func parseAfterBlanks(b []byte, r *parsedHead) verdict {
	lines := 0
	for bytes.HasPrefix(b[2*lines:], endOfHead[:2]) {
		lines++
	}
	switch rest := b[2*lines:]; {
	case lines > blankLines, len(rest) > 1 && rest[0] == '\r':
		return verdict{state: malformed}
	case len(rest) == 0, rest[0] == '\r':
		return verdict{state: partial}
	default:
		v := parse(rest, r)
		v.size, v.blank = v.size+2*lines, 2*lines
		return v
	}
}

// cutLine cuts off the first line, without its CR LF. It is not ok if the line has a control
// character other than a tab, or no end.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	i := request.Control(b)
	if i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
		return nil, nil, false
	}
	return b[:i], b[i+2:], true
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

// lacksVersion reports whether the first line is complete but has no version. A client that speaks
// HTTP/0.9 (GET and a path, no more) or another protocol already waits for a response.
func lacksVersion(b []byte) bool {
	line, _, ended := bytes.Cut(b, endOfHead[:2])
	n := len(line) - len("HTTP/1.1")
	return ended && (n < 0 || string(line[n:n+len("HTTP/")]) != "HTTP/")
}

// requestLine parses "GET /target HTTP/1.1", or the same with HEAD. The server answers other
// methods and HTTP/1.0; another version makes everything after it uncertain.
func requestLine(line []byte, r *parsedHead) state {
	const get, head, after, old = "GET ", "HEAD ", " HTTP/1.1", " HTTP/1.0"
	n := len(line) - len(after)
	if n < 0 || string(line[n:]) != after {
		if n >= 0 && string(line[n:]) == old {
			return other
		}
		return opaque
	}
	target, ok := bytes.CutPrefix(line[:n], []byte(get))
	if !ok {
		if target, r.Head = bytes.CutPrefix(line[:n], []byte(head)); !r.Head {
			return other
		}
	}
	return stateOf(r.SetTarget(target))
}

// stateOf converts the state of a part of a request.
func stateOf(s request.State) state {
	if s == request.Eligible {
		return forHitPath
	}
	return other
}

// field parses one line. A field that no hit depends on may have any value.
func field(line []byte, r *parsedHead) state {
	colon := request.EndOfToken(line)
	if colon == 0 || colon == len(line) || line[colon] != ':' {
		return malformed
	}
	name, value := line[:colon], line[colon+1:]
	switch len(name) { // fields that change how the request continues
	case len("expect"):
		if request.Is(name, "expect") {
			r.expects = request.Is(request.Trim(value), "100-continue")
		}
	case len("content-length"):
		if request.Is(name, "content-length") {
			return r.contentLength(request.Trim(value))
		}
	case len("transfer-encoding"):
		if request.Is(name, "transfer-encoding") {
			return r.transferEncoding(request.Trim(value))
		}
	}
	return stateOf(r.Field(name, value))
}

// transferEncoding parses Transfer-Encoding. Only one coding has an end that all servers agree on.
func (r *parsedHead) transferEncoding(value []byte) state {
	if r.chunked || !request.Is(value, "chunked") {
		return opaque
	}
	r.chunked = true
	return coded
}

// contentLength parses Content-Length: one number, only digits (RFC 9112, section 6.3). No server
// accepts as many as 10^18 bytes.
func (r *parsedHead) contentLength(digits []byte) state {
	if r.hasLength || len(digits) == 0 {
		return opaque
	}
	r.hasLength = true
	for _, c := range digits {
		if c < '0' || c > '9' || r.length >= 1e17 {
			return opaque
		}
		r.length = r.length*10 + int64(c-'0')
	}
	return other
}
