package listen

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
)

// A client that holds much gets connections with fewer streams, its address is validated, and in
// the end it is refused.
func TestQUICDoor(t *testing.T) {
	capacity := Capacity{}.Filled()
	conns := newConns(Options{Capacity: capacity, Memory: capacity.Memory()})
	room := conns.limits.Bodies
	d := &quicDoor{conns: conns, now: time.Now}
	a := &net.UDPAddr{IP: net.ParseIP("192.0.2.7")}
	connections, validated, fewer := 0, -1, -1
	ctx, end := context.WithCancel(t.Context())
	for ; connections < 1000; connections++ {
		if validated < 0 && d.verify(a) {
			validated = connections
		}
		if fewer < 0 && d.streams(a) == fewStreams {
			fewer = connections
		}
		if _, err := d.admit(ctx, &quic.ClientInfo{RemoteAddr: a}); err != nil {
			break
		}
	}
	if validated < 1 || fewer <= validated || connections < 100 || connections > 200 || conns.refused[refusedClient].Load() != 1 {
		t.Errorf("validated behind %d, fewer streams behind %d, refused behind %d", validated, fewer, connections)
	}
	if other := (&net.UDPAddr{IP: net.ParseIP("192.0.2.8")}); d.verify(other) || d.streams(other) != h2.MaxStreams {
		t.Error("another client suffers for it")
	}
	end()
	for room.Held(conns.owner(exchange.Address(a))) != 0 {
		runtime.Gosched() // until AfterFunc has run
	}
}
