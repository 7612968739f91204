package fastpath

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A request is an eligible request.
type request struct {
	target string
	lines  string // the field lines, each with its end
	icon   bool   // its target is the path of an icon, without parameters
}

const (
	maxLines = 40
	lineEnd  = "\r\n"
	method   = "GET "
	version  = " HTTP/1.1"
	archive  = ".zip" // which may be too long for a response in memory
)

var headEnd = []byte("\r\n\r\n")

// parse returns the eligible request with which p begins, and its size; 0: there is none. No reader
// can find another end in it: all lines end with CRLF, and there is no body.
func parse(p []byte) (r request, size int) {
	end := bytes.Index(p, headEnd)
	if end < 0 || !bytes.HasPrefix(p, []byte(method)) {
		return request{}, 0
	}
	line, lines, ok := strings.Cut(string(p[:end+len(lineEnd)]), lineEnd)
	if !ok {
		return request{}, 0
	}
	target, ok := strings.CutSuffix(line[len(method):], version)
	if !ok || !plainTarget(target) || strings.Contains(target, archive) {
		return request{}, 0
	}
	hosts, count := 0, 0
	for rest := lines; rest != ""; count++ {
		var field string
		field, rest, _ = strings.Cut(rest, lineEnd)
		name, value, ok := strings.Cut(field, ":")
		if !ok || count == maxLines || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return request{}, 0
		}
		switch kindOf(name) {
		case fieldHost:
			hosts++
			if !plainHost(strings.Trim(value, " \t")) {
				return request{}, 0
			}
		case fieldHop:
			return request{}, 0
		}
	}
	if hosts != 1 {
		return request{}, 0
	}
	return request{target, lines, isIcon(target)}, end + len(headEnd)
}

// A fieldKind is what a field means to a server.
type fieldKind int

const (
	fieldPlain fieldKind = iota
	fieldHost
	fieldHop // it concerns the framing, the connection or the server
)

func kindOf(name string) fieldKind {
	switch len(name) {
	case 2, 4, 6, 7, 10, 14, 16, 17: // the lengths of the names below
	default:
		return fieldPlain
	}
	switch strings.ToLower(name) {
	case "host":
		return fieldHost
	case "te", "expect", "trailer", "upgrade", "connection", "keep-alive", "content-length", "http2-settings",
		"proxy-connection", "transfer-encoding":
		return fieldHop
	}
	return fieldPlain
}

// plainTarget reports whether a target is a path, perhaps with a query, that needs no decoding.
func plainTarget(s string) bool {
	if !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !plainByte(c) && c != '?' && c != '=' && c != '&' && c != ',' && c != ':' && c != '+' {
			return false
		}
	}
	return true
}

func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '/' || c == '.' || c == '-' || c == '_'
}

// isIcon reports whether a plain target is /{pack}/{name}.svg without a query.
func isIcon(target string) bool {
	return strings.HasSuffix(target, ".svg") && strings.Count(target, "/") == 2 && !strings.ContainsAny(target, "?=&,:+")
}

// plainHost reports whether a Host is a name or an address with a port.
func plainHost(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c == '/' || !plainByte(c) && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return true
}

// fields adds the fields to h, and returns the Host, which is none of them.
func (r request) fields(h http.Header) (host string) {
	for rest := r.lines; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, lineEnd)
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if kindOf(name) == fieldHost {
			host = value
			continue
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		h[name] = append(h[name], value)
	}
	return host
}
