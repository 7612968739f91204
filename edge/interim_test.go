package edge

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// Interim responses of the origin reach the client that asks, over every protocol and in their
// order, with their fields and without those of one hop. A stored response has none.
func TestInterimResponses(t *testing.T) {
	t.Parallel()
	hint := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusEarlyHints)
		clear(w.Header())
		w.WriteHeader(http.StatusProcessing)
		w.Header().Set("Cache-Control", "max-age=60")
		io.WriteString(w, "final")
	}
	for name, of := range wayOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecured(t, http.HandlerFunc(hint), append(of.changes(), func(c *Config) { c.ProxyAll = true })...).by(t, name)
			scheme := map[bool]string{true: "https", false: "http"}[of.secure]
			for _, want := range []string{"103 </style.css>; rel=preload, 102 ", ""} {
				var got []string
				trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
					if h.Get("Connection") != "" || h.Get("X-Hop") != "" || h.Get("Content-Length") != "" {
						t.Errorf("a %d with %v", code, h)
					}
					got = append(got, fmt.Sprint(code, " ", h.Get("Link")))
					return nil
				}}
				r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet,
					scheme+"://edge.test/page", nil)
				must(t, err)
				resp, err := s.via.RoundTrip(r)
				must(t, err)
				b, err := io.ReadAll(resp.Body)
				must(t, err)
				resp.Body.Close()
				if resp.StatusCode != 200 || string(b) != "final" || resp.Header.Get("Link") != "" ||
					resp.Header.Get("Cache-Control") != "max-age=60" {
					t.Errorf("%d %v %q", resp.StatusCode, resp.Header, b)
				}
				if all := strings.Join(got, ", "); all != want {
					t.Errorf("the interim responses are %q, want %q", all, want)
				}
				settled(t, "the response is stored", func() bool { return s.cache.Stats().Entries > 0 })
			}
		})
	}
}

// A client of HTTP/1.0 gets no interim response, which it would take for the final one. Nor does a
// client get a 100 that it does not wait for, more than 32, or one with a malformed field.
func TestInterimResponsesAreBounded(t *testing.T) {
	const final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, tt := range []struct {
		name, version, origin string
		interims, status      int
	}{
		{"HTTP/1.0", "1.0", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + final, 0, 200},
		{"100", "1.1", "HTTP/1.1 100 Continue\r\n\r\n" + final, 0, 200},
		{"many", "1.1", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 100) + final, 32, 200},
		{"unknown", "1.1", "HTTP/1.1 142 Odd\r\nLink: </x>\r\n\r\n" + final, 1, 200},
		{"a control character", "1.1", "HTTP/1.1 103 Early Hints\r\nLink: <\x01>\r\n\r\n" + final, 0, 502},
		{"a second response in it", "1.1", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\rHTTP/1.1 200 OK\r\n\r\n" + final, 0, 502},
		{"nothing after it", "1.1", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 1, 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				c, _, _ := http.NewResponseController(w).Hijack()
				defer c.Close()
				io.WriteString(c, tt.origin)
			}))
			defer o.Close()
			e := newTunnelTest(t, func(c *Config) { c.Origins.Set(o.URL) })
			c, err := dial(e.public)
			must(t, err)
			defer c.Close()
			c.SetDeadline(time.Now().Add(longEnough))
			io.WriteString(c, "GET /page HTTP/"+tt.version+"\r\nHost: edge.test\r\nConnection: close\r\n\r\n")
			b, err := io.ReadAll(c)
			must(t, err)
			r, n := bufio.NewReader(strings.NewReader(string(b))), 0
			for {
				resp, err := http.ReadResponse(r, nil)
				must(t, err)
				if resp.StatusCode >= 200 {
					if resp.StatusCode != tt.status || n != tt.interims {
						t.Errorf("%d after %d interim responses, want %d after %d: %q", resp.StatusCode, n, tt.status, tt.interims, b)
					}
					return
				}
				n++
			}
		})
	}
}
