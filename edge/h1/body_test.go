package h1

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
)

const long = 1 << 20

var (
	longBody = strings.Repeat("0123456789abcdef", long/16)
	longHead = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + strconv.Itoa(long) + "\r\n"
)

// uploading returns a connection on which a request with a body has been read up to its head, and
// the head that the server gets.
func uploading(t *testing.T, sent string) (client net.Conn, conn *Conn, head string) {
	t.Helper()
	client, server := net.Pipe()
	l := limits
	l.Uploads = true
	conn = NewConn(server, hits{}, &l)
	t.Cleanup(func() { client.Close(); conn.Close() })
	go io.WriteString(client, sent)
	p := make([]byte, 16<<10)
	n, err := conn.Read(p)
	if err != nil {
		t.Fatal(err)
	}
	return client, conn, string(p[:n])
}

// The server gets the head alone, and a handler the body while it arrives, and no byte of the next
// request.
func TestUpload(t *testing.T) {
	next := "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n"
	chunks := "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"
	for _, row := range []struct {
		name, sent, more, body string
		length                 int64
		last                   bool // response of the connection
	}{
		{"long", longHead + "\r\n" + longBody[:10], longBody[10:] + next, longBody, long, false},
		{"in chunks", chunks, "5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX-Y: z\r\n\r\n" + next, "hello world", -1, true},
		{"in chunks, with the head", chunks + "5\r\nhello\r\n0\r\n\r\n", "", "hello", -1, true},
		{"in large chunks", chunks, "100000\r\n" + longBody + "\r\n0\r\n\r\n", longBody, -1, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn, head := uploading(t, row.sent)
				if strings.Contains(head, "Content-Length") || strings.Contains(head, "chunked") || !strings.HasSuffix(head, "\r\n\r\n") {
					t.Errorf("the server got %q", head)
				}
				go io.WriteString(client, row.more)
				u := conn.Upload()
				b, err := io.ReadAll(u)
				if string(b) != row.body || err != nil || u.Length() != row.length || !u.Whole() {
					t.Errorf("%d bytes, %v, length %d, whole %v", len(b), err, u.Length(), u.Whole())
				}
				if conn.Answer() != row.last {
					t.Errorf("the last response: %v, want %v", !row.last, row.last)
				}
				go func() { conn.Read(make([]byte, 16<<10)); conn.Conn.Close() }()
				answer, _ := io.ReadAll(client)
				if got := strings.Contains(string(answer), "001"); got == row.last {
					t.Errorf("after the body: %q", answer)
				}
			})
		})
	}
}

// A body that ends early, or is malformed, fails.
func TestUploadFails(t *testing.T) {
	for _, row := range []struct{ sent, more string }{
		{longHead + "\r\n", longBody[:100]},
		{"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhel"},
		{"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n0\r\n"},
		{"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello!"},
	} {
		client, conn, _ := uploading(t, row.sent)
		go func() { io.WriteString(client, row.more); client.Close() }()
		if b, err := io.ReadAll(conn.Upload()); err == nil || conn.Upload().Whole() || !conn.Answer() {
			t.Errorf("%.80q and %.20q: %d bytes, no error", row.sent, row.more, len(b))
		}
	}
}

// The first Read sends the 100 that the client waits for, unless the response has begun, or the
// client speaks HTTP/1.0 or has begun to send the body.
func TestUploadContinue(t *testing.T) {
	for head, want := range map[string]bool{
		longHead + "Expect: 100-Continue\r\n\r\n":                                     true,
		longHead + "Expect: a miracle\r\n\r\n":                                        false,
		longHead + "\r\n":                                                             false,
		longHead + "Expect: 100-continue\r\n\r\n0":                                    false,
		strings.Replace(longHead, "/1.1", "/1.0", 1) + "Expect: 100-continue\r\n\r\n": false,
	} {
		for _, answered := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				client, conn, _ := uploading(t, head)
				if answered {
					conn.Answer()
				}
				go io.Copy(io.Discard, conn.Upload())
				client.SetReadDeadline(time.Now().Add(time.Second)) // by the bubble's clock
				b := make([]byte, len(continueResponse))
				n, _ := io.ReadFull(client, b)
				if got := string(b[:n]) == continueResponse; got != (want && !answered) || n > 0 && !got {
					t.Errorf("%q, answered %v: %q, want a 100: %v", head, answered, b[:n], want)
				}
				client.Close()
			})
		}
	}
}

// Only the time in which the edge waits for the client counts.
func TestUploadOfASlowOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn, _ := uploading(t, longHead+"\r\n")
		go io.WriteString(client, longBody[:10])
		u := conn.Upload()
		for range 10 {
			if _, err := u.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		start := time.Now()
		if _, err := u.Read(make([]byte, 1)); !timedOut(err) || time.Since(start) != limits.Request {
			t.Errorf("%v after %v, want the end of the time", err, time.Since(start))
		}
	})
}

// All long bodies share a bound. Short bodies do not count, and a finished request frees its
// memory.
func TestBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limits
		l.Uploads, l.Bodies = true, &bodies.Budget{Max: uploadCosts}
		post := func(sent string) (*Conn, chan error) {
			client, server := net.Pipe()
			conn, end := NewConn(server, hits{}, &l), make(chan error, 1)
			go io.WriteString(client, sent)
			go func() {
				p := make([]byte, 16<<10)
				n, err := conn.Read(p)
				if n == 1 {
					_, err = conn.Read(p)
				}
				end <- err
			}()
			synctest.Wait()
			return conn, end
		}
		first, one := post(longHead + "\r\n" + longBody[:400<<10])
		if n := l.Bodies.Used(); n != uploadCosts {
			t.Errorf("a body takes %d bytes", n)
		}
		second, two := post(longHead + "\r\n" + longBody[:400<<10])
		chunked, three := post("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
		for name, end := range map[string]chan error{"long": two, "in chunks": three} {
			if err := <-end; !errors.Is(err, bodies.ErrOverloaded) {
				t.Errorf("a second body, %s: %v, want it refused", name, err)
			}
		}
		if n := l.Bodies.Used(); n > uploadCosts {
			t.Errorf("%d bytes taken after two bodies were refused", n)
		}
		short, four := post("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
		if err := <-four; err != nil {
			t.Errorf("a short body is refused: %v", err)
		}
		for _, c := range []*Conn{first, second, chunked, short} {
			c.Close()
		}
		if err := <-one; errors.Is(err, bodies.ErrOverloaded) {
			t.Error("the first body is refused")
		}
		if n := l.Bodies.Used(); n != 0 {
			t.Errorf("%d bytes still taken at the end", n)
		}
	})
}

// An incomplete head takes a part of its client's share until it is answered, also by the fast
// path, or until its connection ends. A client whose share is used up is refused.
func TestHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, hit := netip.MustParsePrefix("192.0.2.1/32"), "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n"
		l := limits
		l.Bodies = &bodies.Budget{Max: 1 << 20, Each: 2*requestOverhead - 1}
		begin := func(preface string) (net.Conn, chan error) {
			theirs, ours := net.Pipe()
			conn, end := NewConn(ours, hits{}, &l), make(chan error, 1)
			conn.SetClient(client, nil)
			if preface != "" {
				conn.TakeOver(preface, func([]byte) {})
			}
			go func() {
				p := make([]byte, 16<<10)
				n, err := conn.Read(p)
				if n == 1 {
					_, err = conn.Read(p)
				}
				conn.Close()
				end <- err
			}()
			return theirs, end
		}
		holds := func(when string, want int64) {
			t.Helper()
			synctest.Wait()
			if n := l.Bodies.Held(client); n != want {
				t.Errorf("%s: %d bytes, want %d", when, n, want)
			}
		}
		first, _ := begin("")
		io.WriteString(first, hit[:10])
		holds("half a head", requestOverhead)
		for name, preface := range map[string]string{"half a head": "", "half a preface": hit} {
			second, end := begin(preface)
			io.WriteString(second, hit[:10])
			if err := <-end; !errors.Is(err, bodies.ErrOverloaded) {
				t.Errorf("a second connection with %s: %v, want %v", name, err, bodies.ErrOverloaded)
			}
		}
		holds("after refusals", requestOverhead)
		io.WriteString(first, hit[10:])
		if n, err := first.Read(make([]byte, 4<<10)); n == 0 {
			t.Errorf("no response: %v", err)
		}
		holds("an answered request", 0)
		io.WriteString(first, hit[:10])
		holds("half a head after it", requestOverhead)
		first.Close()
		holds("the end", 0)
	})
}
