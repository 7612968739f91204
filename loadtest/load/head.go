//go:build linux

package load

import "bytes"

// framing holds the fields that determine the length of a response.
type framing struct {
	length  int64 // -1: no Content-Length
	chunked bool
	closing bool
}

// readHead reads the status line and the header section. It skips interim responses (RFC 9110,
// section 15.2).
func (a *answer) readHead(b []byte) ([]byte, error) {
	head, rest, err := a.until(b, endOfHead)
	if err != nil || head == nil {
		return rest, err
	}
	line, fields := cutLine(head)
	f := framing{length: -1}
	if a.status, f.closing, err = statusLine(line); err != nil {
		return nil, err
	}
	if a.status < 200 {
		return rest, nil
	}
	for len(fields) > 0 && err == nil {
		line, fields = cutLine(fields)
		err = f.field(line)
	}
	if err == nil {
		err = a.frame(f)
	}
	return rest, err
}

// cutLine cuts off the first line, without its line end. It searches for one byte, not with
// bytes.Cut for two, because that is much faster and a header section has twenty lines.
func cutLine(b []byte) (line, rest []byte) {
	line = b
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		line, rest = b[:i], b[i+1:]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

// statusLine parses "HTTP/1.1 200 OK". A response in HTTP/1.0 closes its connection unless it has a
// field to the contrary, which no server under measurement sends.
func statusLine(line []byte) (status int, closing bool, err error) {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' ||
		len(line) > 12 && line[12] != ' ' {
		return 0, false, errHead
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return 0, false, errHead
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 {
		return 0, false, errHead
	}
	return status, line[7] == '0', nil
}

// frame determines the length of the body (RFC 9112, section 6.3). A 304 and a response to HEAD may
// have the Content-Length of the 200, but have no body.
func (a *answer) frame(f framing) error {
	a.closing = f.closing
	switch {
	case f.chunked && f.length >= 0:
		return errLength
	case a.head || a.status == 204 || a.status == 304:
		a.state = complete
	case f.chunked:
		a.state = inSize
	case f.length < 0:
		return errEndless
	case f.length == 0:
		a.state = complete
	default:
		a.state, a.left = inBody, f.length
	}
	return nil
}

// field parses one line of a header section.
func (f *framing) field(line []byte) error {
	// obsolete folding, which RFC 9112, section 5.2 forbids
	if len(line) == 0 || line[0] == ' ' || line[0] == '\t' {
		return errHead
	}
	if c := line[0] | 0x20; c != 'c' && c != 't' {
		return nil
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return errHead
	}
	value = bytes.Trim(value, " \t")
	switch {
	case equalFold(name, "content-length"):
		return f.setLength(value)
	case equalFold(name, "transfer-encoding"):
		if f.chunked || !equalFold(value, "chunked") {
			return errLength
		}
		f.chunked = true
	case equalFold(name, "connection"):
		f.closing = f.closing || equalFold(value, "close")
	}
	return nil
}

// setLength parses Content-Length. Repeated values must be equal (RFC 9112, section 6.3).
func (f *framing) setLength(value []byte) error {
	if len(value) == 0 || len(value) > 15 {
		return errLength
	}
	n := int64(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return errLength
		}
		n = n*10 + int64(c-'0')
	}
	if f.length >= 0 && f.length != n {
		return errLength
	}
	f.length = n
	return nil
}

// equalFold compares with a lower-case ASCII word, ignoring case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
