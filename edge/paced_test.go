package edge

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
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
			p := newPaced(deadlines{}, time.Second)
			got, err := p.read(strings.NewReader(strings.Repeat("x", n)), most)
			if err != nil || len(got) != min(n, most) {
				t.Errorf("%d of %d bytes: %d, %v", most, n, len(got), err)
			}
		}
	}
}

type deadlines struct{ http.ResponseWriter }

func (deadlines) SetReadDeadline(time.Time) error { return nil }
