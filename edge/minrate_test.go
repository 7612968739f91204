package edge

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
)

// A request that stops, and an answer that its client does not take, have their time by every protocol, and no more.
func TestStalledByEveryProtocol(t *testing.T) {
	t.Parallel() // it waits for deadlines
	large := random(8 << 20)
	for way, of := range wayOf {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newSecured(t, newSite(map[string]http.HandlerFunc{"/large": says(string(large))}), append(of.changes(), func(c *Config) {
				c.ProxyAll, c.RequestTimeout, c.AnswerTimeout = true, 200*time.Millisecond, 50*time.Millisecond
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
				return // it was cut before its head was looked at
			}
			defer resp.Body.Close()
			settled(t, "the edge gives it up", func() bool { return sent() > before })
			if got, err := io.ReadAll(resp.Body); err == nil || len(got) == len(large) {
				t.Errorf("an answer that nobody takes: %d bytes, %v", len(got), err)
			}
		})
	}
}

// Bodies of any length come whole.
func TestPacedRead(t *testing.T) {
	for _, n := range []int{0, 1, pacedPart - 1, pacedPart, pacedPart + 1, 3 * pacedPart} {
		for _, most := range []int{1, pacedPart, 4 * pacedPart} {
			p := newMinRate(deadlines{}, time.Second)
			room := int64(0)
			got, err := p.read(strings.NewReader(strings.Repeat("x", n)), most, func(length int64) error { room = length; return nil })
			if err != nil || len(got) != min(n, most) || int64(len(got)) > room || room > int64(max(2*n, n+bodies.Free)) {
				t.Errorf("%d of %d bytes: %d, with room for %d, %v", most, n, len(got), room, err)
			}
		}
	}
}

// The long bodies of all protocols share one room: who finds it full is told to come again, short ones need none, and who is done gives his back.
func TestBodiesByEveryProtocol(t *testing.T) {
	t.Parallel()
	for way, of := range wayOf {
		t.Run(way, func(t *testing.T) {
			s := newSecured(t, newSite(map[string]http.HandlerFunc{"/form": says("ok")}), append(of.changes(), func(c *Config) { c.ProxyAll = true })...).by(t, way)
			room := s.conns.limits.Bodies
			room.Max = 600 << 10
			post := func(length int64, body io.Reader) *http.Response {
				r, _ := http.NewRequest("POST", "http://edge.test/form", body)
				r.ContentLength = length
				resp, err := s.RoundTrip(r)
				if err != nil { // not the end of a goroutine that is waited for
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
			settled(t, "500 KiB have come", func() bool { return room.Used() >= 500<<10 })
			if a := post(150<<10, bytes.NewReader(random(150<<10))); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "1" || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("where there is no room: %d %v", a.StatusCode, a.Header)
			}
			if a := post(60_000, bytes.NewReader(random(60_000))); a.StatusCode != http.StatusOK {
				t.Errorf("a short one: %d", a.StatusCode)
			}
			go func() { more.Write(random(50 << 10)); more.Close() }()
			if status := <-first; status != http.StatusOK {
				t.Errorf("the first: %d", status)
			}
			settled(t, "all is given back", func() bool { return room.Used() == 0 })
		})
	}
}

type deadlines struct{ http.ResponseWriter }

func (deadlines) SetReadDeadline(time.Time) error { return nil }
