package listen

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/quic-go/quic-go"

	"github.com/iconedge/iconedge/edge/bodies"
)

// An offerTest is an offer, and the door on which it depends.
type offerTest struct {
	*Offer
	door   *quicDoor
	client netip.Prefix
}

const announced = `h3=":4433"; ma=86400`

func newOfferTest(t *testing.T, limits Capacity) offerTest {
	t.Helper()
	limits = limits.Filled()
	door := newQUICDoor(newConns(Options{Capacity: limits, Memory: limits.Memory()}), limits)
	o := &Offer{value: announced, auto: true}
	o.follow(door.isStrained)
	return offerTest{o, door, netip.MustParsePrefix("192.0.2.7/32")}
}

// is checks what the client gets, and another one.
func (o offerTest) is(t *testing.T, when, client, other string) {
	t.Helper()
	if got := o.AltSvc(o.client.Addr()); got != client {
		t.Errorf("%s: the client gets %q, want %q", when, got, client)
	}
	if got := o.AltSvc(netip.MustParseAddr("192.0.2.8")); got != other {
		t.Errorf("%s: another client gets %q, want %q", when, got, other)
	}
}

// begin begins n handshakes of an address, which fail when end is called.
func (o offerTest) begin(t *testing.T, address string, n int) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	for range n {
		_, err := o.door.admit(ctx, &quic.ClientInfo{RemoteAddr: &net.UDPAddr{IP: net.ParseIP(address)}})
		must(t, err)
	}
	return func() {
		o.door.mu.Lock()
		before := o.door.shaken
		o.door.mu.Unlock()
		cancel()
		for left := before; left > before-n; runtime.Gosched() { // until AfterFunc has run
			o.door.mu.Lock()
			left = o.door.shaken
			o.door.mu.Unlock()
		}
	}
}

// Handshakes count as connections. One beyond three quarters of the client's share changes what the
// client gets, one beyond three quarters of all what everybody gets, and its end changes it back.
func TestOfferByConnections(t *testing.T) {
	o := newOfferTest(t, Capacity{MaxConnections: 40, MaxConnectionsPerClient: 20})
	o.is(t, "without connections", announced, announced)
	o.begin(t, "192.0.2.7", 15)
	o.is(t, "at three quarters of its share", announced, announced)
	end := o.begin(t, "192.0.2.7", 1)
	o.is(t, "beyond", forget, announced)
	end()
	o.is(t, "at three quarters again", announced, announced)
	o.begin(t, "192.0.2.9", 15)
	o.is(t, "at three quarters of all", announced, announced)
	end = o.begin(t, "2001:db8::1", 1)
	o.is(t, "beyond those", forget, forget)
	end()
	o.is(t, "at three quarters of all again", announced, announced)
	if len(o.door.near.known) != 0 {
		t.Errorf("%d clients are remembered", len(o.door.near.known))
	}
}

// A client that has a stream rejected because it has many gets the same, until enough of them end.
// So does everybody while streams take more than three quarters of their memory.
func TestOfferByStreams(t *testing.T) {
	o := newOfferTest(t, Capacity{})
	d := o.door
	hold := func(client netip.Prefix, bytes int64) *bodies.Share {
		t.Helper()
		s := &bodies.Share{Client: client}
		must(t, d.charge.room.Reserve(s, bytes))
		return s
	}
	quarter := d.charge.room.EachRequests / 4
	some, more := hold(o.client, 3*quarter), hold(o.client, 1)
	o.is(t, "before one is rejected", announced, announced)
	d.reviewStreams(o.client)
	o.is(t, "when one was rejected", forget, announced)
	d.releaseStream(more)
	o.is(t, "when one has ended", announced, announced)
	d.releaseStream(some)

	all := hold(netip.Prefix{}, d.charge.room.Max/4*3)
	o.is(t, "at three quarters of all", announced, announced)
	one := hold(netip.Prefix{}, d.charge.room.Max%4+1)
	o.is(t, "beyond those", forget, forget)
	d.releaseStream(one)
	o.is(t, "at three quarters again", announced, announced)
	d.releaseStream(all)
}

// An offer that does not depend on the room, and one without HTTP/3, are always the same.
func TestOfferOfOthers(t *testing.T) {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	defer socket.Close()
	_, port, _ := net.SplitHostPort(socket.LocalAddr().String())
	want := `h3=":` + port + `"; ma=86400`
	o := newOfferTest(t, Capacity{MaxConnections: 1})
	o.begin(t, "192.0.2.7", 1)
	for _, row := range []struct {
		socket net.PacketConn
		mode   HTTP3
		want   string
	}{{socket, HTTP3On, want}, {socket, HTTP3Auto, forget}, {socket, "", forget}, {nil, HTTP3On, ""}, {nil, HTTP3Auto, ""}} {
		got := newOffer(row.socket, row.mode)
		if row.socket != nil {
			if v := got.AltSvc(netip.Addr{}); v != want {
				t.Errorf("%q before there are connections: %q, want %q", row.mode, v, want)
			}
			got.follow(o.door.isStrained)
		}
		if v := got.AltSvc(netip.Addr{}); v != row.want {
			t.Errorf("%q: %q, want %q", row.mode, v, row.want)
		}
	}
	(*Offer)(nil).follow(o.door.isStrained)
}

// Hits pay next to nothing for it: no lock while no client is near its share, and no allocation at
// all.
func TestOfferCostsNothing(t *testing.T) {
	o := newOfferTest(t, Capacity{MaxConnections: 40, MaxConnectionsPerClient: 2})
	client := o.client.Addr()
	o.door.mu.Lock() // it would wait for ever
	o.door.near.mu.Lock()
	o.is(t, "while all is locked", announced, announced)
	o.door.near.mu.Unlock()
	o.door.mu.Unlock()
	for _, n := range []int{0, 2} {
		o.begin(t, "192.0.2.7", n)
		if n := testing.AllocsPerRun(100, func() { o.AltSvc(client) }); n != 0 {
			t.Errorf("%.0f allocations", n)
		}
	}
	o.is(t, "near its share", forget, announced)
}

func TestHTTP3Values(t *testing.T) {
	for text, want := range map[string]HTTP3{"on": HTTP3On, "off": HTTP3Off, "auto": HTTP3Auto, "true": HTTP3On,
		"false": HTTP3Off, "": "", "yes": "", "ON": ""} {
		var h HTTP3
		if err := h.Set(text); h != want || (err == nil) != (want != "") || h.String() != string(want) {
			t.Errorf("%q: %q, %v", text, h, err)
		}
	}
}
