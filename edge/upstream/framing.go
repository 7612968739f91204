package upstream

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

var (
	errFraming = fmt.Errorf("%w: its framing can be read in two ways", ErrAnswer)
	errExcess  = fmt.Errorf("%w: it goes on behind its Content-Length", ErrAnswer)
)

// A head watches the bytes of an answer's header fields for what net/http changes in them: it takes Transfer-Encoding out, also
// where a Content-Length or HTTP/1.0 contradicts it (RFC 9112, section 6.1: faulty, and perhaps an attack); and see mend.
type head struct {
	line              []byte // as far as it has come
	begun, done       bool
	interim, old      bool
	exact             bool     // the body is no longer than its length
	bodiless          bool     // whatever its Content-Length says: the answer to a HEAD, a 204, a 304
	encoded, measured bool     // Transfer-Encoding, Content-Length
	length, came      int64    // of the body, as declared and so far
	controlled        bool     // Cache-Control
	options           []string // lines of Connection
	last              string   // the field that a folded line goes on with
}

// mend undoes what net/http did to the fields of an answer that has come: it drops all of Connection if one option is close,
// with the names of fields that go no further, and makes a Cache-Control of Pragma, which means nothing here (RFC 9111, section 5.4).
func (h *head) mend(fields http.Header) {
	fields["Connection"] = h.options
	if !h.controlled {
		delete(fields, "Cache-Control")
	}
}

// read takes the next bytes. Those after the end of the fields are the body's. If there are more of them than were declared, and they do not
// look like another answer, it is the length that is wrong, and the body was cut off by it (RFC 9112, section 6.3).
func (h *head) read(p []byte) error {
	for len(p) > 0 && !h.done {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			h.line = append(h.line, p...) // no more than maxHead: then the Transport reads no more
			return nil
		}
		line := string(append(h.line, p[:n-1]...))
		p, h.line = p[n:], h.line[:0]
		if err := h.take(strings.TrimSuffix(line, "\r")); err != nil {
			return err
		}
	}
	left := h.left()
	h.came += int64(len(p))
	if left >= 0 && left < int64(len(p)) && !beginsAnswer(p[left:]) {
		return errExcess
	}
	return nil
}

const statusLine = "HTTP/"

// beginsAnswer reports whether bytes may be those of another answer, or the line end that some origins send after a body.
func beginsAnswer(p []byte) bool {
	return p[0] == '\r' || p[0] == '\n' || strings.HasPrefix(statusLine, string(p[:min(len(p), len(statusLine))]))
}

// left is how much of the body is to come; of one whose length is not declared, or nobody checks, no end is known.
func (h *head) left() int64 {
	if !h.done || !h.measured || h.bodiless || !h.exact {
		return math.MaxInt64
	}
	return h.length - h.came
}

func (h *head) take(line string) error {
	switch {
	case !h.begun && !httpguts.ValidHeaderFieldValue(line):
		return fmt.Errorf("%w: a control byte in the status line", ErrAnswer)
	case !h.begun:
		h.begun = true
		version, status, _ := strings.Cut(line, " ")
		status = strings.TrimLeft(status, " ")
		h.old = version == "HTTP/1.0"
		h.interim = strings.HasPrefix(status, "1") && !strings.HasPrefix(status, "101")
		h.bodiless = h.bodiless || strings.HasPrefix(status, "204") || strings.HasPrefix(status, "304")
	case line == "" && h.interim: // a 1xx: the answer is yet to come
		*h = head{line: h.line, bodiless: h.bodiless, exact: h.exact}
	case line == "":
		h.done = true
		if h.encoded && (h.old || h.measured) {
			return errFraming
		}
	default:
		h.field(line)
	}
	return nil
}

func (h *head) field(line string) {
	name, value, _ := strings.Cut(line, ":")
	if line[0] == ' ' || line[0] == '\t' {
		name, value = h.last, line // folded (RFC 9112, section 5.2)
	}
	h.last = strings.ToLower(name)
	switch h.last {
	case "transfer-encoding":
		h.encoded = true
	case "content-length":
		length, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		h.length, h.measured = length, true
		if err != nil {
			h.length = math.MaxInt64 // net/http refuses it
		}
	case "cache-control":
		h.controlled = true
	case "connection":
		h.options = append(h.options, value)
	}
}
