package rules

import "strings"

// A template is a target with $1, $2 and so on.
type template struct {
	parts   []string // literals, one more than numbers
	numbers []int
	query   bool // it has a query of its own
}

// newTemplate parses a target. max is the largest $N.
func newTemplate(s string) (t template, largest int) {
	t.query = strings.Contains(s, "?")
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
	var b strings.Builder
	for i, part := range t.parts {
		b.WriteString(part)
		if i < len(t.numbers) && t.numbers[i] >= 1 && t.numbers[i] <= len(captures) {
			if _, host, isURL := strings.Cut(b.String(), "://"); isURL && !strings.ContainsAny(host, "/?") && !strings.HasPrefix(captures[t.numbers[i]-1], "/") {
				b.WriteByte('/') // a capture never extends the host
			}
			inQuery := strings.Contains(b.String(), "?")
			escape(&b, captures[t.numbers[i]-1], inQuery)
		}
	}
	s := b.String()
	if strings.HasPrefix(s, "//") || !strings.HasPrefix(s, "/") && !strings.Contains(s, "://") {
		s = "/" + strings.TrimLeft(s, "/") // never the host of another site
	}
	if !t.query && clientQuery != "" {
		s += "?" + clientQuery
	}
	return s
}

const hexDigits = "0123456789ABCDEF"

// escape percent-encodes all but the characters that are plain in a path, or in the value of a
// parameter.
func escape(b *strings.Builder, s string, inQuery bool) {
	plain := "-._~!$'()*,:@/&=+;"
	if inQuery {
		plain = "-._~!$'()*,:@/"
	}
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
}
