package netloop_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/edge/netloop"
)

// A greeter answers each connection with what it has sent, on the goroutine of the loop.
type greeter struct{ conn *netloop.Conn }

func (g greeter) Ready(netloop.Events) (again bool) {
	var buf [64]byte
	n, err := g.conn.TryRead(buf[:])
	if err == syscall.EAGAIN {
		return false // nothing has arrived
	}
	if n > 0 {
		// There is room for a few bytes.
		g.conn.TryWrite(append([]byte("hello, "), buf[:n]...))
	}
	g.conn.Close()
	return false
}

func (g greeter) Expired(time.Time) { g.conn.Close() }

// One goroutine serves all connections of a loop; none of them has a goroutine of its own.
func Example() {
	loop, err := netloop.NewLoop()
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan bool)
	go func() {
		loop.Run()
		close(ended)
	}()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	listener, err := netloop.Listen(tcp, []*netloop.Loop{loop})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			conn := accepted.(*netloop.Conn)
			conn.SetTimer(time.Now().Add(10 * time.Second)) // for a client that sends nothing
			if conn.Start(greeter{conn}) != nil {
				conn.Close()
			}
		}
	}()

	client, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	io.WriteString(client, "world")
	answer, err := io.ReadAll(client)
	fmt.Println(string(answer), err)
	client.Close()

	listener.Close()
	loop.Close()
	<-ended
	// Output: hello, world <nil>
}
