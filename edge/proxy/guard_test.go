package proxy

import (
	"strings"
	"testing"
)

func TestFraming(t *testing.T) {
	for fields, want := range map[string]framed{
		"":                                   {strict: true},
		"Host: a\r\n\r\n":                    {strict: true},
		"Content-Length: 1\r\n\r\n":          {strict: true, measured: true},
		"transfer-ENCODING: chunked\r\n\r\n": {strict: true, coded: true},
		"Transfer-Encoding: x\r\ncontent-length: 1\r\n\r\n":   {strict: true, coded: true, measured: true},
		"Transfer-Encodings: x\r\nContent-Lengths: 1\r\n\r\n": {strict: true},
		"X: Transfer-Encoding: chunked\r\nTe: y\r\n\r\n":      {strict: true},
		"Connection: a, CLOSE\r\nConnection: b\r\n\r\n":       {strict: true, closing: true},
		"Connection: closed\r\nUpgrade: h2c\r\n\r\n":          {strict: true, upgrading: true},
		"X: caf\xe9\tb\r\nY:\r\n\r\n":                         {strict: true},
		"Host: a\n\n":                                         {},
		"Host: a\r\nX: b\n\r\n":                               {},
		"Host: a\r\n b\r\n\r\n":                               {},
		"Host : a\r\n\r\n":                                    {},
		"X A: b\r\n\r\n":                                      {},
		"X: a\rb\r\n\r\n":                                     {},
		"X: \x00\r\n\r\n":                                     {},
		": a\r\n\r\n":                                         {},
		"nonsense\r\n\r\n":                                    {},
		"X: a\r\n\r\nY: b\r\n":                                {},
		"X: a\r\n\r\n\r\n":                                    {},
		"\xc3\x9cber: a\r\n\r\n":                              {},
	} {
		if got := framing([]byte(fields)); got != want {
			t.Errorf("framing(%q) = %+v, want %+v", fields, got, want)
		}
	}
}

// If the fields are well-formed, framing reports the same as for each line alone.
func FuzzFraming(f *testing.F) {
	for _, s := range []string{"", "Host: a\r\n\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
		"X: a\r\n b\r\n\r\n", "X : a\r\n\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := framing([]byte(s))
		if !m.strict {
			return
		}
		fields := strings.TrimSuffix(s, "\r\n")
		if strings.Count(s, "\n") != strings.Count(s, "\r\n") || strings.Count(s, "\r") != strings.Count(s, "\n") {
			t.Fatalf("%q has a bare CR or LF", s)
		}
		again := framed{strict: true}
		for line := range strings.SplitSeq(strings.TrimSuffix(fields, "\r\n"), "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			again.field([]byte(name), []byte(value))
		}
		if again != m {
			t.Fatalf("%q: framing returns %+v, line by line %+v", s, m, again)
		}
	})
}
