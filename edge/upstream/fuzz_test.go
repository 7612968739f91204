package upstream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

var answers = []string{ok, ok + evil, "HTTP/1.1 200 OK\r\n\r\nab", "HTTP/1.1 204 No Content\r\n\r\nab",
	"HTTP/1.1 100 Continue\r\n\r\n", "x", "",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n1;x\r\na\r\n0\r\nA: b\r\n\r\n",
	"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ok, "HTTP/1.0 200 OK\nConnection: close,\n  A\nA: b\n\nab",
	"HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\nab",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n"}

// Whatever an origin sends, there is an error, or a response with exactly the body that the framing
// gives, and the next request gets its own response. Time in the bubble passes at once.
func FuzzResponse(f *testing.F) {
	for i, s := range answers {
		f.Add(s, i%3 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, open bool) {
		synctest.Test(t, func(t *testing.T) {
			good := 0
			c := network{"a": {answer: func(c net.Conn, head string) bool {
				if !strings.HasPrefix(head, "GET /good/") {
					_, err := io.WriteString(c, text)
					return err == nil && open
				}
				good++
				_, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Number: %d\r\n\r\n%d", good, good)
				return err == nil
			}}}.client(Config{}, "a")
			defer c.Close()
			for i := 1; i <= 2; i++ {
				if a, err := fetch(t.Context(), c, get("/bad")); err == nil &&
					(a.Status < 200 || a.Status > 999 || !framed(text, a.Status, a.body)) {
					t.Fatalf("%q is passed on as %d %q", text, a.Status, a.body)
				}
				a, err := fetch(t.Context(), c, get(fmt.Sprintf("/good/%d", i)))
				if err != nil || a.body != fmt.Sprint(i) || a.Header.Get("X-Number") != fmt.Sprint(i) {
					t.Fatalf("after %q response %d is %+v, %v", text, i, a, err)
				}
			}
		})
	})
}

// framed reports whether text is, after any 1xx, a response of this status and body to a GET, by a
// simple second parser.
func framed(text string, status int, body string) bool {
	for {
		first, rest, _ := strings.Cut(text, "\n")
		fields, rest := cutFields(rest)
		code, _, _ := strings.Cut(strings.TrimLeft(strings.TrimPrefix(first, first[:9]), " "), " ")
		code = strings.TrimSpace(code)
		if code[0] == '1' {
			text = rest
			continue
		}
		length, hasLength := fields["content-length"]
		n, _ := strconv.Atoi(strings.TrimSpace(length))
		_, chunked := fields["transfer-encoding"]
		switch {
		case code != strconv.Itoa(status):
			return false
		case status == http.StatusNoContent || status == http.StatusNotModified:
			return body == ""
		case chunked:
			return body == unchunk(rest)
		case hasLength:
			return len(rest) >= n && body == rest[:n]
		}
		return body == rest
	}
}

// cutFields cuts the fields off at the first empty line; names are in lower case.
func cutFields(s string) (fields map[string]string, rest string) {
	fields = map[string]string{}
	for {
		line, after, _ := strings.Cut(s, "\n")
		s = after
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			return fields, s
		}
		name, value, _ := strings.Cut(line, ":")
		fields[strings.ToLower(name)] = value
	}
}

// unchunk decodes chunks that are known to be valid.
func unchunk(s string) (body string) {
	for {
		line, rest, _ := strings.Cut(s, "\r\n")
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimRight(size, " \t"), 16, 63)
		if err != nil || n == 0 || uint64(len(rest)) < n+2 {
			return body
		}
		body, s = body+rest[:n], rest[n+2:]
	}
}

// A head is parsed alike however the network splits it, and its options and Cache-Control are those
// of the text.
func FuzzHead(f *testing.F) {
	for i, s := range answers {
		f.Add(s, i)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var whole, parts head
		cut = max(0, min(cut, len(text)))
		err := whole.read([]byte(text))
		if first := parts.read([]byte(text[:cut])); first != nil {
			if err == nil {
				t.Fatalf("%q is refused in parts", text)
			}
			return
		}
		if second := parts.read([]byte(text[cut:])); (second == nil) != (err == nil) || parts.done != whole.done ||
			!slices.Equal(parts.options, whole.options) {
			t.Fatalf("%q is %+v, %v; in parts %+v, %v", text, whole, err, parts, second)
		}
		r := textproto.NewReader(bufio.NewReader(strings.NewReader(text)))
		r.ReadLine()
		fields, bad := r.ReadMIMEHeader()
		if bad != nil || whole.interim || !whole.done {
			return
		}
		if got, want := words(whole.options), words(fields["Connection"]); !slices.Equal(got, want) {
			t.Fatalf("the options of %q: %q, want %q", text, got, want)
		}
		if _, has := fields["Cache-Control"]; has != whole.hasCacheControl {
			t.Fatalf("%q: Cache-Control found: %v", text, whole.hasCacheControl)
		}
	})
}

func words(lines []string) []string {
	return strings.FieldsFunc(strings.Join(lines, " "), func(r rune) bool { return r == ' ' || r == '\t' })
}
