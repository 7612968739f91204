package edge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An endlessBody has a given number of bytes, and counts those that were read.
type endlessBody struct {
	left, read atomic.Int64
}

func (b *endlessBody) Read(p []byte) (int, error) {
	n := min(int64(len(p)), b.left.Load())
	if n == 0 {
		return 0, io.EOF
	}
	b.left.Add(-n)
	b.read.Add(n)
	return int(n), nil
}

// uploads returns the ways in which a client can send a long body. The client in memory has no
// connection of the listener.
func uploads() []string { return []string{"h1 over TLS", "h2", "h2c", "h3", "reference of h2"} }

// A body goes to the origin while it arrives: its first bytes arrive there before its last ones are
// sent, and a slow origin slows the client down.
func TestUploadByEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, way := range uploads() {
		begun, more := make(chan struct{}), make(chan struct{})
		s := newSecured(t, newSite(map[string]http.HandlerFunc{"/put": func(w http.ResponseWriter, r *http.Request) {
			io.ReadFull(r.Body, make([]byte, 1000))
			close(begun)
			<-more
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n+1000, " ", err)
		}}), append(wayOf[way].changes(), func(c *Config) { c.ProxyAll = true })...).by(t, way)
		body := &endlessBody{}
		const size = 32 << 20 // more than all buffers between the client and the origin
		body.left.Store(size)
		done := make(chan string)
		go func() { done <- s.call(t, http.MethodPut, "/put", "", body) }()
		<-begun
		if n := body.read.Load(); n == size {
			t.Errorf("%s: the client has sent all, although the origin has read nothing", way)
		}
		body.left.Store(1 << 20) // the rest would take seconds under the race detector
		close(more)
		if got := <-done; !strings.HasSuffix(strings.TrimSpace(got), fmt.Sprint(body.read.Load(), " <nil>")) {
			t.Errorf("%s: %d bytes were sent: %.300q", way, body.read.Load(), got)
		}
	}
}

// The origin's refusal of a body reaches the client, although the body is not sent to its end.
func TestUploadIsRefusedByEveryProtocol(t *testing.T) {
	t.Parallel()
	origin := newSite(map[string]http.HandlerFunc{"/put": func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "not here", http.StatusForbidden)
	}})
	for _, limit := range []int64{0, 1 << 20} {
		for _, way := range uploads() {
			s := newSecured(t, origin, append(wayOf[way].changes(), func(c *Config) { c.ProxyAll, c.MaxBody = true, limit })...).by(t, way)
			body := &endlessBody{}
			body.left.Store(1 << 40)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://edge.test/put", body)
			must(t, err)
			r.ContentLength = 1 << 40
			want := http.StatusForbidden
			if limit > 0 {
				want = http.StatusRequestEntityTooLarge
			}
			resp, err := s.RoundTrip(r)
			if err != nil || resp.StatusCode != want {
				t.Errorf("%s, limit %d: %v, %v, want %d", way, limit, resp, err, want)
				continue
			}
			resp.Body.Close()
		}
	}
}

// A body of unknown length that becomes too long is refused with a 413.
func TestMaxBody(t *testing.T) {
	t.Parallel()
	origin := newSite(map[string]http.HandlerFunc{"/put": func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, " ", err)
	}})
	for _, way := range uploads() {
		s := newSecured(t, origin, append(wayOf[way].changes(), func(c *Config) { c.ProxyAll, c.MaxBody = true, 1<<20 })...).by(t, way)
		for size, want := range map[int64]int{10: 200, 1 << 20: 200, 1<<20 + 1: 413} {
			body := &endlessBody{}
			body.left.Store(size)
			if got := s.call(t, http.MethodPut, "/put", "", body); !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d\r\n", want)) {
				t.Errorf("%s, %d bytes: %.200q, want %d", way, size, got, want)
			}
		}
	}
}

// The origin decides about a body that the client announces: its 100 reaches the client, or its
// refusal, without the body.
func TestExpect(t *testing.T) {
	ln := listenTest(t)
	defer ln.Close()
	origin := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %v", r.Header.Get("Expect"), b, err)
	})}
	go origin.Serve(ln)
	defer origin.Close()
	w := newRawEdge(t, true, func(c *Config) { c.Origins = nil; must(t, c.Origins.Set("http://"+ln.Addr().String())) })
	for _, coding := range []string{"Content-Length: 5", "Transfer-Encoding: chunked"} {
		body := "hello"
		if strings.Contains(coding, "chunked") {
			body = "5\r\nhello\r\n0\r\n\r\n"
		}
		for target, want := range map[string][]string{"/yes": {"HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"},
			"/no": {"HTTP/1.1 403 Forbidden"}} {
			c, err := net.Dial("tcp", w.public)
			must(t, err)
			defer c.Close()
			must(t, c.SetDeadline(time.Now().Add(longEnough)))
			io.WriteString(c, "POST "+target+" HTTP/1.1\r\nHost: edge.test\r\nExpect: 100-continue\r\n"+coding+"\r\n\r\n")
			r := bufio.NewReader(c)
			for _, line := range want {
				got, err := r.ReadString('\n')
				if strings.TrimSpace(got) != line || err != nil {
					t.Errorf("%s, %s: %q, %v, want %q", coding, target, got, err, line)
				}
				if strings.Contains(line, "100") {
					r.ReadString('\n')
					io.WriteString(c, body)
				}
			}
			rest, _ := io.ReadAll(io.LimitReader(r, 1)) // more follows
			if all, _ := r.Peek(r.Buffered()); target == "/yes" && !strings.Contains(string(rest)+string(all), "100-continue hello <nil>") {
				t.Errorf("%s: the origin saw %q", coding, all)
			}
		}
	}
}

// A thousand clients of a stream of events all get their events, and keep neither a hit nor a miss
// from being answered, although an origin gets only a quarter as many requests at a time.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	const clients = manyClients
	open := make(chan struct{})
	origin := newSite(map[string]http.HandlerFunc{
		"/events": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
			fmt.Fprint(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			<-open
			fmt.Fprint(w, "data: 2\n\n")
		},
		"/hit":  says("hit", "Cache-Control", "max-age=600"),
		"/miss": says("miss", "Cache-Control", "no-store"),
	})
	s := newSecured(t, origin, func(c *Config) { c.ProxyAll, c.MaxConnectionsPerClient, c.OriginConns = true, 2*clients, clients/4 })
	e := s.by(t, "h1")
	var first, all sync.WaitGroup
	for range clients {
		first.Add(1)
		all.Go(func() {
			c, err := net.Dial("tcp", s.plain)
			if err != nil {
				t.Error(err)
				first.Done()
				return
			}
			defer c.Close()
			io.WriteString(c, "GET /events HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n")
			r := bufio.NewReader(c)
			var head strings.Builder
			for line := ""; err == nil && line != "data: 1\n"; head.WriteString(line) {
				line, err = r.ReadString('\n')
			}
			first.Done()
			b, _ := io.ReadAll(r)
			if err != nil || !strings.Contains(string(b), "data: 2") {
				t.Errorf("a client did not get its events: %v, %q, then %q", err, head.String(), b)
			}
		})
	}
	first.Wait()
	for range 2 {
		for _, target := range []string{"/hit", "/miss"} {
			if a := e.get(t, target); a.StatusCode != 200 || a.body != target[1:] {
				t.Errorf("%s beside the streams: %d %q", target, a.StatusCode, a.body)
			}
		}
	}
	close(open)
	all.Wait()
}
