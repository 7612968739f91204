package edge

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/internal/certs/certstest"
)

// A passwordEdge is an edge with a site behind a password. The hash of it is dear enough that a
// queue of 200 comparisons would last for many seconds.
type passwordEdge struct {
	*fileEdge
	htpasswd string
}

const dearCost = 14 - 3*raceFactor // a comparison takes ten times as long under the race detector

func newPasswordEdge(t *testing.T, args ...string) *passwordEdge {
	t.Helper()
	e := &passwordEdge{htpasswd: filepath.Join(t.TempDir(), "htpasswd")}
	e.users(t, "secret", dearCost)
	e.fileEdge = newFileEdge(t, "version: 1\nsites:\n- name: a\n  hosts: [a.test]\n  origins: {app: {urls: "+
		"[\"http://10.0.0.5:80\"]}}\n  origin: app\n  rules:\n  - auth: {basic: \""+e.htpasswd+"\"}\n",
		append(args, "--trusted-proxies=127.0.0.0/8")...)
	return e
}

// users writes a file with the user ann.
func (e *passwordEdge) users(t *testing.T, password string, cost int) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	must(t, err)
	must(t, os.WriteFile(e.htpasswd, fmt.Appendf(nil, "ann:%s\n", hash), 0o600))
}

func basicAuth(userinfo string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(userinfo))
}

// login sends a request of ann, from another address than the tests' guesses, and returns its
// status.
func (e *passwordEdge) login(t *testing.T, password string) int {
	t.Helper()
	resp, _ := e.ask(t, "GET http://a.test/fresh", "Authorization", basicAuth("ann:"+password), "X-Forwarded-For", "198.51.100.1")
	return resp.StatusCode
}

// loginAfter is login after others' guesses. It tries again while the edge asks it to, because a
// comparison may take longer on a busy machine than the edge lets a client wait. How many
// comparisons there were shows whether it has waited for those of the others.
func (e *passwordEdge) loginAfter(t *testing.T) (status int) {
	t.Helper()
	settled(t, "the edge has a verdict", func() bool {
		status = e.login(t, "secret")
		return status != http.StatusServiceUnavailable
	})
	return status
}

const (
	comparisons = "iconedge_edge_password_comparisons_total"
	waiting     = "iconedge_edge_password_checks_waiting"

	mayWait = 64 // passwords of one client
)

// TestHostilePasswords: 200 wrong passwords, sent and abandoned at once, cost a few comparisons,
// and the next login does not wait for the others.
func TestHostilePasswords(t *testing.T) {
	const sent = 200
	cert, key := certstest.Pair(t, t.TempDir(), "a", "a", "a.test")
	reset := func(f *http2.Framer, stream uint32) { f.WriteRSTStream(stream, http2.ErrCodeCancel) }
	for name, row := range map[string]struct {
		args []string
		send func(t *testing.T, e *passwordEdge)
	}{
		"h1 on a loop, closed": {nil, func(t *testing.T, e *passwordEdge) { e.sendAndClose(t, sent, "") }},
		"h1 on a loop, closed behind unread bytes": {nil,
			func(t *testing.T, e *passwordEdge) { e.sendAndClose(t, sent, "GET / HTTP/1.1\r\n") }},
		"h1 without loops, closed": {[]string{"--loop=off"}, func(t *testing.T, e *passwordEdge) { e.sendAndClose(t, sent, "") }},
		"h2 on a loop, closed":     {nil, func(t *testing.T, e *passwordEdge) { e.sendStreams(t, sent, func(*http2.Framer, uint32) {}) }},
		"h2 on a loop, reset":      {nil, func(t *testing.T, e *passwordEdge) { e.sendStreams(t, sent, reset) }},
		"h2 without loops, reset":  {[]string{"--loop=off"}, func(t *testing.T, e *passwordEdge) { e.sendStreams(t, sent, reset) }},
		"h3, reset": {[]string{"--tls-listen=127.0.0.1:0", "--tls-cert=" + cert, "--tls-key=" + key},
			func(t *testing.T, e *passwordEdge) { e.sendOverQUIC(t, sent) }},
	} {
		t.Run(name, func(t *testing.T) {
			e := newPasswordEdge(t, row.args...)
			row.send(t, e)
			if status := e.loginAfter(t); status != http.StatusOK {
				t.Errorf("the next login: %d", status)
			}
			if n := e.metric(t, comparisons); n < 1 || n > sent/10 {
				t.Errorf("%v comparisons for %d abandoned passwords and one login", n, sent)
			}
			settled(t, "nothing waits", func() bool { return e.metric(t, waiting) == 0 })
			before := e.metric(t, comparisons)
			if status := e.login(t, "secret"); status != http.StatusOK || e.metric(t, comparisons) != before {
				t.Errorf("the login after it: %d, %v comparisons more", status, e.metric(t, comparisons)-before)
			}
		})
	}
}

// wrong is the head of a request with a wrong password.
func wrong(i int) string {
	return "GET / HTTP/1.1\r\nHost: a.test\r\nAuthorization: " + basicAuth(fmt.Sprint("ann:", i)) + "\r\n\r\n"
}

// sendAndClose sends wrong passwords over connections of their own, with more bytes behind, and
// closes them.
func (e *passwordEdge) sendAndClose(t *testing.T, n int, behind string) {
	t.Helper()
	for i := range n {
		c, err := net.Dial("tcp", e.cfg.Listener.Addr().String())
		must(t, err)
		_, err = io.WriteString(c, wrong(i)+behind)
		must(t, err)
		c.Close()
	}
}

// sendStreams sends wrong passwords over connections of HTTP/2, each on a stream of its own, and
// ends each connection when the edge has read all of them.
func (e *passwordEdge) sendStreams(t *testing.T, n int, end func(*http2.Framer, uint32)) {
	t.Helper()
	const each = 100
	for at := 0; at < n; at += each {
		c, err := net.Dial("tcp", e.cfg.Listener.Addr().String())
		must(t, err)
		_, err = io.WriteString(c, http2.ClientPreface)
		must(t, err)
		f := http2.NewFramer(c, c)
		must(t, f.WriteSettings())
		var block bytes.Buffer
		fields := hpack.NewEncoder(&block)
		for i := range each {
			block.Reset()
			for _, one := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "a.test"},
				{":path", "/"}, {"authorization", basicAuth(fmt.Sprint("ann:", at+i))}} {
				must(t, fields.WriteField(hpack.HeaderField{Name: one[0], Value: one[1]}))
			}
			must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(),
				EndStream: true, EndHeaders: true}))
		}
		must(t, f.WritePing(false, [8]byte{}))
		for read := false; !read; {
			frame, err := f.ReadFrame()
			must(t, err)
			ping, ok := frame.(*http2.PingFrame)
			read = ok && ping.IsAck()
		}
		for i := range each {
			end(f, uint32(2*i+1))
		}
		c.Close()
	}
}

// sendOverQUIC sends wrong passwords over HTTP/3, as many at a time as may wait, and resets their
// streams.
func (e *passwordEdge) sendOverQUIC(t *testing.T, n int) {
	t.Helper()
	client := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "a.test"},
		Dial: func(ctx context.Context, _ string, config *tls.Config, q *quic.Config) (*quic.Conn, error) {
			return quic.DialAddrEarly(ctx, e.sockets.TLS.Addr().String(), config, q)
		}}
	defer client.Close()
	for at := 0; at < n; at += mayWait {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range mayWait {
			all.Go(func() {
				q, err := http.NewRequestWithContext(ctx, "GET", "https://a.test/", nil)
				if err != nil {
					t.Error(err)
					return
				}
				q.Header.Set("Authorization", basicAuth(fmt.Sprint("ann:", at+i)))
				if resp, err := client.RoundTrip(q); err == nil {
					resp.Body.Close()
				}
			})
		}
		settled(t, "passwords wait", func() bool { return e.metric(t, waiting) > mayWait/2 })
		cancel()
		all.Wait()
		settled(t, "none waits", func() bool { return e.metric(t, waiting) == 0 })
	}
}

// TestTooManyPasswords: more passwords of an address than may wait are a 429, with Retry-After.
func TestTooManyPasswords(t *testing.T) {
	const sent = mayWait + 40
	e := newPasswordEdge(t)
	var conns []net.Conn
	for i := range sent {
		c, err := net.Dial("tcp", e.cfg.Listener.Addr().String())
		must(t, err)
		defer c.Close()
		_, err = io.WriteString(c, wrong(i))
		must(t, err)
		conns = append(conns, c)
	}
	settled(t, "some are refused", func() bool { return e.metric(t, `iconedge_edge_password_checks_total{result="client"}`) > 0 })
	refused := 0
	for _, c := range conns[:10] { // the oldest
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode == http.StatusUnauthorized {
			continue
		}
		refused++
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "5" ||
			resp.Header.Get("Cache-Control") != "no-store" ||
			resp.Header.Get("Www-Authenticate") != "" || !strings.Contains(string(body), "of this address are waiting") {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
	}
	if refused == 0 {
		t.Error("none of the oldest was refused")
	}
	if status := e.loginAfter(t); status != http.StatusOK {
		t.Errorf("a user of another address: %d", status)
	}
}

// TestRotatedPasswords: a reload with another hash forgets the verdicts about the user, and keeps
// those about hashes that have not changed.
func TestRotatedPasswords(t *testing.T) {
	e := newPasswordEdge(t)
	e.users(t, "first", bcrypt.MinCost)
	must(t, e.sites.Reload())
	expect := func(password string, status int, compared float64) {
		t.Helper()
		before := e.metric(t, comparisons)
		if got := e.login(t, password); got != status || e.metric(t, comparisons)-before != compared {
			t.Errorf("%s: %d after %v comparisons, want %d after %v", password, got, e.metric(t, comparisons)-before, status, compared)
		}
	}
	expect("first", 200, 1)
	expect("second", 401, 1)
	expect("second", 401, 0)
	must(t, e.sites.Reload())
	expect("first", 200, 0)
	e.users(t, "second", bcrypt.MinCost)
	expect("first", 200, 0) // until the reload
	must(t, e.sites.Reload())
	expect("first", 401, 1)
	expect("second", 200, 1)
	e.users(t, "second", bcrypt.MinCost) // with another salt
	must(t, e.sites.Reload())
	expect("second", 200, 1)
}
