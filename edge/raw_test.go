package edge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/own/owntest"
)

// raw sends the request unchanged, and reads responses until the edge closes the connection or n of
// them have come.
func (e *edgeTest) raw(t *testing.T, request string, n int) []answer {
	t.Helper()
	c, err := e.dialRaw()
	must(t, err)
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	var answers []answer
	for r := bufio.NewReader(c); len(answers) < n; {
		method := http.MethodGet
		if strings.HasPrefix(request, "HEAD") {
			method = http.MethodHead
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return answers
		}
		b, err := io.ReadAll(resp.Body)
		must(t, err)
		answers = append(answers, answer{resp, string(b)})
		if _, target, _ := strings.Cut(request, " "); len(answers) == 1 && strings.HasPrefix(target, "/") {
			path, _, _ := strings.Cut(target, " ")
			e.describes(t, method, path, resp.StatusCode)
		}
	}
	return answers
}

// A request that HTTP forbids gets a problem document too. The edge then reads nothing more from
// the connection if later bytes could be mistaken for a request.
func TestRefused(t *testing.T) {
	const next = "GET /mdi/account.svg HTTP/1.1\r\nHost: a\r\n\r\n"
	tests := []struct {
		name, request string
		code          int
		closed        bool // no second response
	}{
		{"not HTTP", "hello\r\n\r\n", 400, true},
		{"no Host", "GET / HTTP/1.1\r\n\r\n", 400, true},
		{"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, true},
		{"a malformed Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, true},
		{"another version", "GET / HTTP/3.7\r\nHost: a\r\n\r\n", 505, true},
		{"a space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, true},
		{"NUL in the path", "GET /mdi/home.svg\x00 HTTP/1.1\r\nHost: a\r\n\r\n", 400, true},
		{"two slashes first", "GET //mdi/home.svg HTTP/1.1\r\nHost: a\r\n\r\n", 400, false},
		{"a backslash", "GET /mdi\\home.svg HTTP/1.1\r\nHost: a\r\n\r\n", 400, false},
		{"a fragment", "GET /mdi/home.svg#x HTTP/1.1\r\nHost: a\r\n\r\n", 400, true},
		{"a long address", "GET /mdi/" + strings.Repeat("a", 10_000) + ".svg HTTP/1.1\r\nHost: a\r\n\r\n", 414, false},
		{"large fields", "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 40_000) + "\r\n\r\n", 431, true},
		{"a large body", "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", 413, true},
		{"an expectation", "GET / HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\n\r\n", 417, false},
		{"two lengths", "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, true},
		{"a malformed length", "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400, true},
		{"a length and a coding", "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nContent-Length: " +
			"5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, true},
		{"a length and identity", "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nContent-Length: " +
			"1\r\nTransfer-Encoding: identity\r\n\r\na", 400, true},
		{"another coding", "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400, true},
		{"a malformed chunk", "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n", 400, true},
		{"CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 400, true},
		{"a GET with a body", "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na", 200, true},
		{"a GET in chunks", "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, true},
		{"Connection: Close", "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", 200, true},
		{"HTTP/1.0", "GET /mdi/home.svg HTTP/1.0\r\n\r\n", 200, true},
		{"an absolute address", "GET http://a/mdi/home.svg HTTP/1.1\r\nHost: a\r\n\r\n", 200, false},
		{"an address in the query", "GET /mdi/home.svg?x=http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 200, false},
	}
	e := newEdgeTest(t, owntest.NewOrigin())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answers := e.raw(t, tt.request+next, 2)
			if len(answers) == 0 {
				t.Fatal("no response")
			}
			a := answers[0]
			if a.StatusCode != tt.code || a.Header.Get("Access-Control-Allow-Origin") != "*" ||
				a.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%d %v, want %d", a.StatusCode, a.Header, tt.code)
			}
			if tt.code >= 400 && (a.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(a.body, `"status":`)) {
				t.Errorf("%s %s, want a problem", a.Header.Get("Content-Type"), a.body)
			}
			if tt.code >= 400 && a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control: %s: a cache would serve it to other clients", a.Header.Get("Cache-Control"))
			}
			if a.Header.Get("Server") != "" {
				t.Errorf("Server: %s", a.Header.Get("Server"))
			}
			if closed := len(answers) == 1; closed != tt.closed {
				t.Errorf("%d responses; the connection is closed: %v, want %v", len(answers), closed, tt.closed)
			}
		})
	}
}

// Caches in front do not store a refusal that depends on one client's header fields, body or
// spelling, over any protocol.
func TestRefusalIsNotStoredByOthers(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.Hosts = []string{"edge.test"} })
	for way, of := range wayOf {
		if of.reference {
			continue // its code is that of HTTP/3
		}
		e := s.by(t, way)
		e.get(t, "/mdi/home.svg")
		for _, row := range []struct {
			method, target, fields string
			body                   string
			code                   int
		}{
			{"GET", "/mdi/" + strings.Repeat("a", 9000) + ".svg", "", "", 414},
			{"GET", "/mdi//home.svg", "", "", 400},
			{"GET", "/mdi/home.svg", "Expect: a miracle\r\n", "", 417},
			{"GET", "/mdi/home.svg", "Range: bytes=999999-\r\n", "", 416},
			{"GET", "/mdi/home.svg", "If-Match: \"x\"\r\n", "", 412},
			{"GET", "/mdi/home.svg", "", strings.Repeat("a", 100_000), 413},
			{"POST", "/api/v1/auth/verify", "", strings.Repeat("a", 100_000), 413},
		} {
			a := e.call(t, row.method, row.target, row.fields, strings.NewReader(row.body))
			if !strings.HasPrefix(a, fmt.Sprintf("HTTP/1.1 %d\r\n", row.code)) || !strings.Contains(a, "\r\nCache-Control: no-store\r\n") {
				t.Errorf("over %s, %s %.40s %q: %.300s, want %d with no-store", way, row.method, row.target, row.fields, a, row.code)
			}
		}
	}
}

// Pipelined requests are answered in their order.
func TestPipelined(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin())
	answers := e.raw(t, strings.Repeat("GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\n\r\nGET /mdi/nothing.svg HTTP/1.1\r\nHost: a\r\n\r\n", 3),
		6)
	if len(answers) != 6 {
		t.Fatalf("%d responses to 6 requests", len(answers))
	}
	for i, a := range answers {
		if want := []int{200, 404}[i%2]; a.StatusCode != want {
			t.Errorf("response %d: %d, want %d", i, a.StatusCode, want)
		}
	}
}

// A refused client gets its response although it is still sending, because the edge does not reset
// the connection.
func TestRefusalIsNotLost(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin())
	ln := listenTest(t)
	e.serveToo(t, ln, e.Proxy)
	for range 20 {
		c, err := dial(ln)
		must(t, err)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("a", 200_000)+"\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("the response was lost: %v", err)
		}
		if resp.StatusCode != 431 {
			t.Errorf("%d, want 431", resp.StatusCode)
		}
		c.Close()
	}
}

func dial(ln net.Listener) (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) }

// TestLongFields: the fields of a request may have 32 KiB, a single one of them too, over every
// protocol and to the origin, and as many as the operator says.
func TestLongFields(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		args          []string
		passes, fails int
	}{{nil, 31_000, 33_000}, {[]string{"--max-header=100KiB"}, 98_000, 110_000}, {[]string{"--max-header=8KiB"}, 7_000, 9_000}} {
		e := newFileEdge(t, "version: 1\nsites: [{name: a, hosts: [a.test], origins: {app: {urls: [\"http://10.0.0.1:80\"]}}}]\n", row.args...)
		for _, speak := range []func(*http.Protocols, bool){(*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2} {
			transport := e.client.Transport.(*http.Transport).Clone()
			transport.Protocols = new(http.Protocols)
			speak(transport.Protocols, true)
			e.client.Transport = transport
			t.Cleanup(transport.CloseIdleConnections)
			cookie := func(n int) []string { return []string{"Cookie", strings.Repeat("a", n)} }
			e.run(t, []fileStep{{"GET http://a.test/x", cookie(row.passes), 200, strings.Repeat("a", row.passes)}})
			q, err := http.NewRequest("GET", "http://a.test/x", nil)
			must(t, err)
			q.Header.Set("Cookie", strings.Repeat("a", row.fails))
			if resp, err := e.client.Do(q); err == nil {
				if resp.Body.Close(); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
					t.Errorf("%q: %d bytes: %d", row.args, row.fails, resp.StatusCode)
				}
			}
		}
	}
}
