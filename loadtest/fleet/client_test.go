//go:build linux

package fleet

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// pair returns a client with two edges. Without a handler, the address of the second one refuses
// connections.
func pair(t *testing.T, keep bool, handlers ...http.HandlerFunc) (*client, []*edge) {
	t.Helper()
	r := &region{name: "eu"}
	for _, h := range handlers {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		if h == nil {
			s.Close()
		}
		e := &edge{node: node{process: &process{name: "eu"}, addr: s.Listener.Addr().String()}, region: r}
		e.up.Store(true)
		r.edges = append(r.edges, e)
	}
	c := &client{region: r, from: netip.MustParseAddr("127.0.0.9"), keep: keep, blind: &atomic.Bool{},
		first: time.Minute, wires: map[*edge]*wire{}}
	t.Cleanup(c.close)
	return c, r.edges
}

func says(word string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, word+" to "+r.RemoteAddr) }
}

// TestClient: requests go to the edges in turn, and to the other edge if the first one cannot be
// reached.
func TestClient(t *testing.T) {
	request := question{target: "/x"}.request(2, true)
	c, edges := pair(t, true, says("a"), nil)
	for i, again := range []bool{true, false, true} {
		a := c.ask(request)
		if a.err != nil || a.edge != edges[0] || a.again != again || !strings.HasPrefix(string(a.body), "a to 127.0.0.9:") {
			t.Errorf("request %d: %q, %v, second try: %v", i, a.body, a.err, a.again)
		}
	}
	edges[1].up.Store(false)
	for range 2 {
		if a := c.ask(request); a.err != nil || a.again {
			t.Errorf("an edge whose check failed was tried (%v)", a.err)
		}
	}
	c.blind.Store(true)
	failed := 0
	for range 4 {
		if a := c.ask(request); a.err != nil {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("a blind load balancer failed %d of 4 times, want 2", failed)
	}
}

// TestClientTriesTwice: a response is passed on whatever its status; a response that breaks off is
// not.
func TestClientTriesTwice(t *testing.T) {
	request := question{target: "/x"}.request(2, true)
	bad := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	c, _ := pair(t, true, bad, bad)
	if a := c.ask(request); a.err != nil || a.status != http.StatusBadGateway || a.again {
		t.Errorf("a 502: %d, %v, second try: %v", a.status, a.err, a.again)
	}
	c, edges := pair(t, true, says("a"), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if a := c.ask(request); a.err != nil || a.edge != edges[0] || !a.again {
		t.Errorf("a response that breaks off: %v, second try: %v", a.err, a.again)
	}
}

// TestClientKeeps: a kept connection is used again, unless the edge has closed it.
func TestClientKeeps(t *testing.T) {
	for _, keep := range []bool{true, false} {
		c, edges := pair(t, keep, says("a"), says("b"))
		request := question{target: "/x"}.request(2, keep)
		first, again := c.try(edges[0], request, time.Minute), c.try(edges[0], request, time.Minute)
		if same := string(first.body) == string(again.body); first.err != nil || same != keep {
			t.Errorf("kept: %v; %q, %q, %v", keep, first.body, again.body, first.err)
		}
	}
	c, edges := pair(t, true, says("a"), says("b"))
	ours, theirs := connected(t)
	c.wires[edges[0]] = ours
	theirs.Close()
	if _, err := ours.Read(make([]byte, 1)); err != io.EOF { // wait until the end has arrived
		t.Error(err)
	}
	if a := c.try(edges[0], question{target: "/x"}.request(2, true), time.Minute); a.err != nil {
		t.Errorf("over a connection that the edge had closed: %v", a.err)
	}
}

// connected returns the two ends of a connection.
func connected(t *testing.T) (*wire, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{TCPConn: ours.(*net.TCPConn)}
	if !w.open() {
		t.Error("an open connection without data counts as closed")
	}
	return w, theirs
}

func TestRequest(t *testing.T) {
	for _, row := range []struct {
		q    question
		n    int
		keep bool
		want string
	}{
		{question{target: "/x"}, 0, true, "GET /x HTTP/1.1\r\nHost: icons.example\r\nAccept-Encoding: gzip, br\r\n\r\n"},
		{question{target: "/x"}, 2, false, "GET /x HTTP/1.1\r\nHost: icons.example\r\nConnection: close\r\n\r\n"},
		{question{kind: ofConditional, target: "/x", etag: `"a"`}, 0, true,
			"GET /x HTTP/1.1\r\nHost: icons.example\r\nIf-None-Match: \"a\"\r\n\r\n"},
	} {
		if got := string(row.q.request(row.n, row.keep)); got != row.want {
			t.Errorf("%+v: %q, want %q", row.q, got, row.want)
		}
	}
}
