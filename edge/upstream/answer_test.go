package upstream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// A body is read as it comes: the origin writes on only when what came before has been read.
func TestBodyStreams(t *testing.T) {
	more := make(chan struct{})
	o := serve(t, func(c net.Conn, _ string) bool {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for i := range 3 {
			fmt.Fprintf(c, "1\r\n%d\r\n", i)
			<-more
		}
		io.WriteString(c, "0\r\n\r\n")
		return true
	})
	a, err := o.client(t, Config{}).Do(t.Context(), get("/"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if n, err := a.Body.Read(make([]byte, 99)); n != 1 || err != nil {
			t.Fatalf("part %d is of %d, %v", i, n, err)
		}
		more <- struct{}{}
	}
	for range 2 { // the end stays the end
		if n, err := a.Body.Read(make([]byte, 99)); n != 0 || err != io.EOF {
			t.Fatalf("the end is %d, %v", n, err)
		}
	}
}

// A body that is longer than memory should be passes through.
func TestBodyIsNotHeld(t *testing.T) {
	const size = 64 << 20
	o := serve(t, func(c net.Conn, _ string) bool {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size)
		_, err := io.Copy(c, io.LimitReader(zeros{}, size))
		return err == nil
	})
	c := o.client(t, Config{})
	a, err := c.Do(t.Context(), get("/"))
	if err != nil || a.Length != size {
		t.Fatalf("%+v, %v", a, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if n, err := io.Copy(io.Discard, a.Body); err != nil || n != size {
		t.Errorf("read %d, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size/16 {
		t.Errorf("%d bytes of memory were used for %d", used, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A body that is closed before its end takes its connection with it, and no goroutine stays.
func TestBodyClosedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: says(long + "xx")}
		c := network{"a": s}.client(Config{}, "a")
		for i := range 3 {
			a, err := c.Do(t.Context(), get("/"))
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				a.Body.Read(make([]byte, 2))
			}
			if i > 1 { // by somebody else, while a Read waits
				go func() { a.Body.Close() }()
			} else {
				a.Body.Close()
			}
			if n, err := a.Body.Read(make([]byte, 2)); n != 0 || err != http.ErrBodyReadAfterClose {
				t.Errorf("after Close: %d, %v", n, err)
			}
			synctest.Wait()
			if got := c.Stats(); got.Open != 0 || got.Failures != 0 {
				t.Errorf("Stats = %+v, want no connection, no failure", got)
			}
		}
	})
}

// A body of which all has been read but not the end, which may be still to come.
func TestBodyClosedAtItsEnd(t *testing.T) {
	o := serve(t, says(ok))
	c := o.client(t, Config{})
	for range 3 {
		a, err := c.Do(t.Context(), get("/"))
		if err != nil {
			t.Fatal(err)
		}
		io.ReadFull(a.Body, make([]byte, 2))
		a.Body.Close()
	}
	if got := c.Stats(); got.Open != 1 {
		t.Errorf("Stats = %+v: the length said that it was the end", got)
	}
}

// When the caller's context ends so does the body, one that the connection's end would end too.
func TestBodyOfCallerGone(t *testing.T) {
	for name, text := range map[string]string{
		"a length": long + "xx", "chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n", "until it closes": "HTTP/1.1 200 OK\r\n\r\nxx",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := network{"a": {answer: says(text)}}.client(Config{}, "a")
				ctx, leave := context.WithCancel(t.Context())
				a, err := c.Do(ctx, get("/"))
				if err != nil {
					t.Fatal(err)
				}
				go func() { synctest.Wait(); leave() }()
				_, err = a.Whole(99)
				wantProblem(t, err, 502, context.Canceled)
				synctest.Wait()
				if got := c.Stats(); got.Open != 0 || got.Failures != 0 {
					t.Errorf("Stats = %+v, want no connection, no failure of the origin's", got)
				}
			})
		})
	}
}

// A foreign context has a goroutine for each of its children until they are done: what an exchange leaves undone is found at the end of the bubble.
type foreign struct {
	context.Context
	done chan struct{}
}

func (f foreign) Done() <-chan struct{} { return f.done }

// However an exchange ends it leaves nothing running.
func TestNothingIsLeft(t *testing.T) {
	for name, row := range map[string]struct {
		answer answerer
		end    func(*Answer)
	}{
		"read":          {says(ok), func(a *Answer) { io.Copy(io.Discard, a.Body) }},
		"closed":        {says(long), func(a *Answer) { a.Body.Close() }},
		"closed, whole": {says(ok), func(a *Answer) { io.Copy(io.Discard, a.Body); a.Body.Close() }},
		"cut off":       {func(c net.Conn, _ string) bool { io.WriteString(c, long); return false }, func(a *Answer) { io.Copy(io.Discard, a.Body) }},
		"too late":      {says(long), func(a *Answer) { io.Copy(io.Discard, a.Body) }},
		"no body":       {says("HTTP/1.1 204 No Content\r\n\r\n"), func(*Answer) {}},
		"no answer":     {drops, nil},
		"no end":        {hangs, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := network{"a": {answer: row.answer}}.client(Config{}, "a")
				a, err := c.Do(foreign{t.Context(), make(chan struct{})}, get("/"))
				if (err == nil) != (row.end != nil) {
					t.Fatal(err)
				}
				if err == nil {
					row.end(a)
				}
				c.Close()
			})
		})
	}
}

// The end of a connection that we ended is no end of a body.
func TestEndAfterTheEnd(t *testing.T) {
	c := network{}.client(Config{}, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := c.newBody(io.NopCloser(strings.NewReader("")), ctx, cancel)
	cancel(errWhole)
	_, err := b.Read(make([]byte, 1))
	wantProblem(t, err, 504, ErrTimeout)
}

func TestWhole(t *testing.T) {
	for _, row := range []struct {
		text string
		max  int64
		want error
	}{
		{ok, 2, nil}, {ok, 1, ErrTooLarge}, {ok, 0, ErrTooLarge},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 2, nil},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok!", 2, ErrTooLarge},
		{"HTTP/1.1 204 No Content\r\n\r\n", 0, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := network{"a": {answer: says(row.text)}}.client(Config{}, "a")
			a, err := c.Do(foreign{t.Context(), make(chan struct{})}, get("/"))
			if err != nil {
				t.Fatal(err)
			}
			b, err := a.Whole(row.max)
			synctest.Wait()
			open := int64(1)
			if row.want != nil {
				wantProblem(t, err, 502, row.want)
				open = 0
			} else if err != nil || string(b) != "ok" && a.Status != 204 {
				t.Errorf("%q within %d: %q, %v", row.text, row.max, b, err)
			}
			if got := c.Stats().Open; got != open {
				t.Errorf("%q within %d: %d connections, want %d", row.text, row.max, got, open)
			}
			c.Close()
		})
	}
}

// A caller may do with its memory what it likes once it has an answer, even if the origin answers before it has the request.
func TestRequestBodyIsCopied(t *testing.T) {
	const size = 1 << 20
	answered, got := make(chan struct{}), make(chan []byte, 1)
	s := &server{answer: says(ok)}
	c := network{}.client(Config{}, "a")
	c.dialWith(func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			io.ReadFull(far, make([]byte, 20))
			s.answer(far, "")
			<-answered
			b, _ := io.ReadAll(io.LimitReader(far, size))
			got <- b
			far.Close()
		}()
		return near, nil
	})
	body := bytes.Repeat([]byte("a"), size)
	a, err := c.Do(t.Context(), Request{Method: "POST", Target: "/", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	close(answered)
	if b := <-got; bytes.IndexByte(b, 0) >= 0 || !bytes.HasSuffix(b, []byte("aaa")) {
		t.Error("the origin was sent what the memory held later")
	}
	a.Body.Close()
}
