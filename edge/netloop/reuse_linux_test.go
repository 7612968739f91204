package netloop

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// openEach opens a socket for each of n loops. Each accepts connections until the end of the test.
func openEach(t testing.TB, n int, each func(*Conn)) (address string, loops []*Loop) {
	t.Helper()
	sockets, err := OpenEach(t.Context(), "127.0.0.1:0", n)
	if err != nil {
		t.Fatal(err)
	}
	for _, socket := range sockets {
		l := newLoop(t)
		ln, err := ListenAlone(socket, l)
		if err != nil {
			t.Fatal(err)
		}
		loops = append(loops, l)
		accepting(t, ln, each)
	}
	return sockets[0].Addr().String(), loops
}

// The system distributes connections among the sockets of an address, and each is served by the
// loop of its socket.
func TestConnectionsAreSpread(t *testing.T) {
	const loops, conns = 4, 200
	of := map[*Loop]int{}
	var mu sync.Mutex
	address, all := openEach(t, loops, func(c *Conn) {
		mu.Lock()
		defer mu.Unlock()
		of[c.Loop()]++
		c.Start(&echo{c: c})
	})
	for i := range conns {
		c := dial(t, address)
		fmt.Fprintf(c, "%04d", i+1000)
		var answer [4]byte
		if _, err := io.ReadFull(c, answer[:]); err != nil || string(answer[:]) != fmt.Sprint(i+1000) {
			t.Fatalf("connection %d: %q, %v", i, answer, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for i, l := range all {
		if of[l] == 0 {
			t.Errorf("loop %d of %d has none of %d connections", i, loops, conns)
		}
	}
	if _, err := net.Listen("tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a socket that does not share the address: %v, want %v", err, syscall.EADDRINUSE)
	}
}

// No connection is lost that was in the queue of a socket when it is closed.
func TestQueueOfClosedSocket(t *testing.T) {
	const conns = 20
	sockets, err := OpenEach(t.Context(), "127.0.0.1:0", 1)
	if err != nil {
		t.Fatal(err)
	}
	loop := newLoop(t)
	ln, err := ListenAlone(sockets[0], loop)
	if err != nil {
		t.Fatal(err)
	}
	var clients []net.Conn
	for range conns {
		c := dial(t, ln.Addr().String())
		io.WriteString(c, "abcd")
		clients = append(clients, c)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	for range conns {
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.(*Conn).Start(&echo{c: c.(*Conn)})
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("behind the last connection: %v, want %v", err, net.ErrClosed)
	}
	for i, c := range clients {
		var answer [4]byte
		if _, err := io.ReadFull(c, answer[:]); err != nil || string(answer[:]) != "abcd" {
			t.Errorf("connection %d: %q, %v", i, answer, err)
		}
	}
	if _, err := net.DialTimeout("tcp", ln.Addr().String(), 5*time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection to a closed socket: %v, want %v", err, syscall.ECONNREFUSED)
	}
}

// BenchmarkConnections measures new connections, one after the other, and how unevenly 64 and 1,000
// of them are spread: the number of the fullest loop by the mean.
func BenchmarkConnections(b *testing.B) {
	for _, own := range []bool{false, true} {
		for _, loops := range []int{2, 4, 16} {
			for _, conns := range []int{64, 1000} {
				b.Run(fmt.Sprintf("own=%v/loops=%d/connections=%d", own, loops, conns), func(b *testing.B) {
					benchmarkConnections(b, own, loops, conns)
				})
			}
		}
	}
}

func benchmarkConnections(b *testing.B, own bool, loops, conns int) {
	accepted := make(chan *Conn, conns)
	each := func(c *Conn) {
		c.Start(&echo{c: c})
		accepted <- c
	}
	var address string
	if own {
		address, _ = openEach(b, loops, each)
	} else {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		var all []*Loop
		for range loops {
			all = append(all, newLoop(b))
		}
		ln, err := Listen(tcp, all)
		if err != nil {
			b.Fatal(err)
		}
		accepting(b, ln, each)
		address = tcp.Addr().String()
	}
	fullest, rounds := 0.0, 0
	for b.Loop() {
		of := map[*Loop]int{}
		var clients []net.Conn
		for range conns {
			c, err := net.Dial("tcp", address)
			if err != nil {
				b.Fatal(err)
			}
			clients = append(clients, c)
			of[(<-accepted).Loop()]++
		}
		for _, c := range clients {
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
		most := 0
		for _, n := range of {
			most = max(most, n)
		}
		fullest += float64(most) * float64(loops) / float64(conns)
		rounds++
	}
	b.ReportMetric(fullest/float64(rounds), "fullest/mean")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rounds*conns), "ns/connection")
	b.ReportMetric(0, "ns/op")
}
