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
	errFraming = fmt.Errorf("%w: its framing is ambiguous", ErrResponse)
	errExcess  = fmt.Errorf("%w: bytes follow its Content-Length", ErrResponse)
)

// A head parses a response's header fields from the bytes on the wire, because net/http changes
// them: it removes Transfer-Encoding, even if a Content-Length or HTTP/1.0 contradicts it (RFC
// 9112, section 6.1: faulty, and perhaps an attack); and see restore.
type head struct {
	line                   []byte // the bytes of the current line so far
	begun, done            bool
	interim, http10        bool
	exact                  bool     // bytes after Content-Length make the response malformed
	bodyless               bool     // never has a body: the response to a HEAD, a 204, a 304
	hasEncoding, hasLength bool     // Transfer-Encoding, Content-Length are present
	length, received       int64    // of the body, declared and received
	hasCacheControl        bool     // Cache-Control is present
	options                []string // the lines of Connection
	last                   string   // the name of the last field, which a folded line continues
	ends                   bool     // the origin may close the connection after it; see parseLine
}

// restore undoes two changes of net/http: it drops all of Connection if one option is close,
// including the names of hop-by-hop fields, and it sets Cache-Control because of Pragma, which has
// no meaning in a response (RFC 9111, section 5.4).
func (h *head) restore(fields http.Header) {
	fields["Connection"] = h.options
	if !h.hasCacheControl {
		delete(fields, "Cache-Control")
	}
}

// read parses the next bytes. Those after the end of the fields belong to the body. If there are
// more of them than declared, and they do not look like another response, the length is wrong and
// would cut off the body (RFC 9112, section 6.3).
func (h *head) read(p []byte) error {
	for len(p) > 0 && !h.done {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			h.line = append(h.line, p...) // at most maxHead bytes: the Transport reads no more
			return nil
		}
		line := string(append(h.line, p[:n-1]...))
		p, h.line = p[n:], h.line[:0]
		if err := h.parseLine(strings.TrimSuffix(line, "\r")); err != nil {
			return err
		}
	}
	remaining := h.remaining()
	h.received += int64(len(p))
	if remaining >= 0 && remaining < int64(len(p)) && !beginsAnswer(p[remaining:]) {
		return errExcess
	}
	return nil
}

const statusLine = "HTTP/"

// beginsAnswer reports whether bytes may be the beginning of another response, or the line end that
// some origins send after a body.
func beginsAnswer(p []byte) bool {
	return p[0] == '\r' || p[0] == '\n' || strings.HasPrefix(statusLine, string(p[:min(len(p), len(statusLine))]))
}

// remaining returns how many bytes of the body are missing. It returns the largest number if the
// length is not declared or not checked.
func (h *head) remaining() int64 {
	if !h.done || !h.hasLength || h.bodyless || !h.exact {
		return math.MaxInt64
	}
	return h.length - h.received
}

// endsConnection reports whether the whole response has arrived and its connection is not to be
// used again.
func (h *head) endsConnection() bool {
	return h.ends && h.done && (h.bodyless || h.hasLength && h.received >= h.length)
}

func (h *head) parseLine(line string) error {
	switch {
	case !h.begun && !httpguts.ValidHeaderFieldValue(line):
		return fmt.Errorf("%w: a control byte in the status line", ErrResponse)
	case !h.begun:
		h.begun = true
		version, status, _ := strings.Cut(line, " ")
		status = strings.TrimLeft(status, " ")
		h.http10 = version == "HTTP/1.0"
		// After a 412, nginx closes the connection without announcing it. A request that can't be
		// sent twice would be lost.
		h.ends = strings.HasPrefix(status, "412")
		h.interim = strings.HasPrefix(status, "1") && !strings.HasPrefix(status, "101")
		h.bodyless = h.bodyless || strings.HasPrefix(status, "204") || strings.HasPrefix(status, "304")
	case line == "" && h.interim: // a 1xx, so the final response follows
		*h = head{line: h.line, bodyless: h.bodyless, exact: h.exact}
	case line == "":
		h.done = true
		if h.hasEncoding && (h.http10 || h.hasLength) {
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
		name, value = h.last, line // a folded line (RFC 9112, section 5.2)
	}
	h.last = strings.ToLower(name)
	switch h.last {
	case "transfer-encoding":
		h.hasEncoding = true
	case "content-length":
		length, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		h.length, h.hasLength = length, true
		if err != nil {
			h.length = math.MaxInt64 // net/http will refuse it
		}
	case "cache-control":
		h.hasCacheControl = true
	case "connection":
		h.options = append(h.options, value)
	}
}
