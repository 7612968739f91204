package attacks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// An attack uses a connection in some hostile way, until ctx ends or the edge closes it; then it
// opens another.
type attack struct {
	name        string
	connections int           // at a time, in the full form
	pause       time.Duration // before it reopens a connection that was closed
	do          func(ctx context.Context, c *net.TCPConn) error
	secure      bool // it attacks the TLS listener
	// instead of do, over UDP
	over func(ctx context.Context, from net.IP, address string) error
}

const (
	home    = "Host: edge.test\r\n"
	hit     = "GET /hot HTTP/1.1\r\n" + home + "\r\n"
	posting = "POST /echo HTTP/1.1\r\n" + home
	upgrade = "GET /tunnel HTTP/1.1\r\n" + home + "Connection: Upgrade\r\nUpgrade: attack\r\n\r\n"
	flooded = "GET /tunnel/flood HTTP/1.1\r\n" + home + "Connection: Upgrade\r\nUpgrade: attack\r\n\r\n"
	trailer = posting + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
)

// attacks lists ways to exhaust an edge; quic_test.go adds those over QUIC. Each source address
// opens up to 900 connections.
var attacks = []attack{
	{name: "connections that say nothing", connections: 5000, pause: time.Second, do: silent("")},
	{name: "connections that ask once and stay", connections: 5000, pause: time.Second, do: silent(hit)},
	{name: "heads, a byte a second", connections: 2000, pause: time.Second, do: dripping("GET /hot HTTP/1.1\r\nX: ", "a")},
	{name: "bodies, a byte a second", connections: 2000, pause: time.Second, do: dripping(posting+"Content-Length: 8000000\r\n\r\n", "a")},
	{name: "chunks, a byte a second", connections: 2000, pause: time.Second,
		do: dripping(posting+"Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n")},
	{name: "answers of 1 MiB that nobody reads", connections: 500, pause: time.Second,
		do: unread("GET /large HTTP/1.1\r\n"+home+"\r\n", 1)},
	{name: "answers of 1 MiB, a byte a second", connections: 500, pause: time.Second,
		do: slowlyRead("GET /large HTTP/1.1\r\n" + home + "\r\n")},
	{name: "requests in a row, no answer read", connections: 50, pause: 100 * time.Millisecond,
		do: unread(strings.Repeat(hit, 100), 10_000)},
	{name: "connections made and closed", connections: 16, pause: 10 * time.Millisecond,
		do: func(context.Context, *net.TCPConn) error { return net.ErrClosed }},
	{name: "connections closed in a request", connections: 16, pause: 10 * time.Millisecond, do: sendAndClose("GET /ho")},
	{name: "connections closed before the answer", connections: 16, pause: 10 * time.Millisecond, do: sendAndClose(hit)},
	{name: "connections half closed", connections: 1000, pause: time.Second, do: halfClosed},
	{name: "heads that are too long", connections: 16, pause: 10 * time.Millisecond,
		do: unread("GET /hot HTTP/1.1\r\nX: "+strings.Repeat("a", 20_000)+"\r\n\r\n", 1)},
	{name: "long bodies, all at once", connections: 200, pause: time.Second,
		do: dripping(posting+"Content-Length: 8000000\r\n\r\n", strings.Repeat("a", 300_000))},
	{name: "cold calls while the origin is stuck", connections: 3000, pause: time.Second, do: cold},
	{name: "cold calls that the origin answers", connections: 50, pause: time.Second, do: coldAndQuick},
	{name: "uploads of 100 MB, a byte a second", connections: 5000, pause: time.Second,
		do: dripping(posting+"Content-Length: 100000000\r\n\r\n", "a")},
	{name: "uploads that the origin does not read", connections: 200, pause: time.Second,
		do: pouring("POST /stuck/upload HTTP/1.1\r\n" + home + "Content-Length: 100000000\r\n\r\n")},
	{name: "uploads with endless trailer fields", connections: 200, pause: time.Second,
		do: dripping(trailer, strings.Repeat("X: aaaaaaaaa\r\n", 50))},
	{name: "tunnels that stay silent", connections: 2000, pause: time.Second, do: silent(upgrade)},
	{name: "tunnels opened and left", connections: 16, pause: 10 * time.Millisecond, do: answeredAndClosed(upgrade)},
	{name: "tunnels whose bytes nobody reads", connections: 500, pause: time.Second, do: unread(flooded, 1)},
	{name: "requests behind an upgrade", connections: 16, pause: 10 * time.Millisecond,
		do: answeredAndClosed(upgrade + hit + "GET /hidden HTTP/1.1\r\n" + home + "\r\n")},
	{name: "events that nobody reads", connections: 500, pause: time.Second, do: unread("GET /events HTTP/1.1\r\n"+home+"\r\n", 1)},
	{name: "h2: pings and no requests", connections: 4500, pause: time.Second, do: framesOnly(pings)},
	{name: "h2: windows, settings and priorities, and no requests", connections: 2000, pause: time.Second, do: framesOnly(windows)},
	{name: "h2: frames of control, without a pause", connections: 16, pause: 10 * time.Millisecond, do: flooding(windows)},
	{name: "h2: padding, without a pause", connections: 16, pause: 10 * time.Millisecond, do: flooding(padding)},
	{name: "h2: requests that are reset", connections: 16, pause: 10 * time.Millisecond, do: flooding(resets)},
	{name: "h2: header blocks without end", connections: 16, pause: 10 * time.Millisecond, do: flooding(continuations)},
	{name: "h2: header lists that unfold", connections: 16, pause: 10 * time.Millisecond, do: flooding(bombs)},
	{name: "h2: half a head, and pings", connections: 2000, pause: time.Second, do: framesOnly(endlessHead)},
	{name: "h2: bodies, a byte a second", connections: 2000, pause: time.Second, do: framesOnly(slowBodies)},
	{name: "h2: answers whose window stays shut", connections: 500, pause: time.Second, do: framesOnly(closedWindow)},
	{name: "h2: tunnels that stay silent", connections: 500, pause: time.Second, do: framesOnly(connects)},
	{name: "TLS: handshakes and no more", connections: 8, pause: 10 * time.Millisecond, do: handshakes, secure: true},
	{name: "TLS: half a handshake", connections: 2000, pause: time.Second, do: silent("\x16\x03\x01\x02\x00\x01"), secure: true},
	{name: "TLS: connections that stay", connections: 500, pause: time.Second, do: idleAfterHandshake, secure: true},
}

// silent sends the beginning of a request, and waits.
func silent(first string) func(context.Context, *net.TCPConn) error {
	return func(_ context.Context, c *net.TCPConn) error {
		io.WriteString(c, first)
		_, err := io.Copy(io.Discard, c)
		return err
	}
}

// dripping sends the beginning of a request, and then one piece a second.
func dripping(first, piece string) func(context.Context, *net.TCPConn) error {
	return func(ctx context.Context, c *net.TCPConn) error {
		_, err := io.WriteString(c, first)
		for tick := time.NewTicker(time.Second); err == nil; _, err = io.WriteString(c, piece) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
		return err
	}
}

// pouring sends the beginning of a request, and then as many bytes as the edge takes.
func pouring(first string) func(context.Context, *net.TCPConn) error {
	return func(_ context.Context, c *net.TCPConn) error {
		_, err := io.WriteString(c, first)
		for piece := make([]byte, 64<<10); err == nil; {
			_, err = c.Write(piece)
		}
		return err
	}
}

// answeredAndClosed sends something, reads the beginning of a response, and closes.
func answeredAndClosed(s string) func(context.Context, *net.TCPConn) error {
	return func(_ context.Context, c *net.TCPConn) error {
		if _, err := io.WriteString(c, s); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 4<<10))
		return err
	}
}

// unread sends requests several times, and reads nothing.
func unread(s string, times int) func(context.Context, *net.TCPConn) error {
	return func(ctx context.Context, c *net.TCPConn) error {
		c.SetReadBuffer(4 << 10)
		for range times {
			if _, err := io.WriteString(c, s); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(35 * time.Second): // the edge has reset it by then
		}
		return nil
	}
}

// slowlyRead sends a request, and reads the response at a byte a second.
func slowlyRead(s string) func(context.Context, *net.TCPConn) error {
	return func(ctx context.Context, c *net.TCPConn) error {
		c.SetReadBuffer(4 << 10)
		io.WriteString(c, s)
		return readSlowly(ctx, c)
	}
}

// readSlowly reads a byte each second until the edge resets the connection.
func readSlowly(ctx context.Context, c *net.TCPConn) error {
	p := make([]byte, 1)
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if _, err := c.Read(p); err != nil {
			return err
		}
	}
}

// sendAndClose sends something, and closes.
func sendAndClose(s string) func(context.Context, *net.TCPConn) error {
	return func(_ context.Context, c *net.TCPConn) error {
		_, err := io.WriteString(c, s)
		return err
	}
}

// halfClosed sends a request, closes its side for writing, and does not read the response.
func halfClosed(ctx context.Context, c *net.TCPConn) error {
	c.SetReadBuffer(4 << 10)
	io.WriteString(c, "GET /large HTTP/1.1\r\n"+home+"\r\n")
	c.CloseWrite()
	return readSlowly(ctx, c)
}

// cold requests a path that is not cached, and that the origin does not answer.
func cold(ctx context.Context, c *net.TCPConn) error {
	for i := 0; ctx.Err() == nil; i++ {
		fmt.Fprintf(c, "GET /stuck/%s/%d HTTP/1.1\r\n%s\r\n", c.LocalAddr(), i, home)
		if _, err := c.Read(make([]byte, 4<<10)); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return ctx.Err()
}

// targets holds the addresses of the attacked edge.
type targets struct{ plain, secure string }

func targetsOf(e *harness.Server) targets { return targets{e.Address("public"), e.Address("tls")} }

// run carries out an attack with a number of connections, until ctx ends.
func (a attack) run(ctx context.Context, to targets, connections int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range connections {
		wg.Go(func() {
			from := net.IPv4(127, 0, 1, byte(2+i/900))
			for ctx.Err() == nil {
				a.connect(ctx, from, to)
				select {
				case <-ctx.Done():
				case <-time.After(a.pause):
				}
			}
		})
	}
}

// asAttacker is the environment variable that makes the test binary an attacker: the index of the
// attack in the list, and its targets.
const asAttacker = "ICONEDGE_TEST_AS_ATTACKER"

// start carries out an attack in another process, with the lowest priority, so that its own cost is
// not counted as the edge's.
func (a attack) start(t *testing.T, to targets) (callOff func()) {
	t.Helper()
	i := slices.IndexFunc(attacks, func(b attack) bool { return a.name == b.name })
	args := []string{os.Args[0], "-test.run=^TestAsAttacker$"}
	if nice, err := exec.LookPath("nice"); err == nil {
		args = append([]string{nice, "-n", "19"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s", asAttacker, i, to.plain, to.secure))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	callOff = sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
	t.Cleanup(callOff)
	return callOff
}

// TestAsAttacker is not a test but the process that attack.start starts.
func TestAsAttacker(t *testing.T) {
	var i int
	var to targets
	if _, err := fmt.Sscan(os.Getenv(asAttacker), &i, &to.plain, &to.secure); err != nil {
		t.Skip("only TestAttacks starts it")
	}
	attacks[i].run(t.Context(), to, attacks[i].connections)
}

// connect opens one connection. It resets it in the end, so that no port stays in use.
func (a attack) connect(ctx context.Context, from net.IP, to targets) {
	if a.over != nil {
		a.over(ctx, from, to.secure)
		return
	}
	address := to.plain
	if a.secure {
		address = to.secure
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	c := conn.(*net.TCPConn)
	c.SetLinger(0)
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	a.do(ctx, c)
}

// startOrigin starts an origin that answers the paths of the attacks, and hangs on those below
// /stuck.
func startOrigin(t *testing.T) string {
	t.Helper()
	large := strings.Repeat("0123456789abcdef", 1<<16)
	stuck := make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		switch {
		case r.URL.Path == "/hot":
			io.WriteString(w, "hot")
		case r.URL.Path == "/small":
			io.WriteString(w, large[:2000])
		case r.URL.Path == "/large":
			io.WriteString(w, large)
		case r.URL.Path == "/medium":
			io.WriteString(w, large[:60_000])
		case strings.HasPrefix(r.URL.Path, "/tunnel"):
			switchAndStay(w, r.URL.Path == "/tunnel/flood")
		case r.URL.Path == "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
			for err := error(nil); err == nil && r.Context().Err() == nil; {
				_, err = io.WriteString(w, "data: "+large[:1000]+"\n\n")
			}
		case strings.HasPrefix(r.URL.Path, "/stuck/"):
			select {
			case <-stuck:
			case <-r.Context().Done():
			}
		default:
			io.Copy(w, r.Body)
		}
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(ln)
	t.Cleanup(func() { close(stuck); s.Close() })
	return "http://" + ln.Addr().String()
}

// switchAndStay switches to another protocol, and either reads to the end or also writes without
// end.
func switchAndStay(w http.ResponseWriter, floods bool) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, err = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: attack\r\n\r\n")
	for piece := make([]byte, 16<<10); floods && err == nil; {
		_, err = c.Write(piece)
	}
	io.Copy(io.Discard, c)
}

// startEdge starts the edge to attack. It has room for fewer connections than the attackers open.
func startEdge(t *testing.T, more ...string) *harness.Server {
	t.Helper()
	cert, key := certstest.Pair(t, t.TempDir(), "edge", "edge", "edge.test")
	e := harness.Start(t, t.TempDir(), append([]string{"edge", "--proxy-all", "--icons", "on", "--origin",
		startOrigin(t), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--tls-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--max-connections", "4000",
		"--origin-timeout", "5s"}, more...)...)
	for _, path := range []string{"/hot", "/small", "/medium", "/large"} {
		harness.Eventually(t, path+" is cached", func() bool {
			resp, _ := harness.Get(t, e.Address("public"), path)
			return resp.StatusCode == http.StatusOK
		})
	}
	return e
}

// TestAttacks carries out every attack, and measures a well-behaved client meanwhile. With
// ICONEDGE_ATTACKS=1 each attack takes its full time, and the test prints its cost; without it the
// attack is small, and the test only checks that the client is answered.
func TestAttacks(t *testing.T) {
	full := os.Getenv("ICONEDGE_ATTACKS") != ""
	e := startEdge(t)
	other := e
	if full {
		other = startEdge(t)
	}
	var table []string
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			if !full {
				a.short(t, e)
				return
			}
			table = append(table, a.full(t, e, other))
		})
	}
	if full {
		fmt.Printf("| attack | connections | calls of a client that behaves | answered | p99 in quiet | beside an "+
			"attack on another edge | under attack | memory before | at most | descriptors at most |\n"+
			"|---|---|---|---|---|---|---|---|---|---|\n%s\n", strings.Join(table, "\n"))
	}
}

// short carries out the short form.
func (a attack) short(t *testing.T, e *harness.Server) {
	attacking, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.run(attacking, targetsOf(e), min(a.connections, 40)) }()
	ctx, enough := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer enough()
	b := runClient(ctx, e.Address("public"), harness.Longest)
	stop()
	<-done
	if b.failed > 0 {
		t.Errorf("%d calls, of which %d got no response: %v", b.calls, b.failed, b.example)
	}
}

const (
	quietFor  = 3 * time.Second // before, and after
	gatherFor = 3 * time.Second // until all connections of an attack are open
	besideFor = 5 * time.Second // beside an attack on another edge
	attackFor = 20 * time.Second

	leastAnswered = 0.999
	mostFactor    = 2
	slice         = 5 * time.Millisecond // below it the kernel's scheduler decides, not the edge
	mostMemory    = 1 << 30              // bytes
)

// full carries out the full form, and returns a row of the table. It also measures the client
// while the same attackers attack another edge: that is what they cost the machine, and the
// difference is what they cost the edge. No limit applies to that part.
func (a attack) full(t *testing.T, e, other *harness.Server) string {
	during := func(d time.Duration) clientResult {
		ctx, stop := context.WithTimeout(t.Context(), d)
		defer stop()
		return runClient(ctx, e.Address("public"), 10*time.Second)
	}
	quiet := during(quietFor)
	calledOff := a.start(t, targetsOf(other))
	during(gatherFor)
	beside := during(besideFor)
	calledOff()
	time.Sleep(quietFor) // until the other edge has closed the remaining connections
	before := footprint(e.Cmd.Process.Pid)
	ctx, stop := context.WithCancel(t.Context())
	calledOff = a.start(t, targetsOf(e))
	peak := watchFootprint(ctx, e.Cmd.Process.Pid)
	early := during(gatherFor)
	under := during(attackFor)
	calledOff()
	stop()
	most := <-peak
	// other programs of the machine are not the attack's doing
	quiet.took = append(quiet.took, during(quietFor).took...)
	under.calls, under.failed, under.example = under.calls+early.calls, under.failed+early.failed, cmp.Or(under.example, early.example)
	answered := 1 - float64(under.failed)/float64(max(under.calls, 1))
	// The attackers have the same two cores as the edge, so their own load is part of the baseline.
	allowed := max(mostFactor*max(quiet.p99(), beside.p99()), slice)
	if answered < leastAnswered || under.p99() > allowed || most.memory > mostMemory {
		t.Errorf("%d of %d calls got no response (%v); p99 %v without an attack, %v beside one, %v under attack; %d MB", under.failed,
			under.calls, under.example, quiet.p99(), beside.p99(), under.p99(), most.memory>>20)
	}
	round := func(b clientResult) time.Duration { return b.p99().Round(10 * time.Microsecond) }
	return fmt.Sprintf("| %s | %d | %d | %.2f %% | %v | %v | %v | %d MB | %d MB | %d |", a.name, a.connections, under.calls, 100*answered,
		round(quiet), round(beside), round(under), before.memory>>20, most.memory>>20, most.descriptors)
}
