package listen

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/bodies"
)

// An HTTP3 says whether the edge serves HTTP/3, and which responses announce it. Empty means
// HTTP3Auto.
type HTTP3 string

// The values of HTTP3.
const (
	HTTP3On   HTTP3 = "on"
	HTTP3Off  HTTP3 = "off"
	HTTP3Auto HTTP3 = "auto"
)

func (h *HTTP3) flag(fs *flag.FlagSet) {
	fs.Var(h, "http3", "`on|off|auto`: whether --tls-listen speaks HTTP/3 too, and announces it in Alt-Svc; with auto the edge announces it while there is room, and tells clients to forget it (clear) while the client has more than three quarters of the connections or requests over HTTP/3 that it may have, or all clients have (default "+string(HTTP3Auto)+")")
}

// String implements flag.Value.
func (h *HTTP3) String() string { return string(*h) }

// Set implements flag.Value. It also takes true and false, because YAML has on and off as booleans.
func (h *HTTP3) Set(s string) error {
	switch v := HTTP3(s); v {
	case HTTP3On, HTTP3Off, HTTP3Auto:
		*h = v
	case "true":
		*h = HTTP3On
	case "false":
		*h = HTTP3Off
	default:
		return errors.New("must be on, off or auto")
	}
	return nil
}

const (
	// knownFor is for how many seconds a client may remember that there is HTTP/3.
	knownFor = 86400
	// forget is the value of Alt-Svc that makes a client forget it (RFC 7838, section 3).
	forget = "clear"
)

// An Offer decides what responses over TLS say of HTTP/3 in Alt-Svc (RFC 7838). It is made with the
// sockets, because the handler that writes responses is made before the listeners.
type Offer struct {
	value string // names the port; empty: there is no HTTP/3
	auto  bool   // it depends on the room that is left
	door  atomic.Pointer[quicDoor]
}

// newOffer returns the offer of HTTP/3 on a socket, which is nil if there is none.
func newOffer(socket net.PacketConn, h HTTP3) *Offer {
	if socket == nil {
		return &Offer{}
	}
	_, port, _ := net.SplitHostPort(socket.LocalAddr().String())
	return &Offer{value: fmt.Sprintf(`h3=":%s"; ma=%d`, port, knownFor), auto: h != HTTP3On}
}

// AltSvc returns the value of Alt-Svc for a client; empty: none. While little room is left for
// HTTP/3, the client is told to forget it, instead of nothing, because any client may remember it
// from an earlier response and would be refused. AltSvc allocates nothing, and locks nothing while
// no client is near its limits.
func (o *Offer) AltSvc(client netip.Addr) string {
	if d := o.door.Load(); d != nil && d.isStrained(client) {
		return forget
	}
	return o.value
}

// follow makes the offer depend on the room behind a door.
func (o *Offer) follow(d *quicDoor) {
	if o != nil && o.auto {
		o.door.Store(d)
	}
}

// isNearlyUsed reports whether more than three quarters of a limit are used. The last quarter is
// for clients that have read of HTTP/3 and have not come yet, and for handshakes that a client
// begins again, which take two places.
func isNearlyUsed[N int | int64](n, limit N) bool { return 4*n > 3*limit }

// isStrained reports whether little room is left for a client, or for all.
func (d *quicDoor) isStrained(client netip.Addr) bool {
	return d.full.Load() || isNearlyUsed(d.room.Used(), d.room.Max) || d.near.any() && d.near.has(d.conns.owner(client))
}

// review finds out again whether little room is left for a client and for all. The caller holds mu,
// and calls it after each change of the numbers of connections.
func (d *quicDoor) review(client netip.Prefix) {
	d.full.Store(isNearlyUsed(len(d.open)+d.shaken, d.max))
	if client.IsValid() && d.near.set(client, d.isNear(client)) {
		// A stream may have ended since, when releaseStream did not know yet that it matters.
		d.near.set(client, d.isNear(client))
	}
}

// isNear reports whether little room is left for a client. The caller holds mu.
func (d *quicDoor) isNear(client netip.Prefix) bool {
	return isNearlyUsed(d.of[client]+d.shakes[client], d.perClient) || isNearlyUsed(d.room.HeldByRequests(client), d.room.EachRequests)
}

// reviewStreams is review after a change of the streams of a client.
func (d *quicDoor) reviewStreams(client netip.Prefix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.review(client)
}

// releaseStream releases the share of a stream.
func (d *quicDoor) releaseStream(s *bodies.Share) {
	d.room.Release(s)
	if d.near.any() {
		d.reviewStreams(s.Client)
	}
}

// nearClients are the clients that are near one of their limits. One goroutine at a time may call
// set.
type nearClients struct {
	number atomic.Int64
	mu     sync.RWMutex
	known  map[netip.Prefix]struct{}
}

// any reports whether there are any.
func (n *nearClients) any() bool { return n.number.Load() > 0 }

// has reports whether a client is one of them.
func (n *nearClients) has(client netip.Prefix) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	_, ok := n.known[client]
	return ok
}

// set makes a client one of them, or not, and reports whether it has become one.
func (n *nearClients) set(client netip.Prefix, near bool) (became bool) {
	if n.has(client) == near {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if near {
		n.known[client] = struct{}{}
	} else {
		delete(n.known, client)
	}
	n.number.Store(int64(len(n.known)))
	return near
}
