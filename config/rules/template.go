package rules

import (
	"bytes"
	"slices"
	"strings"
)

// A template is a target with $1, $2 and so on.
type template struct {
	parts   []string // literals, one more than numbers
	numbers []int
	query   bool // it has a query of its own
}

// newTemplate parses a target. max is the largest $N.
func newTemplate(s string) (t template, largest int) {
	if t.query = strings.Contains(s, "?"); t.query {
		if stem := strings.TrimSuffix(s, "?"); !strings.Contains(stem, "?") {
			s = stem // a question mark at the end stands for no query
		}
	}
	for {
		at := strings.IndexByte(s, '$')
		for at >= 0 && (at+1 >= len(s) || s[at+1] < '0' || s[at+1] > '9') {
			next := strings.IndexByte(s[at+1:], '$')
			if next < 0 {
				at = -1
				break
			}
			at += 1 + next
		}
		if at < 0 {
			t.parts = append(t.parts, s)
			return t, largest
		}
		n, end := 0, at+1
		for end < len(s) && '0' <= s[end] && s[end] <= '9' && n < 1000 {
			n = 10*n + int(s[end]-'0')
			end++
		}
		t.parts, t.numbers = append(t.parts, s[:at]), append(t.numbers, n)
		largest = max(largest, n)
		if n == 0 {
			largest = max(largest, 1000) // $0 is no capture
		}
		s = s[end:]
	}
}

// fill returns the target for captures, with the query of the client unless it has one itself.
// Captures are percent-encoded, so that no capture can end the path, begin a host or end a line.
func (t template) fill(captures []string, clientQuery string) string {
	return string(t.append(nil, captures, clientQuery))
}

// append writes the target that fill returns to dst, which is empty.
func (t template) append(dst []byte, captures []string, clientQuery string) []byte {
	for i, part := range t.parts {
		dst = append(dst, part...)
		if i < len(t.numbers) && t.numbers[i] >= 1 && t.numbers[i] <= len(captures) {
			if _, host, isURL := bytes.Cut(dst, schemeEnd); isURL && !bytes.ContainsAny(host, "/?") &&
				!strings.HasPrefix(captures[t.numbers[i]-1], "/") {
				dst = append(dst, '/') // a capture never extends the host
			}
			dst = appendEscaped(dst, captures[t.numbers[i]-1], bytes.IndexByte(dst, '?') >= 0)
		}
	}
	slashes := len(dst) - len(bytes.TrimLeft(dst, "/"))
	if slashes > 1 || slashes == 0 && !bytes.Contains(dst, schemeEnd) {
		dst = slices.Replace(dst, 0, slashes, '/') // never the host of another site
	}
	if !t.query && clientQuery != "" {
		dst = append(append(dst, '?'), clientQuery...)
	}
	return dst
}

var schemeEnd = []byte("://")

const hexDigits = "0123456789ABCDEF"

// appendEscaped percent-encodes all but the characters that are plain in a path, or in the value of
// a parameter.
func appendEscaped(dst []byte, s string, inQuery bool) []byte {
	plain := "-._~!$'()*,:@/&=+;"
	if inQuery {
		plain = "-._~!$'()*,:@/"
	}
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}
