package h1

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAllowance(t *testing.T) {
	for bytes, want := range map[int64]time.Duration{0: 20, 1: 20, 1 << 20: 20, 1<<20 + 1: 40, 2 << 20: 40, 8 << 20: 160, 8<<20 + 1: 180} {
		if got := allowance(20*time.Second, bytes); got != want*time.Second {
			t.Errorf("%d bytes: %v, want %ds", bytes, got, want)
		}
	}
}

func TestGranted(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, row := range []struct {
		name               string
		taken              time.Duration
		received, declared int64
		until              time.Duration
		ok                 bool
	}{
		{"a short request", 20 * time.Second, 1000, 2000, 0, false},
		{"a MiB without its last byte", 20 * time.Second, mib - 1, mib, 0, false},
		{"2 MiB, partly received", 20 * time.Second, 700 * kib, 2 * mib, 40 * time.Second, true},
		{"2 MiB, late", 40 * time.Second, 2*mib - 1, 2 * mib, 0, false},
		{"8 MiB, dripping", 20 * time.Second, 20, 8 * mib, 0, false},
		{"8 MiB, stopped", 60 * time.Second, 150 * kib, 8 * mib, 0, false},
		{"chunked", 20 * time.Second, mib - 1, 0, 0, false},
		{"chunked, longer", 20 * time.Second, mib + 1, 0, 40 * time.Second, true},
		{"8 MiB, checked late", 43 * time.Second, 3 * mib, 8 * mib, 60 * time.Second, true},
	} {
		until, ok := extension(20*time.Second, row.taken, row.received, row.declared)
		if ok != row.ok || ok && until != row.until {
			t.Errorf("%s: %v, %v, want %v, %v", row.name, until, ok, row.until, row.ok)
		}
	}
}

// limits are the limits of these tests.
var limits = Limits{Idle: 20 * time.Second, Request: 20 * time.Second, Answer: 30 * time.Second, MaxBody: 8 << 20}

// pair runs a server that answers each request with a body of so many bytes. It is called within a
// synctest bubble.
func pair(t *testing.T, answer int) (net.Conn, *Conn) {
	client, server := net.Pipe()
	conn := NewConn(server, hits{}, &limits)
	t.Cleanup(func() { client.Close() })
	go func() {
		defer conn.Close()
		body := bytes.Repeat([]byte("a"), answer)
		for br := bufio.NewReaderSize(conn, 16<<10); ; {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			conn.ResponseLength(int64(answer))
			head := "HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(answer) + "\r\n\r\n"
			if _, err := conn.Write(append([]byte(head), body...)); err != nil {
				return
			}
		}
	}()
	return client, conn
}

// drip sends the pieces with a pause between two, until the connection is cut, and returns how long
// that took.
func drip(c net.Conn, pause time.Duration, pieces ...string) (lived time.Duration, cut bool) {
	for start := time.Now(); ; pieces = pieces[1:] {
		if len(pieces) == 0 {
			return time.Since(start), false
		}
		if _, err := io.WriteString(c, pieces[0]); err != nil {
			return time.Since(start), true
		}
		time.Sleep(pause)
	}
}

func letters(s string) []string { return strings.Split(s, "") }

// A request arrives in time or is cut off, however its bytes are spread over time.
func TestRequestInTime(t *testing.T) {
	const post = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: "
	const chunked = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	long := "GET /hit/001 HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 200)
	mib := strings.Repeat("a", 1<<20)
	for _, row := range []struct {
		name   string
		before string // a request that is answered at once
		pause  time.Duration
		pieces []string
		lived  time.Duration // 0: not cut
	}{
		{"a dripping head", "", time.Second, letters(long), 20 * time.Second},
		{"a dripping head after a hit", "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n", time.Second, letters(long), 20 * time.Second},
		{"a dripping head after a miss", "GET /miss HTTP/1.1\r\nHost: a\r\n\r\n", time.Second, letters(long), 20 * time.Second},
		{"a dripping body", "", time.Second, append([]string{post + "100\r\n\r\n"}, letters(strings.Repeat("a", 90))...), 20 * time.Second},
		{"a dripping body, announced as long", "", time.Second,
			append([]string{post + "8000000\r\n\r\n"}, letters(strings.Repeat("a", 90))...), 20 * time.Second},
		{"dripping chunks", "", time.Second, append([]string{chunked},
			strings.Split(strings.Repeat("1\r\na\r\n|", 90), "|")...), 20 * time.Second},
		{"a dripping head and body", "", time.Second, letters(post + "100\r\n\r\n" + strings.Repeat("a", 90)), 20 * time.Second},
		{"half a head, then silence", "", 19 * time.Second,
			[]string{"GET /a HTTP/1.1\r\n", "Host: a\r\n", "X: b\r\n", "\r\n"}, 20 * time.Second},
		{"half a body, then silence", "", 30 * time.Second, []string{post + "10\r\n\r\n", "a", "a"}, 20 * time.Second},
		{"a slow head, in time", "", 9 * time.Second, []string{"GET /hit/001", " HTTP/1.1\r\nHost: a\r\n", "\r\n"}, 0},
		{"a slow body, in time", "", 9 * time.Second, []string{post + "10\r\n\r\n", "aaaaa", "aaaaa"}, 0},
		{"2 MiB in 38 s", "", 19 * time.Second, []string{post + "2000000\r\n\r\n", mib[:1000000], mib[:1000000]}, 0},
		{"3 MiB, too slow", "", 25 * time.Second, []string{post + "3145000\r\n\r\n" + mib, mib, "a", "a"}, 60 * time.Second},
		{"chunks, 2 MiB in 38 s", "", 19 * time.Second,
			[]string{chunked, "100000\r\n" + mib + "\r\n100\r\n", mib[:0x100] + "\r\n0\r\n\r\n"}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := pair(t, 1)
				br := bufio.NewReader(client)
				if row.before != "" {
					io.WriteString(client, row.before)
					read(t, br)
					time.Sleep(10 * time.Second) // idle; a request begins with its first byte
				}
				go io.Copy(io.Discard, br)
				lived, cut := drip(client, row.pause, row.pieces...)
				if cut != (row.lived > 0) || cut && (lived < row.lived || lived > row.lived+row.pause) {
					t.Errorf("cut: %v after %v, want after %v", cut, lived, row.lived)
				}
			})
		})
	}
}

// A silent connection is closed; one with a request now and then is not.
func TestIdle(t *testing.T) {
	for _, path := range []string{"", "/hit/001", "/miss"} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := pair(t, 1)
			br := bufio.NewReader(client)
			for range 5 {
				if path == "" {
					break
				}
				io.WriteString(client, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
				read(t, br)
				time.Sleep(19 * time.Second)
			}
			start := time.Now()
			if path != "" {
				start = start.Add(-19 * time.Second)
			}
			n, err := br.Read(make([]byte, 1))
			if lived := time.Since(start); n != 0 || err != io.EOF || lived < 20*time.Second || lived > 22*time.Second {
				t.Errorf("%q: %d, %v after %v", path, n, err, lived)
			}
		})
	}
}

// The client takes a response in time or is cut off, however it spreads its reads.
func TestAnswerInTime(t *testing.T) {
	const mib = 1 << 20
	for _, row := range []struct {
		name   string
		target string
		bytes  int
		step   int           // bytes per read
		pause  time.Duration // before each read
		lived  time.Duration // 0: not cut
	}{
		{"nothing read", "/miss", 1000, 0, time.Minute, 30 * time.Second},
		{"nothing read of a hit", "/hit/001", 3, 0, time.Minute, 31 * time.Second},
		{"a byte a second", "/miss", 1000, 1, time.Second, 30 * time.Second},
		{"slow, in time", "/miss", mib - 1000, mib / 4, 7 * time.Second, 0},
		{"too slow", "/miss", mib - 1000, mib / 4, 8 * time.Second, 30 * time.Second},
		{"8 MiB, one stop of 200 s", "/miss", 8*mib - 1000, 9 * mib, 200 * time.Second, 0},
		{"8 MiB, a byte a second", "/miss", 8*mib - 1000, 1, time.Second, 240 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := pair(t, row.bytes)
				io.WriteString(client, "GET "+row.target+" HTTP/1.1\r\nHost: a\r\n\r\n")
				start := time.Now()
				got, err := take(client, row.step, row.pause, row.bytes)
				lived := time.Since(start)
				switch {
				case row.lived == 0 && err != nil:
					t.Errorf("cut after %v and %d bytes, want the whole response", lived, got)
				case row.lived > 0 && (err == nil || lived < row.lived || lived > row.lived+row.pause):
					t.Errorf("%v after %v and %d bytes, want a cut after %v", err, lived, got, row.lived)
				}
			})
		})
	}
}

// take reads so many bytes in steps.
func take(c net.Conn, step int, pause time.Duration, all int) (got int, err error) {
	for p := make([]byte, max(step, 1)); got < all; {
		time.Sleep(pause)
		n, err := io.ReadFull(c, p[:min(max(step, 1), all-got)])
		if got += n; err != nil {
			return got, err
		}
	}
	return got, nil
}

// However many writes a response takes, they share the time of one response.
func TestAnswerInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn, done := NewConn(server, hits{}, &limits), make(chan struct{})
		go func() {
			defer close(done)
			for p := make([]byte, 1); ; time.Sleep(7 * time.Second) {
				if _, err := client.Read(p); err != nil {
					return
				}
			}
		}()
		start := time.Now()
		for {
			if _, err := conn.Write([]byte("a")); err != nil {
				break
			}
		}
		if lived := time.Since(start); lived != 30*time.Second {
			t.Errorf("cut after %v, want 30s", lived)
		}
		<-done
	})
}

// A response that the server writes slowly does not use up the client's time.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := NewConn(server, hits{}, &limits)
		go io.Copy(io.Discard, client)
		defer client.Close()
		for range 10 {
			time.Sleep(25 * time.Second)
			if _, err := conn.Write([]byte("event")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The client must take what the kernel has accepted in time; further requests do not extend the
// deadline.
func TestUnreadResponses(t *testing.T) {
	for _, row := range []struct {
		name  string
		taken int64 // of each answer
		lived time.Duration
	}{{"nothing", 0, 30 * time.Second}, {"half of it", int64(len(hitHead)+3) / 2, 30 * time.Second}, {"all but the last", -1, 0}} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := pair(t, 1)
				conn.delivery.unacked = func(net.Conn) int64 {
					if row.taken < 0 {
						return min(conn.delivery.sent, int64(len(hitHead)+3))
					}
					return conn.delivery.sent - row.taken
				}
				go io.Copy(io.Discard, client) // stands for the kernel's buffer
				start := time.Now()
				for range 30 {
					if _, err := io.WriteString(client, "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
						break
					}
					time.Sleep(3 * time.Second)
				}
				if lived := time.Since(start); row.lived == 0 && lived < 90*time.Second ||
					row.lived > 0 && (lived < row.lived || lived > row.lived+7*time.Second) {
					t.Errorf("cut after %v, want %v", lived, row.lived)
				}
			})
		})
	}
}

// A connection whose client still takes its last response is not idle. When the response's time is
// over it is cut.
func TestUnreadIsNotIdle(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{10 * time.Second: 20 * time.Second,
		25 * time.Second: 25 * time.Second, time.Minute: 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			client, conn := pair(t, 1)
			start := time.Now()
			conn.delivery.unacked = func(net.Conn) int64 {
				if time.Since(start) < takes {
					return 1
				}
				return 0
			}
			io.WriteString(client, "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n")
			io.ReadAll(client)
			if lived := time.Since(start); lived < want || lived > want+2*time.Second {
				t.Errorf("a response that takes %v: cut after %v, want %v", takes, lived, want)
			}
		})
	}
}
