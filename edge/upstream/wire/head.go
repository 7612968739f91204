// Package wire has what a lean HTTP/1.1 client needs: a parser of the heads of plain responses, and
// a pool of idle connections. It knows nothing of origins, retries and timeouts.
//
// A plain response is one about whose end there is no doubt: HTTP/1.1, a final status, one
// Content-Length or a status without a body, and no field that concerns the framing or the
// connection. The caller leaves any other response to net/http.
package wire

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A Head is the head of a plain response.
type Head struct {
	Status string // code and reason
	Code   int
	Header http.Header
	Length int64 // of the body, in bytes; 0: there is none
	Close  bool  // no other response follows on the connection

	Bodyless bool // such a response never has a body
}

// A Form is what Parse finds.
type Form int

const (
	Incomplete Form = iota // more bytes are needed
	Plain
	Unusual // it may be a response, but no plain one
)

const (
	version   = "HTTP/1.1 "
	maxLength = 15       // digits of Content-Length
	maxPlain  = 16 << 10 // bytes; a longer head is unusual
	maxFields = 100
)

var (
	lineEnd = "\r\n"
	headEnd = []byte("\r\n\r\n")
)

// Parse parses the head of a response, with which p begins, and returns its length in bytes.
func Parse(p []byte) (h Head, n int, form Form) {
	if string(p[:min(len(p), len(version))]) != version[:min(len(p), len(version))] {
		return Head{}, 0, Unusual
	}
	end := bytes.Index(p, headEnd)
	switch {
	case end < 0 && (len(p) > maxPlain || bareLineFeed(p)):
		return Head{}, 0, Unusual
	case end < 0:
		return Head{}, 0, Incomplete
	case end > maxPlain:
		return Head{}, 0, Unusual
	}
	if !h.parse(string(p[len(version) : end+len(lineEnd)])) {
		return Head{}, 0, Unusual
	}
	return h, end + len(headEnd), Plain
}

// bareLineFeed reports whether a line ends without CR. Such a head may end in another way too.
func bareLineFeed(p []byte) bool {
	for at := 0; ; {
		n := bytes.IndexByte(p[at:], '\n')
		if n < 0 {
			return false
		}
		if at += n + 1; at == 1 || p[at-2] != '\r' {
			return true
		}
	}
}

// parse parses a head from its status on, and reports whether it is plain.
func (h *Head) parse(text string) bool {
	var ok bool
	if h.Status, text, _ = strings.Cut(text, lineEnd); !httpguts.ValidHeaderFieldValue(h.Status) {
		return false
	}
	code, _, _ := strings.Cut(h.Status, " ")
	if h.Code, ok = number(code, 3); !ok || len(code) != 3 || h.Code < 200 {
		return false
	}
	fields := strings.Count(text, lineEnd)
	if fields > maxFields {
		return false
	}
	h.Header = make(http.Header, fields)
	values := make([]string, fields) // one allocation for the values of all fields
	for hasLength := false; ; {
		var line string
		if line, text, ok = strings.Cut(text, lineEnd); !ok {
			return h.ends(hasLength)
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return false
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch name {
		case "Transfer-Encoding", "Trailer", "Upgrade":
			return false
		case "Connection":
			h.Close = h.Close || strings.EqualFold(value, "close")
			if !h.Close && !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Content-Length":
			n, ok := number(value, maxLength)
			if !ok || hasLength {
				return false
			}
			h.Length, hasLength = int64(n), true
		}
		if before := h.Header[name]; before != nil {
			h.Header[name] = append(before, value)
			continue
		}
		values[0] = value
		h.Header[name], values = values[:1:1], values[1:]
	}
}

// ends reports whether the end of the body is known.
func (h *Head) ends(hasLength bool) bool {
	switch h.Code {
	case http.StatusNoContent, http.StatusNotModified: // never a body (RFC 9110, section 6.4.1)
		h.Length, h.Bodyless = 0, true
		return true
	}
	return hasLength
}

// number parses a number of at most so many digits, and nothing else.
func number(s string, most int) (int, bool) {
	if s == "" || len(s) > most || s[0] < '0' || s[0] > '9' { // no sign
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}
