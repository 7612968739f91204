package upstream

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

var errFraming = fmt.Errorf("%w: its framing can be read in two ways", ErrAnswer)

// A head watches the bytes of an answer's header fields for what net/http changes in them: it takes Transfer-Encoding out, also
// where a Content-Length or HTTP/1.0 contradicts it (RFC 9112, section 6.1: faulty, and perhaps an attack); and see mend.
type head struct {
	line              []byte // as far as it has come
	begun, done       bool
	interim, old      bool
	encoded, measured bool     // Transfer-Encoding, Content-Length
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

// read takes the next bytes. Those after the end of the fields are the body's.
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
	return nil
}

func (h *head) take(line string) error {
	switch {
	case !h.begun:
		h.begun = true
		version, status, _ := strings.Cut(line, " ")
		status = strings.TrimLeft(status, " ")
		h.old = version == "HTTP/1.0"
		h.interim = strings.HasPrefix(status, "1") && !strings.HasPrefix(status, "101")
	case line == "" && h.interim: // a 1xx: the answer is yet to come
		*h = head{line: h.line}
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
		h.measured = true
	case "cache-control":
		h.controlled = true
	case "connection":
		h.options = append(h.options, value)
	}
}
