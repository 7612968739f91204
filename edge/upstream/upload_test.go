package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errClient = errors.New("the client has failed")

// A leaving reader fails after its text.
type leaving struct{ io.Reader }

func (f leaving) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err == io.EOF {
		err = errClient
	}
	return n, err
}

// A counted reader counts the bytes read.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// An uploadOrigin is an origin that decides about each request when it has its head.
type uploadOrigin struct {
	*server
	tries atomic.Int64
}

// serveUploads starts an origin. Its answer may read the body, and returns whether the connection
// stays open.
func serveUploads(t *testing.T, answer func(c net.Conn, r *http.Request) bool) *uploadOrigin {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	o := &uploadOrigin{server: &server{ln: ln}}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				defer c.Close()
				for b := bufio.NewReader(c); ; {
					r, err := http.ReadRequest(b)
					if err != nil {
						return
					}
					if o.tries.Add(1); !answer(c, r) {
						return
					}
				}
			}()
		}
	}()
	return o
}

func says(c net.Conn, text string) bool { _, err := io.WriteString(c, text); return err == nil }

// takes reads the body, after a 100 if one is expected, and responds.
func takes(c net.Conn, r *http.Request) bool {
	if r.Header.Get("Expect") != "" {
		says(c, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	return says(c, ok)
}

func declines(c net.Conn, r *http.Request) bool {
	return says(c, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n")
}

func loses(net.Conn, *http.Request) bool { return false }

func TestUpload(t *testing.T) {
	const any = -1 // the edge may have gone before the origin has read the head
	for _, row := range []struct {
		name, method  string
		answer        func(net.Conn, *http.Request) bool
		from          io.Reader
		length        int64
		expects       bool
		status        int
		err           error
		tries, passed int
	}{
		{"all of it", "POST", takes, strings.NewReader("abc"), 3, false, 200, nil, 1, 3},
		{"after a 100", "POST", takes, strings.NewReader("abc"), 3, true, 200, nil, 1, 3},
		{"refused before a 100", "POST", declines, strings.NewReader("abc"), 3, true, 413, nil, 1, 0},
		{"refused before a 100, in chunks", "PUT", declines, strings.NewReader("abc"), -1, true, 413, nil, 1, 0},
		{"lost before its body", "GET", loses, strings.NewReader("abc"), 3, true, 0, ErrResponse, 2, 0},
		{"lost before its body, unsafe", "POST", loses, strings.NewReader("abc"), 3, true, 0, ErrResponse, 1, 0},
		{"shorter than announced", "POST", takes, strings.NewReader("ab"), 3, false, 0, ErrResponse, any, 2},
		{"the client fails", "POST", takes, leaving{strings.NewReader("ab")}, 3, false, 0, errClient, any, 2},
		{"the client fails in chunks", "POST", takes, leaving{strings.NewReader("ab")}, -1, false, 0, errClient, any, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, body := serveUploads(t, row.answer), &counted{Reader: row.from}
			c := o.client(t, Config{})
			resp, err := c.Do(t.Context(), Request{Method: row.method, Target: "/",
				Upload: &Upload{From: body, Length: row.length, Expects: row.expects}})
			if !errors.Is(err, row.err) {
				t.Errorf("%v, want %v", err, row.err)
			}
			if err == nil {
				if resp.Status != row.status {
					t.Errorf("status %d, want %d", resp.Status, row.status)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if n := int(o.tries.Load()); row.tries != any && n != row.tries || body.n != row.passed {
				t.Errorf("%d tries and %d bytes of the body, want %d and %d", n, body.n, row.tries, row.passed)
			}
			if c.Stats().Origins[0].Failures > 0 && row.err == errClient {
				t.Error("a failure of the client counts as one of the origin")
			}
		})
	}
}

// The response of an origin that declines a long body and closes the connection arrives, although
// the edge can't send the rest.
func TestUploadRefusedEarly(t *testing.T) {
	o := serveUploads(t, func(c net.Conn, r *http.Request) bool {
		declines(c, r)
		c.(*net.TCPConn).CloseWrite()
		io.CopyN(io.Discard, r.Body, 8<<20)
		return false
	})
	for range 20 {
		c := o.client(t, Config{})
		resp, err := c.Do(t.Context(), Request{Method: "POST", Target: "/", Upload: &Upload{From: endless{}, Length: 1 << 40}})
		if err != nil || resp.Status != 413 {
			t.Fatalf("%v, %v, want the 413", resp, err)
		}
		resp.Body.Close()
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A body of which something was read is not sent again, whatever the method.
func TestUploadIsNotRepeated(t *testing.T) {
	o := serveUploads(t, func(_ net.Conn, r *http.Request) bool { r.Body.Read(make([]byte, 1)); return false })
	c := o.client(t, Config{})
	_, err := c.Do(t.Context(), Request{Method: "GET", Target: "/", Upload: &Upload{From: strings.NewReader("abc"), Length: 3}})
	wantProblem(t, err, 502, ErrResponse)
	if n := o.tries.Load(); n != 1 {
		t.Errorf("the origin got the request %d times, want once", n)
	}
}

// A slow client does not use up the time that the origin has.
func TestUploadOfASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &Upload{From: slow{strings.NewReader("abc")}, Length: 3}
		var fired atomic.Bool
		u.watch(time.AfterFunc(time.Minute, func() { fired.Store(true) }), time.Minute)
		b := u.body(nil)
		for range 3 {
			if _, err := b.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second) // for the origin
		}
		if fired.Load() {
			t.Error("the time for the response has passed while the client was sending")
		}
		if time.Sleep(31 * time.Second); !fired.Load() {
			t.Error("the origin has any time after the last byte")
		}
	})
}

// A slow reader takes an hour for each read.
type slow struct{ io.Reader }

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(time.Hour)
	return s.Reader.Read(p)
}

// Long exchanges give their slots to others, as many of them as there is room for.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		free := func() bool {
			ctx, end := context.WithTimeout(t.Context(), time.Millisecond)
			defer end()
			l, err := s.take(ctx, false)
			if err == nil {
				l.release()
			}
			return err == nil
		}
		var all []*lease
		for n := 0; n < 2*longFactor; n += 2 {
			for range 2 {
				l, err := s.take(t.Context(), true)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, l)
			}
			if free() {
				t.Error("a third exchange begins within a second")
			}
			if time.Sleep(longAfter); !free() {
				t.Error("two long exchanges keep others from the origin")
			}
		}
		for range 2 {
			l, _ := s.take(t.Context(), true)
			all = append(all, l)
		}
		if time.Sleep(10 * longAfter); free() {
			t.Error("there is no limit of long exchanges")
		}
		all[0].release()
		all[0].release()
		if time.Sleep(longAfter); !free() {
			t.Error("the end of a long exchange makes no room")
		}
		for _, l := range all {
			l.release()
		}
		if len(s.short)+len(s.long) > 0 {
			t.Errorf("%d and %d slots are taken at the end", len(s.short), len(s.long))
		}
		own, _ := s.take(t.Context(), false)
		if time.Sleep(time.Hour); len(s.short) != 1 {
			t.Error("an exchange that may not be long gave its slot back")
		}
		own.release()
	})
}

// Streams of forwarded paths hold no slot of short requests; see TestSlots.
func TestStreamsStarveNothing(t *testing.T) {
	more := make(chan struct{})
	defer close(more)
	o := serve(t, func(c net.Conn, head string) bool {
		if strings.Contains(head, " /short ") {
			return responds(ok)(c, head)
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
		<-more
		return false
	})
	c := o.client(t, Config{MaxConns: 2})
	for range 5 {
		resp, err := c.Do(t.Context(), Request{Method: http.MethodGet, Target: "/events",
			Patience: &Patience{FirstByte: time.Minute, Idle: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	if _, err := fetch(t.Context(), c, get("/short")); err != nil {
		t.Error(err)
	}
}

// An origin that has asked for a body may respond before it has read all of it. The rest is still
// sent.
func TestOriginReadsOn(t *testing.T) {
	responded := make(chan struct{})
	o := serveUploads(t, func(c net.Conn, r *http.Request) bool {
		says(c, "HTTP/1.1 100 Continue\r\n\r\n")
		io.ReadFull(r.Body, make([]byte, 1))
		says(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
		rest, err := io.ReadAll(r.Body)
		if err != nil {
			return false
		}
		return says(c, "a"+string(rest))
	})
	client, body := net.Pipe()
	defer client.Close()
	go func() {
		io.WriteString(body, "a")
		<-responded
		for _, b := range []string{"b", "c", "d"} { // each in a Read of its own
			io.WriteString(body, b)
		}
	}()
	resp, err := o.client(t, Config{}).Do(t.Context(),
		Request{Method: http.MethodPost, Target: "/", Upload: &Upload{From: io.LimitReader(client, 4), Length: 4, Expects: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	close(responded)
	if b, err := io.ReadAll(resp.Body); string(b) != "abcd" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}
