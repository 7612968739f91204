package edge

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/logtest"
)

// The first byte of a response reaches the client before the origin sends the second, whether the
// response has a length or none, may be stored or not, and over every protocol. A response that the
// origin breaks off is a broken stream, and is not stored; a whole one is stored as usual.
func TestFirstByteIsNotHeld(t *testing.T) {
	t.Parallel()
	for way, of := range wayOf {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			more := make(chan bool) // what the origin does next: send the rest, or break off
			page := func(length, policy string) http.HandlerFunc {
				return func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Cache-Control", policy)
					if length != "" {
						w.Header().Set("Content-Length", length)
					}
					io.WriteString(w, "a")
					w.(http.Flusher).Flush()
					if !<-more {
						panic(http.ErrAbortHandler)
					}
					io.WriteString(w, "b")
				}
			}
			var log logtest.Log
			s := newSecured(t, newSite(map[string]http.HandlerFunc{
				"/known": page("2", "max-age=60"), "/unknown": page("", "max-age=60"),
				"/known/private": page("2", "no-store"), "/unknown/private": page("", "no-store"),
			}), append(of.changes(), func(c *Config) { c.ProxyAll, c.Hold, c.Log = true, 10*time.Millisecond, log.Logger() })...).by(t, way)
			for _, path := range []string{"/known", "/unknown", "/known/private", "/unknown/private"} {
				for _, method := range []string{http.MethodPost, http.MethodGet} {
					for _, whole := range []bool{false, true} {
						at := fmt.Sprintf("%s %s, whole %v", method, path, whole)
						scheme := map[bool]string{true: "https", false: "http"}[of.secure]
						r, err := http.NewRequestWithContext(t.Context(), method, scheme+"://edge.test"+path, nil)
						must(t, err)
						resp, err := s.via.RoundTrip(r)
						must(t, err)
						first := make([]byte, 1)
						if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "a" {
							t.Errorf("%s: the first byte is %q, %v", at, first, err)
						}
						more <- whole
						rest, err := io.ReadAll(resp.Body)
						resp.Body.Close()
						if (err == nil) != whole || whole && string(rest) != "b" {
							t.Errorf("%s: the rest is %q, %v", at, rest, err)
						}
					}
				}
			}
			broken := strings.Count(log.String(), "broken off")
			if counted := s.upstream.Stats().Broken; counted != 8 || broken != 8 ||
				!strings.Contains(log.String(), "path=/known bytes=1 ") {
				t.Errorf("%d broken responses were counted, and %d logged; want 8:\n%s", counted, broken, &log)
			}
			for _, path := range []string{"/known", "/unknown"} {
				settled(t, path+" is stored", func() bool {
					a := s.get(t, path, "Cache-Control", "only-if-cached")
					return a.StatusCode == 200 && a.body == "ab"
				})
			}
		})
	}
}

// BenchmarkFirstByte measures the time until the first byte of a streamed page, to the origin
// directly and through an edge. The goal for the difference is 20 ms.
func BenchmarkFirstByte(b *testing.B) {
	page := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.URL.Path == "/known" {
			w.Header().Set("Content-Length", "2")
		}
		io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the second byte does not come
	}
	origin := httptest.NewServer(http.HandlerFunc(page))
	defer origin.Close()
	s := newSecured(b, http.HandlerFunc(page), func(c *Config) { c.ProxyAll, c.Hold = true, 10*time.Millisecond })
	for _, path := range []string{"/known", "/unknown"} {
		b.Run(path[1:], func(b *testing.B) {
			var direct, edge time.Duration
			for b.Loop() {
				direct += firstByte(b, origin.Listener.Addr().String(), path)
				edge += firstByte(b, s.plain, path)
			}
			b.ReportMetric(float64(direct.Microseconds())/float64(b.N), "µs-direct")
			b.ReportMetric(float64(edge.Microseconds())/float64(b.N), "µs-edge")
			b.ReportMetric(float64((edge-direct).Microseconds())/float64(b.N), "µs-added")
		})
	}
}

// firstByte returns the time from a request on a new connection to the first byte of the body.
func firstByte(b *testing.B, address, path string) time.Duration {
	c, err := net.Dial("tcp", address)
	must(b, err)
	defer c.Close()
	began := time.Now()
	r, err := http.NewRequest(http.MethodGet, "http://edge.test"+path, nil)
	must(b, err)
	t := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }}
	resp, err := t.RoundTrip(r)
	must(b, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 1))
	must(b, err)
	return time.Since(began)
}
