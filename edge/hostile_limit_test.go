package edge

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const packs = "/api/v1/packs"

// limitedTo returns an edge with this limit for packs.
func limitedTo(t *testing.T, limit string, change ...func(*Config)) *rawEdge {
	t.Helper()
	return newRawEdge(t, false, append(change, func(c *Config) { must(t, c.Limits.Set("packs="+limit)) })...)
}

// rush sends one request on each of n connections, as simultaneously as possible.
func (w *rawEdge) rush(t *testing.T, n int) []message {
	t.Helper()
	all := make([]message, n)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range all {
		done.Go(func() {
			c, err := net.Dial("tcp", w.public)
			ready.Done()
			if <-start; err != nil {
				t.Errorf("connection %d: %v", i, err)
				return
			}
			defer c.Close()
			all[i] = try(t, &caller{Conn: c}, "GET "+packs+" HTTP/1.1\r\nHost: edge.test\r\n\r\n")
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return all
}

// try sends one request on a connection and reads its response.
func try(t *testing.T, c *caller, request string) message {
	if c.r == nil {
		c.r = bufio.NewReader(c)
	}
	c.send(request)
	method, _, _ := strings.Cut(request, " ")
	a, err := c.answer(method, false)
	if err != nil {
		t.Errorf("%.40q: %v", request, err)
		a.line = "HTTP/1.1 000 "
	}
	return a
}

// Of 200 simultaneous calls at the start of a window, and again at its end, exactly as many get
// through as the limit allows. Within the window none does.
func TestHostileLimitOfMany(t *testing.T) {
	t.Parallel()
	const limit, window = 60, 5 * time.Second
	w := limitedTo(t, "60/5s")
	w.ages.move(window / 10) // as windows need not begin with the clock
	first := w.rush(t, 200)
	if wait := longest(t, first); through(first) != limit || wait != window {
		t.Errorf("%d of 200 got through, want %d; the others have to wait for %v", through(first), limit, wait)
	}
	for _, row := range []struct {
		after time.Duration
		want  int
	}{{window - time.Second, 0}, {time.Second, limit}, {0, 0}, {window, limit}} {
		w.ages.move(row.after)
		if n := through(w.rush(t, 200)); n != row.want {
			t.Errorf("after %v more, %d of 200 got through, want %d", row.after, n, row.want)
		}
	}
}

func through(all []message) (n int) {
	for _, a := range all {
		if a.status() == 200 {
			n++
		}
	}
	return n
}

// longest returns the longest Retry-After of the refused calls.
func longest(t *testing.T, all []message) (wait time.Duration) {
	t.Helper()
	for _, a := range all {
		if a.status() != 200 {
			wait = max(wait, a.retryAfter(t))
		}
	}
	return wait
}

// retryAfter returns the Retry-After of a refused call, and checks that RateLimit agrees with it.
func (m message) retryAfter(t *testing.T) time.Duration {
	t.Helper()
	seconds := strings.Join(m.fields["retry-after"], ",")
	n, err := strconv.ParseUint(seconds, 10, 16)
	if state := strings.Join(m.fields["ratelimit"], ","); err != nil || n < 1 || m.status() != 429 || state != `"packs";r=0;t=`+seconds {
		t.Errorf("%s, Retry-After: %s, RateLimit: %s", m.line, seconds, state)
	}
	return time.Duration(n) * time.Second
}

// A refused client that calls again exactly after Retry-After gets through, whatever it message
// meanwhile, because refused calls do not count.
func TestHostileRetryAfterIsTrue(t *testing.T) {
	t.Parallel()
	w := limitedTo(t, "5/4s")
	c := w.call(t)
	defer c.Close()
	ask := func() message { return try(t, c, "GET "+packs+" HTTP/1.1\r\nHost: edge.test\r\n\r\n") }
	for range 3 {
		a := ask()
		for a.status() == 200 {
			a = ask()
		}
		wait := a.retryAfter(t)
		w.ages.move(wait - time.Second)
		for range 10 {
			if a := ask(); a.status() != 429 || a.retryAfter(t) != time.Second {
				t.Errorf("a second before the end of the window: %s", a.line)
			}
		}
		w.ages.move(time.Second)
		if a := ask(); a.status() != 200 {
			t.Errorf("after Retry-After: %s", a.line)
		}
	}
}

// The response to a request that counts has the state of the limit. If left is negative, the
// request does not count, and its response has no state.
func TestHostileLimitState(t *testing.T) {
	w := limitedTo(t, "9/1h")
	c := w.call(t)
	defer c.Close()
	for i, row := range []struct {
		request string
		status  int
		left    int
	}{
		{"GET " + packs, 200, 8},
		{"GET " + packs, 200, 7}, // from the cache
		{"HEAD " + packs, 200, 6},
		{"OPTIONS " + packs, 204, -1},
		{"GET " + packs + " HTTP/1.1\r\nIf-None-Match: \"e\"", 304, 5},
		{"GET " + packs + " HTTP/1.1\r\nIf-None-Match: W/\"x\", \"e\"", 304, 4}, // pipeline
		{"GET /healthz", 200, -1},
		{"GET /mdi/home.svg", 200, -1},
		{"GET " + packs + "?category=a&category=a", 400, 3},
		{"GET " + packs + "?x=1", 200, 2},
		{"GET " + packs + " HTTP/1.1\r\nRange: bytes=0-1", 206, 1},
		{"GET " + packs + "/missing", 404, 0},
		{"GET " + packs, 429, 0},
		{"HEAD " + packs, 429, 0},
		{"GET " + packs + "?category=a&category=a", 429, 0},
		{"OPTIONS " + packs + " HTTP/1.1\r\nOrigin: https://a.test\r\nAccess-Control-Request-Method: GET", 204, -1},
		{"GET /healthz", 200, -1},
	} {
		request := row.request
		if !strings.Contains(request, " HTTP/1.1") {
			request += " HTTP/1.1"
		}
		a := try(t, c, request+"\r\nHost: edge.test\r\n\r\n")
		state, policy := strings.Join(a.fields["ratelimit"], ","), strings.Join(a.fields["ratelimit-policy"], ",")
		wantState, wantPolicy := fmt.Sprintf(`"packs";r=%d;t=`, row.left), `"packs";q=9;w=3600`
		if row.left < 0 {
			wantState, wantPolicy = "", ""
		}
		if a.status() != row.status || !strings.HasPrefix(state, wantState) || policy != wantPolicy || row.left < 0 && state != "" {
			t.Errorf("%d, %q: %s, RateLimit: %s, RateLimit-Policy: %s, want %d, %d left", i, request, a.line, state,
				policy, row.status, row.left)
		}
		if (a.status() == 429) != (len(a.fields["retry-after"]) == 1) {
			t.Errorf("%d, %q: %s, Retry-After: %q", i, request, a.line, a.fields["retry-after"])
		}
	}
}

// All spellings of an address are one client, and an IPv6 client is its /64.
func TestHostileOneClient(t *testing.T) {
	w := limitedTo(t, "100/1h", func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	c := w.call(t)
	defer c.Close()
	for _, row := range []struct {
		who  string
		left int
	}{
		{"X-Forwarded-For: 192.0.2.1", 99}, {"X-Forwarded-For: ::ffff:192.0.2.1", 98},
		{"X-Forwarded-For: ::ffff:c000:201", 97}, {"X-Forwarded-For: [::FFFF:192.0.2.1]:4711", 96},
		{`Forwarded: for="[::ffff:192.0.2.1]:80"`, 95}, {"Forwarded: for=192.0.2.1", 94},
		{"X-Forwarded-For: 192.0.2.2", 99}, {"X-Forwarded-For: 192.0.2.1:80", 93},
		{"X-Forwarded-For: 2001:db8::1", 99}, {"X-Forwarded-For: 2001:DB8:0:0:ffff::2", 98},
		{"X-Forwarded-For: 2001:db8:0:1::1", 99}, {"X-Forwarded-For: ::192.0.2.1", 99},
		{"X: y", 99}, {"X-Forwarded-For: ::ffff:127.0.0.1", 98},
		{"X-Forwarded-For: 203.0.113.1, ::ffff:127.9.9.9", 99}, {"X-Forwarded-For: 203.0.113.1", 98},
	} {
		a := try(t, c, "GET "+packs+" HTTP/1.1\r\nHost: edge.test\r\n"+row.who+"\r\n\r\n")
		if want := fmt.Sprintf(`"packs";r=%d;`, row.left); a.status() != 200 || !strings.HasPrefix(a.fields["ratelimit"][0], want) {
			t.Errorf("%s: %s, RateLimit: %s, want %d left", row.who, a.line, a.fields["ratelimit"], row.left)
		}
	}
}

// On a dual-stack socket an IPv4 client has an IPv4-mapped address. Its window is the one that it
// has on the IPv4 socket.
func TestHostileMappedPeer(t *testing.T) {
	w := limitedTo(t, "9/1h")
	ln, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		t.Skip("no IPv6 here")
	}
	w.serveToo(t, ln, w.Proxy)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	for i, address := range []string{w.public, "127.0.0.1:" + port, "[::ffff:127.0.0.1]:" + port, w.public} {
		conn, err := net.Dial("tcp", address)
		must(t, err)
		defer conn.Close()
		a := try(t, &caller{Conn: conn}, "GET "+packs+" HTTP/1.1\r\nHost: edge.test\r\n\r\n")
		if want := fmt.Sprintf(`"packs";r=%d;`, 8-i); !strings.HasPrefix(strings.Join(a.fields["ratelimit"], ","), want) {
			t.Errorf("call %d, to %s: %s, RateLimit: %s, want %s", i, address, a.line, a.fields["ratelimit"], want)
		}
	}
}
