package listen

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"testing"

	"github.com/quic-go/quic-go"

	"github.com/iconedge/iconedge/edge/bodies"
)

// A client is charged with what its connection takes: of a handshake more than at rest, then each
// request in flight and each byte by which a window has grown, and nothing once it has ended.
func TestQUICCharge(t *testing.T) {
	capacity := Capacity{}.Filled()
	conns := newConns(Options{Capacity: capacity, Memory: capacity.Memory()})
	d := newQUICDoor(conns, capacity)
	client := netip.MustParsePrefix("192.0.2.7/32")
	check := func(when string, want map[string]int64) {
		t.Helper()
		all, total := map[string]int64{"handshakes": 0, "connections": 0, "requests": 0, "windows": 0}, int64(0)
		maps.Copy(all, want)
		for _, n := range all {
			total += n
		}
		if got := conns.stats().MemoryQUIC; !maps.Equal(got, all) || d.charge.room.Held(client) != total {
			t.Errorf("%s: %v, %d bytes held, want %v", when, got, d.charge.room.Held(client), all)
		}
	}
	check("at the start", nil)
	ctx, err := d.admit(context.Background(), &quic.ClientInfo{RemoteAddr: &net.UDPAddr{IP: net.ParseIP("192.0.2.7")}})
	if err != nil {
		t.Fatal(err)
	}
	q := quicConnOf(ctx)
	check("handshake", map[string]int64{"handshakes": quicHandshakeBytes})
	if !d.enter(q, nil) {
		t.Fatal("it is refused")
	}
	check("at rest", map[string]int64{"connections": QUICConnBytes})
	one, two := &bodies.Share{Client: client}, &bodies.Share{Client: client}
	if !d.charge.stream(one) || !d.charge.stream(two) || !d.charge.grow(&q.share, 1000) || !d.charge.grow(&q.share, 500) {
		t.Fatal("no room")
	}
	check("two requests, wider", map[string]int64{"connections": QUICConnBytes, "requests": 2 * QUICStreamBytes, "windows": 1500})
	d.releaseStream(one)
	if d.charge.grow(&q.share, mostWindowsEach) {
		t.Error("a window grows without bound")
	}
	check("one request", map[string]int64{"connections": QUICConnBytes, "requests": QUICStreamBytes, "windows": 1500})
	d.releaseStream(two)
	d.charge.narrow(&q.share)
	d.leave(q)
	check("at the end", nil)
}

// What a client is charged with for windows, it can't have for connections: its share is one.
func TestQUICShareIsOne(t *testing.T) {
	c := &quicCharge{room: &bodies.Budget{Max: 1 << 20, Each: quicHandshakeBytes + QUICConnBytes},
		windows: &bodies.Budget{Max: 1 << 30, Each: 1 << 30}}
	client := netip.MustParsePrefix("192.0.2.7/32")
	made := func() *quicShare {
		q := &quicShare{}
		q.setClient(client)
		return q
	}
	one, two := made(), made()
	if !c.begin(one) || c.begin(two) {
		t.Error("there is not room for one handshake, and no more")
	}
	c.enter(one)
	if !c.begin(two) {
		t.Error("no room for the next handshake beside a connection at rest")
	}
	if c.grow(one, 1) {
		t.Error("a window grows beyond the share")
	}
	c.leave(two)
	if !c.grow(one, quicHandshakeBytes) || c.begin(two) {
		t.Error("a window takes no part of the share")
	}
	c.narrow(one)
	if !c.begin(two) || c.windows.Used() != 0 {
		t.Error("a window is not released")
	}
}
