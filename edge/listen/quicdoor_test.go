package listen

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/iconedge/iconedge/edge/exchange"
)

// A client that holds many connections has its address validated, and in the end it is refused,
// before its handshakes take memory. Other clients notice nothing of it.
func TestQUICDoor(t *testing.T) {
	capacity := Capacity{}.Filled()
	conns := newConns(Options{Capacity: capacity, Memory: capacity.Memory()})
	d := newQUICDoor(conns, capacity)
	second := int64(0)
	d.now = func() time.Time { second++; return time.Unix(second, 0) } // no rate is exceeded
	a := &net.UDPAddr{IP: net.ParseIP("192.0.2.7")}
	connections, validated := 0, -1
	ctx, end := context.WithCancel(t.Context())
	for ; connections < 2*quicEach; connections++ {
		if validated < 0 && d.verify(a) {
			validated = connections
		}
		if _, err := d.admit(ctx, &quic.ClientInfo{RemoteAddr: a}); err != nil {
			break
		}
	}
	if validated != quicEach/unvalidatedPart+1 || connections != quicEach || conns.refused[refusedClient].Load() != 1 {
		t.Errorf("validated behind %d, refused behind %d", validated, connections)
	}
	other := &net.UDPAddr{IP: net.ParseIP("192.0.2.8"), Port: 1}
	if d.verify(other) {
		t.Error("the address of another client is validated")
	}
	if _, err := d.admit(ctx, &quic.ClientInfo{RemoteAddr: other}); err != nil {
		t.Errorf("another client is refused: %v", err)
	}
	end()
	held := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.shaken + d.shakes[conns.owner(exchange.Address(a))]
	}
	for held() != 0 {
		runtime.Gosched() // until AfterFunc has run
	}
}

// All packets of a ClientHello lead to a Retry if one does, also when the second of the rate ends
// between them. Otherwise a later one would begin a handshake that nobody completes.
func TestRetryOfWholeHellos(t *testing.T) {
	capacity := Capacity{}.Filled()
	d := newQUICDoor(newConns(Options{Capacity: capacity, Memory: capacity.Memory()}), capacity)
	now := time.Unix(0, 0)
	d.now = func() time.Time { return now }
	for range unvalidatedEach {
		d.handshakes.Allow(now, unvalidatedEach)
	}
	late := &net.UDPAddr{IP: net.ParseIP("192.0.2.7"), Port: 1}
	first := d.verify(late)
	now = now.Add(time.Second)
	if !first || !d.verify(late) {
		t.Error("of two packets of a hello only one leads to a Retry")
	}
	if d.verify(&net.UDPAddr{IP: net.ParseIP("192.0.2.7"), Port: 2}) {
		t.Error("another hello of the next second leads to a Retry")
	}
}

// Beyond the limit of all, handshakes that nobody completes make the edge look only now and then
// for connections that rest.
func TestSearchesOfQUICDoor(t *testing.T) {
	const all, handshakes = 6400, 500
	capacity := Capacity{MaxConnections: all, MaxQUIC: all}.Filled()
	conns := newConns(Options{Capacity: capacity, Memory: capacity.Memory()})
	d := newQUICDoor(conns, capacity)
	reads, now := 0, time.Unix(1000, 0)
	conns.now = func() time.Time { reads++; return now }
	for i := range all {
		q := &quicConn{client: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}), 32), used: time.Unix(0, 0)}
		d.open[q] = struct{}{}
		d.of.enter(q.client)
	}
	for i := range handshakes {
		from := &net.UDPAddr{IP: net.IPv4(192, 0, byte(i>>8), byte(i))}
		if _, err := d.admit(t.Context(), &quic.ClientInfo{RemoteAddr: from}); err != nil {
			t.Fatalf("handshake %d: %v", i, err)
		}
	}
	// admit and expectRoom read the clock once for each handshake
	if searches, most := reads-2*handshakes, handshakes/(all/roomPart)+1; searches < 1 || searches > most {
		t.Errorf("%d searches, want at most %d", searches, most)
	}
	for q := range d.open {
		q.used = now
	}
	now = now.Add(quicIdleFor - 1)
	if _, err := d.admit(t.Context(), &quic.ClientInfo{RemoteAddr: &net.UDPAddr{IP: net.IPv4(192, 1, 0, 0)}}); err != nil {
		t.Errorf("the last search does not stand any more: %v", err)
	}
	d.spares = 0
	if _, err := d.admit(t.Context(), &quic.ClientInfo{RemoteAddr: &net.UDPAddr{IP: net.IPv4(192, 1, 0, 1)}}); err == nil {
		t.Error("a handshake begins although no connection rests")
	}
}

// Handshakes that nobody completes, of whatever addresses, take no more than their part of the
// connections.
func TestUnfinishedHandshakesOverQUIC(t *testing.T) {
	for all, want := range map[int]int{16: 16, 8192: 2048} {
		capacity := Capacity{MaxConnections: all}.Filled()
		conns := newConns(Options{Capacity: capacity, Memory: capacity.Memory()})
		d := newQUICDoor(conns, capacity)
		for i := range want + 1 {
			from := &net.UDPAddr{IP: net.IPv4(192, 0, byte(i>>8), byte(i))}
			if _, err := d.admit(t.Context(), &quic.ClientInfo{RemoteAddr: from}); (err == nil) != (i < want) {
				t.Fatalf("of %d connections: handshake %d: %v", all, i, err)
			}
		}
		if conns.refused[refusedTotal].Load() != 1 {
			t.Errorf("of %d connections: the refusal is not counted", all)
		}
	}
}
