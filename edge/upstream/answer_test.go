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

// A body is streamed: the origin sends each part only after the previous one has been read.
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
	for range 2 { // the end is returned again and again
		if n, err := a.Body.Read(make([]byte, 99)); n != 0 || err != io.EOF {
			t.Fatalf("the end is %d, %v", n, err)
		}
	}
}

// A body larger than the memory that it may take is passed through.
func TestBodyIsNotBuffered(t *testing.T) {
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
		t.Errorf("%d bytes of memory used for a body of %d", used, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A body that is closed before its end closes its connection and leaves no goroutine.
func TestBodyClosedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: responds(long + "xx")}
		c := network{"a": s}.client(Config{}, "a")
		for i := range 3 {
			a, err := c.Do(t.Context(), get("/"))
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				a.Body.Read(make([]byte, 2))
			}
			if i > 1 { // another goroutine closes it during a Read
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

// A body is closed after its last byte was read, but before the end was reported.
func TestBodyClosedAtItsEnd(t *testing.T) {
	o := serve(t, responds(ok))
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
		t.Errorf("Stats = %+v: the connection is lost, although Content-Length gave the end", got)
	}
}

// When the caller's context ends so does the body, even a body that ends with the connection.
func TestBodyOfCallerGone(t *testing.T) {
	for name, text := range map[string]string{
		"a length": long + "xx", "chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n",
		"until it closes": "HTTP/1.1 200 OK\r\n\r\nxx",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := network{"a": {answer: responds(text)}}.client(Config{}, "a")
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
					t.Errorf("Stats = %+v, want no connection and no failure of the origin", got)
				}
			})
		})
	}
}

// A foreign context runs a goroutine for each child context until that is done, so the end of the
// bubble detects any that an exchange does not cancel.
type foreign struct {
	context.Context
	done chan struct{}
}

func (f foreign) Done() <-chan struct{} { return f.done }

// However an exchange ends, it leaves no goroutine or timer.
func TestNoGoroutineIsLeft(t *testing.T) {
	for name, row := range map[string]struct {
		answer responder
		end    func(*Response)
	}{
		"read":          {responds(ok), func(a *Response) { io.Copy(io.Discard, a.Body) }},
		"closed":        {responds(long), func(a *Response) { a.Body.Close() }},
		"closed, whole": {responds(ok), func(a *Response) { io.Copy(io.Discard, a.Body); a.Body.Close() }},
		"cut off": {func(c net.Conn, _ string) bool { io.WriteString(c, long); return false },
			func(a *Response) { io.Copy(io.Discard, a.Body) }},
		"too late":  {responds(long), func(a *Response) { io.Copy(io.Discard, a.Body) }},
		"no body":   {responds("HTTP/1.1 204 No Content\r\n\r\n"), func(*Response) {}},
		"no answer": {drops, nil},
		"no end":    {hangs, nil},
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

// A connection that the edge closed is no end of a body.
func TestEndAfterTheEnd(t *testing.T) {
	c := network{}.client(Config{}, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := c.newBody(io.NopCloser(strings.NewReader("")), ctx, cancel, c.idle)
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
			c := network{"a": {answer: responds(row.text)}}.client(Config{}, "a")
			a, err := c.Do(foreign{t.Context(), make(chan struct{})}, get("/"))
			if err != nil {
				t.Fatal(err)
			}
			b, err := a.Whole(row.max)
			synctest.Wait()
			open := int64(1)
			if row.want != nil {
				wantProblem(t, err, 502, row.want)
				// A lean exchange has received a short body by then.
				if !everyLean || row.text != ok {
					open = 0
				}
			} else if err != nil || string(b) != "ok" && a.Status != 204 {
				t.Errorf("%q within %d: %q, %v", row.text, row.max, b, err)
			}
			if everyLean && strings.Contains(row.text, "chunked") {
				open = 0 // a response that is not plain is the last on a lean connection
			}
			if got := c.Stats().Open; got != open {
				t.Errorf("%q within %d: %d connections, want %d", row.text, row.max, got, open)
			}
			c.Close()
		})
	}
}

// A caller may reuse its memory once it has a response, even if the origin responds before it has
// read the request.
func TestRequestBodyIsCopied(t *testing.T) {
	const size = 1 << 20
	answered, got := make(chan struct{}), make(chan []byte, 1)
	s := &server{answer: responds(ok)}
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
		t.Error("the origin got bytes written to the memory after Do returned")
	}
	a.Body.Close()
}
