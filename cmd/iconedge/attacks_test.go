package main

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
)

// An attack is what somebody does with a connection, until ctx ends or the edge closes it; then he makes another.
type attack struct {
	name        string
	connections int           // at a time, of the full form
	pause       time.Duration // before a connection that was closed is made anew
	do          func(ctx context.Context, c *net.TCPConn) error
}

const (
	home    = "Host: edge.test\r\n"
	hit     = "GET /hot HTTP/1.1\r\n" + home + "\r\n"
	posting = "POST /echo HTTP/1.1\r\n" + home
)

// attacks are kinds of exhaustion. 5,000 connections come from five addresses: one may hold 1,000.
var attacks = []attack{
	{"connections that say nothing", 5000, time.Second, silent("")},
	{"connections that ask once and stay", 5000, time.Second, silent(hit)},
	{"heads, a byte a second", 2000, time.Second, dripping("GET /hot HTTP/1.1\r\nX: ", "a")},
	{"bodies, a byte a second", 2000, time.Second, dripping(posting+"Content-Length: 8000000\r\n\r\n", "a")},
	{"chunks, a byte a second", 2000, time.Second, dripping(posting+"Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n")},
	{"answers of 1 MiB that nobody reads", 500, time.Second, unread("GET /large HTTP/1.1\r\n"+home+"\r\n", 1)},
	{"answers of 1 MiB, a byte a second", 500, time.Second, sipping("GET /large HTTP/1.1\r\n" + home + "\r\n")},
	{"requests in a row, no answer read", 50, 100 * time.Millisecond, unread(strings.Repeat(hit, 100), 10_000)},
	{"connections made and closed", 16, 10 * time.Millisecond, func(context.Context, *net.TCPConn) error { return net.ErrClosed }},
	{"connections closed in a request", 16, 10 * time.Millisecond, leaving("GET /ho")},
	{"connections closed before the answer", 16, 10 * time.Millisecond, leaving(hit)},
	{"connections half closed", 1000, time.Second, halfClosed},
	{"heads that are too long", 16, 10 * time.Millisecond, unread("GET /hot HTTP/1.1\r\nX: "+strings.Repeat("a", 20_000)+"\r\n\r\n", 1)},
	{"long bodies, all at once", 200, time.Second, dripping(posting+"Content-Length: 8000000\r\n\r\n", strings.Repeat("a", 300_000))},
	{"cold calls while the origin is stuck", 3000, time.Second, cold},
}

// silent sends a beginning, and waits.
func silent(first string) func(context.Context, *net.TCPConn) error {
	return func(_ context.Context, c *net.TCPConn) error {
		io.WriteString(c, first)
		_, err := io.Copy(io.Discard, c)
		return err
	}
}

// dripping sends a beginning, and one piece a second.
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

// unread sends something so often, and reads nothing.
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
		case <-time.After(35 * time.Second): // it has been cut by then
		}
		return nil
	}
}

// sipping asks, and reads a byte a second.
func sipping(s string) func(context.Context, *net.TCPConn) error {
	return func(ctx context.Context, c *net.TCPConn) error {
		c.SetReadBuffer(4 << 10)
		io.WriteString(c, s)
		return sip(ctx, c)
	}
}

// sip reads a byte each second until the edge has cut the connection.
func sip(ctx context.Context, c *net.TCPConn) error {
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

// leaving sends something, and closes.
func leaving(s string) func(context.Context, *net.TCPConn) error {
	return func(_ context.Context, c *net.TCPConn) error {
		_, err := io.WriteString(c, s)
		return err
	}
}

// halfClosed asks, says that it has no more to say, and does not take the answer.
func halfClosed(ctx context.Context, c *net.TCPConn) error {
	c.SetReadBuffer(4 << 10)
	io.WriteString(c, "GET /large HTTP/1.1\r\n"+home+"\r\n")
	c.CloseWrite()
	return sip(ctx, c)
}

// cold asks for what is not stored, and what the origin does not answer.
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

// run carries an attack out, with so many connections, until ctx ends.
func (a attack) run(ctx context.Context, target string, connections int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range connections {
		wg.Go(func() {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(2+i/900))}, Timeout: 5 * time.Second}
			for ctx.Err() == nil {
				a.once(ctx, &d, target)
				select {
				case <-ctx.Done():
				case <-time.After(a.pause):
				}
			}
		})
	}
}

// asAttacker makes the test binary an attacker: the place of an attack in the list, and whom it is against.
const asAttacker = "ICONEDGE_TEST_AS_ATTACKER"

// apart carries an attack out in another process, and one of the least priority: what it costs is not the edge's doing.
func (a attack) apart(t *testing.T, target string) (callOff func()) {
	t.Helper()
	i := slices.IndexFunc(attacks, func(b attack) bool { return a.name == b.name })
	args := []string{os.Args[0], "-test.run=^TestAsAttacker$"}
	if nice, err := exec.LookPath("nice"); err == nil {
		args = append([]string{nice, "-n", "19"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", asAttacker, i, target))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	callOff = sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
	t.Cleanup(callOff)
	return callOff
}

// TestAsAttacker is no test, but the process that apart starts.
func TestAsAttacker(t *testing.T) {
	var i int
	var target string
	if _, err := fmt.Sscan(os.Getenv(asAttacker), &i, &target); err != nil {
		t.Skip("started by TestAttacks alone")
	}
	attacks[i].run(t.Context(), target, attacks[i].connections)
}

// once is one connection. It is reset in the end, so that no port of ours stays taken.
func (a attack) once(ctx context.Context, d *net.Dialer, target string) {
	conn, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	c := conn.(*net.TCPConn)
	c.SetLinger(0)
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	a.do(ctx, c)
}

// attackedOrigin is an origin that answers what the attacks ask for, and gets stuck where it is told to.
func attackedOrigin(t *testing.T) string {
	t.Helper()
	large := strings.Repeat("0123456789abcdef", 1<<16)
	stuck := make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		switch {
		case r.URL.Path == "/hot":
			io.WriteString(w, "hot")
		case r.URL.Path == "/large":
			io.WriteString(w, large)
		case r.URL.Path == "/medium":
			io.WriteString(w, large[:60_000])
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

// attacked starts an edge that is to be attacked. It has room for fewer connections than the attackers have.
func attacked(t *testing.T, more ...string) *server {
	t.Helper()
	e := start(t, t.TempDir(), append([]string{"edge", "--proxy-all", "--origin", attackedOrigin(t), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--max-connections", "4000", "--origin-timeout", "5s"}, more...)...)
	for _, path := range []string{"/hot", "/medium", "/large"} {
		eventually(t, path+" is stored", func() bool {
			resp, _ := get(t, e.address("public"), path)
			return resp.StatusCode == http.StatusOK
		})
	}
	return e
}

// TestAttacks carries out every attack, and looks at what becomes of a client that behaves. With ICONEDGE_ATTACKS=1 each takes its time, and
// the test prints what it cost; else it is small, and only whether the client is answered counts.
func TestAttacks(t *testing.T) {
	full := os.Getenv("ICONEDGE_ATTACKS") != ""
	e := attacked(t)
	var table []string
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			if !full {
				a.small(t, e)
				return
			}
			table = append(table, a.whole(t, e))
		})
	}
	if full {
		fmt.Printf("| attack | connections | calls of a client that behaves | answered | p99 in quiet | under attack | memory before | at most | descriptors at most |\n"+
			"|---|---|---|---|---|---|---|---|---|\n%s\n", strings.Join(table, "\n"))
	}
}

// small is the short form.
func (a attack) small(t *testing.T, e *server) {
	attacking, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.run(attacking, e.address("public"), min(a.connections, 40)) }()
	ctx, enough := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer enough()
	b := behave(ctx, e.address("public"), longest)
	stop()
	<-done
	if b.failed > 0 {
		t.Errorf("of %d calls %d were not answered: %v", b.asked, b.failed, b.why)
	}
}

const (
	quietFor  = 3 * time.Second // before, and after
	gathering = 3 * time.Second // until all of an attack's connections are there
	attackFor = 20 * time.Second

	leastAnswered = 0.999
	mostSlower    = 2
	mostMemory    = 1 << 30 // bytes
)

// whole is the full form. It returns a row of the table.
func (a attack) whole(t *testing.T, e *server) string {
	during := func(d time.Duration) behaviour {
		ctx, stop := context.WithTimeout(t.Context(), d)
		defer stop()
		return behave(ctx, e.address("public"), 10*time.Second)
	}
	quiet, before := during(quietFor), footprint(e.cmd.Process.Pid)
	ctx, stop := context.WithCancel(t.Context())
	calledOff := a.apart(t, e.address("public"))
	peak := watchFootprint(ctx, e.cmd.Process.Pid)
	early := during(gathering)
	under := during(attackFor)
	calledOff()
	stop()
	most := <-peak
	quiet.took = append(quiet.took, during(quietFor).took...) // other programs of the machine are not the attack's fault
	under.asked, under.failed, under.why = under.asked+early.asked, under.failed+early.failed, cmp.Or(under.why, early.why)
	answered := 1 - float64(under.failed)/float64(max(under.asked, 1))
	if answered < leastAnswered || under.p99() > mostSlower*quiet.p99() || most.memory > mostMemory {
		t.Errorf("%d of %d calls were not answered (%v); p99 %v in quiet, %v under attack; %d MB", under.failed, under.asked, under.why, quiet.p99(), under.p99(), most.memory>>20)
	}
	return fmt.Sprintf("| %s | %d | %d | %.2f %% | %v | %v | %d MB | %d MB | %d |", a.name, a.connections, under.asked, 100*answered,
		quiet.p99().Round(10*time.Microsecond), under.p99().Round(10*time.Microsecond), before.memory>>20, most.memory>>20, most.descriptors)
}
