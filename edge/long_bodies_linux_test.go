package edge

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// bigIcons is an origin of icons that are as long as their names say, in KiB, and do not get
// smaller by a coding.
func bigIcons(w http.ResponseWriter, r *http.Request) {
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/big/of-%d.svg", &n); err != nil {
		owntest.NewOrigin().ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("ETag", fmt.Sprintf(`"big%d"`, n))
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for range n << 10 / 16 {
		fmt.Fprintf(w, "%016x", random.Uint64())
	}
}

// An event loop writes bodies of up to 256 kB itself, as the pipeline would, also if they are in
// the middle of other responses and the client reads with a small window.
func TestLoopWritesLongBodies(t *testing.T) {
	e := newEdgeTest(t, http.HandlerFunc(bigIcons))
	targets := []string{"/big/of-1.svg", "/big/of-31.svg", "/big/of-33.svg", "/big/of-200.svg", "/big/of-250.svg", "/big/of-257.svg"}
	for i, target := range targets {
		e.get(t, target)
		if a := e.get(t, target); !strings.Contains(a.Header.Get("Cache-Status"), "hit") {
			t.Fatalf("%s: %q", target, a.Header)
		}
		q := ready(target)
		q.AcceptEncoding = nil
		q.TakesBody = true
		if _, ok := e.Answer(nil, q); ok != (i < 5) || (q.Body != nil) != (i >= 2 && i < 5) {
			t.Errorf("%s: on the hit path %v, with a body of %d bytes apart", target, ok, len(q.Body))
		}
		q.TakesBody, q.Body = false, nil
		if _, ok := e.Answer(nil, q); ok != (i < 2) {
			t.Errorf("%s: on the hit path %v although the body must follow the head", target, ok)
		}
	}
	var requests strings.Builder
	for range 4 {
		for _, target := range targets[:5] {
			requests.WriteString("GET " + target + " HTTP/1.1\r\nHost: edge.test\r\n\r\n")
		}
	}
	requests.WriteString("GET " + targets[5] + " HTTP/1.1\r\nHost: edge.test\r\n\r\n" + last)
	serve := func(h listen.Handler, loop listen.Loop) (address string) {
		ln := listenTest(t)
		e.serveToo(t, ln, h, func(o *listen.Options) { o.Capacity.Loop = loop })
		return ln.Addr().String()
	}
	got := uncountedAll(askSlowly(t, serve(e.Proxy, listen.LoopOn), requests.String()))
	if want := uncountedAll(ask(t, serve(pipelineOnly{e.Proxy}, listen.LoopOff), requests.String())); got != want {
		n := 0
		for n < min(len(got), len(want)) && got[n] == want[n] {
			n++
		}
		t.Errorf("%d and %d bytes differ after %q: %.300q and %.300q", len(got), len(want), got[max(0, n-50):n], got[n:], want[n:])
	}
}

// askSlowly is ask with a small window.
func askSlowly(t *testing.T, address, request string) string {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 64<<10) })
		return err
	}}
	c, err := d.Dial("tcp", address)
	must(t, err)
	defer c.Close()
	go io.WriteString(c, request)
	c.SetReadDeadline(time.Now().Add(longEnough))
	var all strings.Builder
	for p := make([]byte, 40_000); ; {
		n, err := c.Read(p)
		all.Write(p[:n])
		if err == io.EOF {
			return all.String()
		}
		must(t, err)
	}
}

// uncountedAll is uncounted for several responses.
func uncountedAll(s string) string {
	var b strings.Builder
	for one := range strings.SplitSeq(s, "HTTP/1.1 200 OK\r\n") {
		b.WriteString(uncounted(one))
	}
	return b.String()
}
