package edge

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"
)

// A request that stops arriving and a response that its client does not take end with their
// deadlines, over every protocol.
func TestStalledByEveryProtocol(t *testing.T) {
	t.Parallel() // it waits for deadlines
	large := random(8 << 20)
	for way, of := range wayOf {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newSecured(t, newSite(map[string]http.HandlerFunc{"/large": says(string(large))}), append(of.changes(), func(c *Config) {
				c.ProxyAll, c.RequestTimeout, c.AnswerTimeout = true, 200*time.Millisecond, 2*time.Second
			})...).by(t, way)
			body, more := io.Pipe()
			defer more.Close()
			go more.Write([]byte("a"))
			r, _ := http.NewRequest("POST", "http://edge.test/slow", body)
			if resp, err := s.RoundTrip(r); err != nil || resp.StatusCode != http.StatusRequestTimeout {
				t.Errorf("a body that stops: %v, %v; want 408", resp, err)
			}
			sent := func() float64 { return s.series(t, "response_bytes_total")["forwarded"].GetCounter().GetValue() }
			before := sent()
			r, _ = http.NewRequest("GET", "http://edge.test/large", nil)
			resp, err := s.RoundTrip(r)
			if err != nil {
				return // the connection was cut before the client read the head
			}
			defer resp.Body.Close()
			settled(t, "the edge gives the response up", func() bool { return sent() > before })
			if got, err := io.ReadAll(resp.Body); err == nil || len(got) == len(large) {
				t.Errorf("a response that the client does not take: %d bytes, %v", len(got), err)
			}
		})
	}
}

// The uploads of all protocols share one budget, whatever their length. An upload that does not fit
// gets a 503 with Retry-After, and it gives its part back when it ends.
func TestBodiesByEveryProtocol(t *testing.T) {
	t.Parallel()
	for way, of := range wayOf {
		t.Run(way, func(t *testing.T) {
			form := func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }
			s := newSecured(t, newSite(map[string]http.HandlerFunc{"/form": form}),
				append(of.changes(), func(c *Config) { c.ProxyAll, c.MaxBodies = true, 100<<10 })...).by(t, way)
			used := func() int64 { return s.listeners.Stats().BodiesBytes }
			post := func(length int64, body io.Reader) *http.Response {
				r, _ := http.NewRequest("POST", "http://edge.test/form", body)
				r.ContentLength = length
				resp, err := s.RoundTrip(r)
				if err != nil { // t.FailNow must not be called on this goroutine
					t.Error(err)
					return &http.Response{}
				}
				resp.Body.Close()
				return resp
			}
			first := make(chan int, 1)
			body, more := io.Pipe()
			go func() { first <- post(550<<10, body).StatusCode }()
			go more.Write(random(500 << 10))
			settled(t, "the body streams", func() bool { return used() >= 64<<10 })
			if a := post(150<<10, bytes.NewReader(random(150<<10))); a.StatusCode != http.StatusServiceUnavailable ||
				a.Header.Get("Retry-After") != "1" || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("beyond the budget: %d %v", a.StatusCode, a.Header)
			}
			if a := post(60_000, bytes.NewReader(random(60_000))); a.StatusCode != http.StatusOK {
				t.Errorf("a short body: %d", a.StatusCode)
			}
			go func() { more.Write(random(50 << 10)); more.Close() }()
			if status := <-first; status != http.StatusOK {
				t.Errorf("the first: %d", status)
			}
			settled(t, "all is given back", func() bool { return used() == 0 })
		})
	}
}
