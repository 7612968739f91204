package h1

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
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

// The server sees a request with a long body only when the body is complete, and then gets all of
// it and no byte of the next request.
func TestCollectBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		conn := NewConn(server, hits{}, limits)
		heard := false
		whole := make(chan string)
		go func() {
			for br := bufio.NewReaderSize(conn, 16<<10); ; {
				r, err := http.ReadRequest(br)
				if err != nil {
					close(whole)
					return
				}
				heard = true
				b, _ := io.ReadAll(r.Body)
				whole <- string(b)
			}
		}()
		io.WriteString(client, longHead+"\r\n"+longBody[:len(longBody)-1])
		if synctest.Wait(); heard {
			t.Error("the server got a request with an incomplete body")
		}
		go io.WriteString(client, longBody[:1]+longHead+"\r\n"+longBody)
		for i := range 2 {
			want := longBody
			if i == 0 {
				want = longBody[:len(longBody)-1] + "0"
			}
			if got := <-whole; got != want {
				t.Errorf("body %d has %d bytes and differs from the bytes sent", i, len(got))
			}
		}
		client.Close()
		<-whole
		if len(conn.buffered) > 0 || cap(conn.buffered) > bodies.Free {
			t.Error("the memory of a body is kept after its use")
		}
	})
}

// A client that waits for a 100 gets one, unless it speaks HTTP/1.0 or has begun to send the body.
func TestCollectBodyContinue(t *testing.T) {
	for head, want := range map[string]bool{
		longHead + "Expect: 100-Continue\r\n\r\n":                                     true,
		longHead + "Expect: a miracle\r\n\r\n":                                        false,
		longHead + "\r\n":                                                             false,
		longHead + "Expect: 100-continue\r\n\r\n0":                                    false,
		strings.Replace(longHead, "/1.1", "/1.0", 1) + "Expect: 100-continue\r\n\r\n": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			conn := NewConn(server, hits{}, limits)
			go func() {
				conn.Read(make([]byte, 16<<10))
				conn.Close()
			}()
			io.WriteString(client, head)
			client.SetReadDeadline(time.Now().Add(time.Second)) // by the bubble's clock
			b := make([]byte, len(continueResponse))
			n, _ := io.ReadFull(client, b)
			if got := string(b[:n]) == continueResponse; got != want || n > 0 && !got {
				t.Errorf("%q: %q, want a 100: %v", head, b[:n], want)
			}
			client.Close()
		})
	}
}

// All long bodies share a bound. Short bodies do not count, and a finished request frees its
// memory.
func TestBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limits
		l.Bodies = &bodies.Budget{Max: 900 << 10}
		post := func(sent string) (*Conn, chan error) {
			client, server := net.Pipe()
			conn, end := NewConn(server, hits{}, l), make(chan error, 1)
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
		if n := l.Bodies.Used(); n < 400<<10 || n > l.Bodies.Max {
			t.Errorf("400 KiB received take %d bytes", n)
		}
		second, two := post(longHead + "\r\n" + longBody[:400<<10])
		chunked, three := post("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
		for name, end := range map[string]chan error{"long": two, "in chunks": three} {
			if err := <-end; !errors.Is(err, bodies.ErrOverloaded) {
				t.Errorf("a second body, %s: %v, want it refused", name, err)
			}
		}
		if n := l.Bodies.Used(); n > 800<<10 {
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
