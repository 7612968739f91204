package upstream

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func timeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// dripping responds with a byte a second.
func dripping(at once, text string) responder {
	return func(c net.Conn, _ string) bool {
		io.WriteString(c, string(at))
		for i := range len(text) {
			time.Sleep(time.Second)
			if _, err := io.WriteString(c, text[i:i+1]); err != nil {
				return false
			}
		}
		return hangs(c, "")
	}
}

// once holds the part that is written without a pause.
type once string

const long = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"

// Each deadline applies to its own part of an exchange, and an origin that always sends a little
// extends only that of a read.
func TestDeadlines(t *testing.T) {
	defaults := Config{}
	short := Config{FirstByte: 3 * time.Second, Idle: 5 * time.Second, Whole: 60 * time.Second}
	for name, row := range map[string]struct {
		cfg    Config
		answer responder
		want   time.Duration
	}{
		"hangs":                       {defaults, hangs, 10 * time.Second},
		"hangs, FirstByte":            {short, hangs, 3 * time.Second},
		"drips its fields":            {short, dripping("", long), 3 * time.Second},
		"drips 100 Continue":          {short, dripping("", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 9)), 3 * time.Second},
		"hangs in the body":           {short, dripping(long+"ok", ""), 5 * time.Second},
		"hangs in the body, defaults": {defaults, dripping(long+"ok", ""), 10 * time.Second},
		"hangs in the end": {short, dripping(
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", ""), 5 * time.Second},
		"drips, then hangs":        {short, dripping(long, "ok"), 5 * time.Second},
		"drips its body":           {short, dripping(long, strings.Repeat("x", 99)), 5 * time.Second},
		"drips its body, defaults": {defaults, dripping(long, strings.Repeat("x", 99)), 10 * time.Second},
		"an endless body":          {defaults, endlessBody, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := network{"a": {answer: row.answer}}.client(row.cfg, "a")
				start := time.Now()
				_, err := fetch(t.Context(), c, get("/"))
				wantProblem(t, err, 504, ErrTimeout)
				if took := time.Since(start); took != row.want {
					t.Errorf("took %v, want %v", took, row.want)
				}
				time.Sleep(time.Second) // the origin notices at its next write
				synctest.Wait()
				if got := c.Stats(); got.Timeouts != 1 || got.Failures != 1 || got.Open != 0 {
					t.Errorf("Stats = %+v, want a timeout and no connection left", got)
				}
			})
		})
	}
}

// endlessBody sends nine bytes a second without end.
func endlessBody(c net.Conn, _ string) bool {
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	for {
		if _, err := c.Write([]byte("x")); err != nil {
			return false
		}
		time.Sleep(time.Second / 9)
	}
}

// A streamed body may take as long as the whole exchange.
func TestDeadlineOfTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := network{"a": {answer: endlessBody}}.client(Config{}, "a")
		start := time.Now()
		a, err := c.Do(t.Context(), get("/"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, a.Body)
		wantProblem(t, err, 504, ErrTimeout)
		if took := time.Since(start); took != 15*time.Minute {
			t.Errorf("took %v", took)
		}
		time.Sleep(time.Second)
	})
}

// Whole allows a long body as much time again for each MiB.
func TestDeadlineGrowsWithTheBody(t *testing.T) {
	mib := strings.Repeat("x", 1<<20)
	steady := func(c net.Conn, _ string) bool {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5242880\r\n\r\n")
		for range 5 {
			time.Sleep(8 * time.Second)
			io.WriteString(c, mib)
		}
		return true
	}
	synctest.Test(t, func(t *testing.T) {
		c := network{"a": {answer: steady}}.client(Config{}, "a")
		defer c.Close()
		a, err := c.Do(t.Context(), get("/"))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := a.Whole(8 << 20); len(b) != 5<<20 || err != nil {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
}

// The deadline also ends the writing of a request on a connection that accepts no byte.
func TestDeadlineOfWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := network{}.client(Config{}, "a")
		c.dialWith(func(context.Context, string, string) (net.Conn, error) {
			near, _ := net.Pipe()
			return near, nil
		})
		_, err := c.Do(t.Context(), get("/"))
		wantProblem(t, err, 504, ErrTimeout)
	})
}

// FirstByte applies to both tries together.
func TestDeadlineOfTwoTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &server{answer: func(net.Conn, string) bool { time.Sleep(6 * time.Second); return false }}
		c := network{"a": slow, "b": {answer: hangs}}.client(Config{}, "a|b")
		start := time.Now()
		_, err := c.Do(t.Context(), get("/"))
		wantProblem(t, err, 504, ErrTimeout)
		if took := time.Since(start); took != 10*time.Second || c.Stats().Retries != 1 {
			t.Errorf("took %v, with %d retries", took, c.Stats().Retries)
		}
	})
}

// A slow but steady body is streamed completely, and the time that the reader takes between two
// reads does not count.
func TestNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := network{"a": {answer: dripping(long, strings.Repeat("x", 99))}}.client(Config{FirstByte: 2 * time.Second}, "a")
		a, err := c.Do(t.Context(), get("/"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		io.ReadFull(a.Body, make([]byte, 2))
		time.Sleep(time.Minute)
		if b, err := io.ReadAll(a.Body); len(b) != 97 || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		synctest.Wait()
		c.Close()
	})
}

// The deadlines of a response end with it: the connection is used for the next one.
func TestDeadlinesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := network{"a": {answer: responds(ok)}}.client(Config{FirstByte: time.Second, Whole: 2 * time.Second}, "a")
		defer c.Close()
		for range 5 {
			a, err := fetch(t.Context(), c, get("/"))
			if err != nil || a.body != "ok" {
				t.Fatalf("%+v, %v", a, err)
			}
			time.Sleep(5 * time.Second)
		}
		if got := c.Stats(); got.Open != 1 || got.Retries != 0 {
			t.Errorf("Stats = %+v, want one connection", got)
		}
	})
}

// A request that has spent its time waiting for a slot says nothing about the origin, which had no
// time to respond: many slow uploads open no circuit breaker.
func TestDeadlineInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(c net.Conn, _ string) bool {
			time.Sleep(9500 * time.Millisecond)
			_, err := io.WriteString(c, ok)
			return err == nil
		}
		c := network{"a": {answer: slow}}.client(Config{MaxConns: 1}, "a")
		defer c.Close()
		var first sync.WaitGroup
		first.Go(func() {
			if a, err := fetch(t.Context(), c, get("/first")); err != nil || a.body != "ok" {
				t.Errorf("the first request: %+v, %v", a, err)
			}
		})
		synctest.Wait()
		_, err := fetch(t.Context(), c, get("/second"))
		wantProblem(t, err, 504, ErrTimeout)
		first.Wait()
		if n := c.Stats().Origins[0].Failures; n != 0 {
			t.Errorf("the origin has %d failures, want none", n)
		}
		time.Sleep(time.Minute) // the origin's last response
	})
}
