package listen

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
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
	fs.Var(h, "http3", "`on|off|auto`: whether --tls-listen speaks HTTP/3 too, and announces it in Alt-Svc; with auto "+
		"the edge announces it while there is room, and tells clients to forget it (clear) while the client has more "+
		"than three quarters of the connections or requests over HTTP/3 that it may have, or all clients have (default "+string(HTTP3Auto)+
		")")
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
	// strained reports whether little room is left for a client; nil: there are no connections yet,
	// or auto is false.
	strained atomic.Pointer[func(client netip.Addr) bool]
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
// HTTP/3, the client must forget it: any client may remember it from an earlier response, and would
// be refused. AltSvc allocates nothing, and locks nothing while no client is near its limits.
func (o *Offer) AltSvc(client netip.Addr) string {
	if strained := o.strained.Load(); strained != nil && (*strained)(client) {
		return forget
	}
	return o.value
}

// follow makes the offer depend on the room that is left, as strained reports it.
func (o *Offer) follow(strained func(client netip.Addr) bool) {
	if o != nil && o.auto {
		o.strained.Store(&strained)
	}
}
