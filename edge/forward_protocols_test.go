package edge

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// A forwarded request reaches the origin in the same form over every protocol; only Forwarded tells
// the protocol. The origin's response reaches the client.
func TestForwardedByEveryProtocol(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]string{} // by protocol
	var now string
	origin := newSite(map[string]http.HandlerFunc{
		"/echo": func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			mu.Lock()
			r.Header.Del("CDN-Loop") // each edge has its own name
			r.Header.Del("Expect")   // TestExpect has it
			seen[now] = fmt.Sprint(r.Method, " ", r.Header, " ", r.ContentLength, " ", r.TransferEncoding, " ", err)
			mu.Unlock()
			w.Header()["Content-Type"] = nil
			w.Header()["X-Twice"] = []string{"a", "b"}
			w.Header().Set("Connection", "X-Hop")
			w.Header().Set("X-Hop", "1")
			w.Write(b)
		},
	})
	origin.Add("/long", says("", "Content-Length", "12345", "Cache-Control", "no-store"))
	body := random(3 << 20)
	answers := map[string]string{}
	for name, of := range wayOf {
		s := newSecured(t, origin, append(of.changes(), func(c *Config) { c.ProxyAll = true })...).by(t, name)
		mu.Lock()
		now = name
		mu.Unlock()
		answer := s.call(t, http.MethodPost, "/echo", "User-Agent: x\r\nX-A: b\r\nCookie: a=b; c=d\r\nTE: "+
			"trailers\r\nExpect: 100-continue\r\nContent-Type: text/x\r\n", bytes.NewReader(body))
		// If the exchange took a second, the response has an Age, and call leaves its Date.
		answers[name] = dates.ReplaceAllString(strings.Replace(answer, "Age: \r\n", "", 1), "Date: \r\n")
		if a := s.do(t, http.MethodHead, "/long"); a.Header.Get("Content-Length") != "12345" {
			t.Errorf("%s: the length of a HEAD is %q", name, a.Header.Get("Content-Length"))
		}
	}
	for name, of := range wayOf {
		if d := answers[name]; d != answers["h1"] {
			t.Errorf("the answer by %s: %s", name, differing(d, answers["h1"]))
		}
		want := seen["h1"]
		if of.secure {
			want = strings.Replace(want, "proto=http]", "proto=https]", 1)
			want = strings.Replace(want, "Proto:[http]", "Proto:[https]", 1)
		}
		if seen[name] != want {
			t.Errorf("the origin saw by %s:\n%s\nwant\n%s", name, seen[name], want)
		}
	}
}

var dates = regexp.MustCompile(`Date: [^\r]*\r\n`)

// A malformed request is refused in the same way over every protocol.
func TestRefusedByEveryProtocol(t *testing.T) {
	t.Parallel()
	for name, of := range wayOf {
		s := newSecured(t, owntest.NewOrigin(), of.changes()...).by(t, name)
		for _, row := range []struct {
			method, target, lines, body string
			status                      int
		}{
			{"GET", "/mdi/home.svg", strings.Repeat("Cookie: a=b\r\n", 2), "", 200},
			{"GET", "/mdi/home.svg", "Expect: something\r\n", "", 417},
			{"GET", "/mdi/home.svg?" + strings.Repeat("x", exchange.MaxTarget), "", "", 414},
			{"POST", "/mdi/home.svg", "", "x", 405},
			{"DELETE", "/mdi/home.svg", "", "", 405},
			{"PATCH", "/nowhere", "", "", 404},
			{"POST", "/api/v1/auth/verify", "Content-Type: application/json\r\n", `{"token":"good"}`, 200},
			{"POST", "/api/v1/auth/verify", "Content-Type: application/json\r\n", strings.Repeat("x", 5<<10), 413},
			{"POST", "/api/v1/auth/verify", "Content-Type: application/json\r\n", strings.Repeat("x", 100<<10), 413},
		} {
			var body io.Reader
			if row.body != "" {
				body = strings.NewReader(row.body)
			}
			got := s.call(t, row.method, row.target, row.lines, body)
			if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d\r\n", row.status)) {
				t.Errorf("%s: %s %.100s %.100q: %.300q, want %d", name, row.method, row.target, row.lines, got, row.status)
			}
		}
	}
}
