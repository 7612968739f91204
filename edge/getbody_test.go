package edge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// A GET or HEAD with a body is forwarded whole, over every protocol. It is neither answered from
// the cache nor stored nor collapsed, because the body is an input of the response that is no part
// of the cache key.
func TestGetWithABody(t *testing.T) {
	t.Parallel()
	for name, of := range wayOf {
		var mu sync.Mutex
		var seen []string
		origin := newSite(map[string]http.HandlerFunc{"/find": func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			mu.Lock()
			// A body of unknown length has one at the origin only if all of it came with the head.
			length := r.ContentLength
			if length < 0 && len(r.TransferEncoding) == 1 {
				length = int64(len(b))
			}
			seen = append(seen, fmt.Sprint(r.Method, " ", len(b), " ", length, " ", r.Close, " ", err))
			mu.Unlock()
			w.Header().Set("Cache-Control", "max-age=600")
			fmt.Fprintf(w, "found %.20q", b)
		}})
		s := newSecured(t, origin, append(of.changes(), func(c *Config) { c.ProxyAll = true })...).by(t, name)
		long := strings.Repeat("x", 3<<20)
		for i, row := range []struct {
			method, lines, body, want, sees string
		}{
			{"GET", "", "a", `found "a"`, "GET 1 1 true <nil>"},
			{"GET", "", "a", `found "a"`, "GET 1 1 true <nil>"},
			{"GET", "", "", `found ""`, "GET 0 0 false <nil>"}, // stored
			{"GET", "", "b", `found "b"`, "GET 1 1 true <nil>"},
			{"GET", "", "", `found ""`, ""},
			{"GET", "Content-Type: application/json\r\nIf-None-Match: *\r\nRange: bytes=0-1\r\n", `{"query":{}}`,
				`found "{\"query\":{}}"`, "GET 12 12 true <nil>"},
			{"GET", "", long, fmt.Sprintf("found %.20q", long), "GET 3145728 3145728 true <nil>"},
			{"HEAD", "", "c", "", "HEAD 1 1 true <nil>"},
			{"HEAD", "", "", "", ""},
			{"GET", "Cache-Control: only-if-cached\r\n", "d", "", ""},
			{"GET", "", "", `found ""`, ""},
		} {
			mu.Lock()
			seen = nil
			mu.Unlock()
			var body io.Reader
			if row.body != "" {
				// Of a length that the client does not announce.
				body = struct{ io.Reader }{strings.NewReader(row.body)}
				if i%2 == 0 {
					body = strings.NewReader(row.body)
				}
			}
			got := s.call(t, row.method, "/find", row.lines, body)
			mu.Lock()
			if status := strings.Contains(got, "HTTP/1.1 200"); status == strings.Contains(row.lines, "only-if") ||
				status && !strings.HasSuffix(strings.TrimSpace(got), row.want) || strings.Join(seen, "; ") != row.sees {
				t.Errorf("%s: request %d, %s %q: %.300q; the origin saw %q, want %q, %q", name, i, row.method,
					row.lines, got, seen, row.want, row.sees)
			}
			if row.body != "" && (strings.Contains(got, "; hit") || strings.Contains(got, "; stored") ||
				strings.Contains(got, "collapsed")) {
				t.Errorf("%s: request %d: %.300q", name, i, got)
			}
			mu.Unlock()
		}
	}
}

// An origin that does not read the body of a GET takes it for the next request of its connection.
// No other client's request goes over that connection, so that nobody gets the response.
func TestGetBodyThatTheOriginIgnores(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					target, closes := "", false
					for {
						line, err := in.ReadString('\n')
						if err != nil {
							return
						}
						if line = strings.TrimSpace(line); line == "" {
							break
						}
						if method, rest, ok := strings.Cut(line, " "); ok && method == "GET" {
							target, _, _ = strings.Cut(rest, " ")
						}
						closes = closes || strings.EqualFold(line, "Connection: close")
					}
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nCache-Control: no-store\r\n\r\n%s", len(target), target)
					if closes {
						return
					}
				}
			}()
		}
	}()
	e := newEdgeTest(t, http.NotFoundHandler(), func(c *Config) {
		c.ProxyAll, c.Origins = true, nil
		must(t, c.Origins.Set("http://"+ln.Addr().String()))
	})
	for i := range 20 {
		request := fmt.Sprintf("GET /first HTTP/1.1\r\nHost: edge.test\r\nContent-Length: %d\r\n\r\n%s", len(hiddenRequest), hiddenRequest)
		if a := e.raw(t, request, 1); a[0].body != "/first" {
			t.Errorf("%d: %q", i, a[0].body)
		}
		if a := e.get(t, "/second"); a.body != "/second" {
			t.Fatalf("%d: another client got %q", i, a.body)
		}
	}
}
