// Package listentest has data for the tests of listeners.
package listentest

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/pires/go-proxyproto"
)

// HeaderV2 returns a header of version 2 with a command, a family with its transport, and the bytes
// after them.
func HeaderV2(command, family byte, rest ...byte) string {
	b := append([]byte(nil), proxyproto.SIGV2...)
	b = append(b, 0x20|command, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(rest)))
	return string(append(b, rest...))
}

// inet and inet6 are the addresses of such a header: from 203.0.113.9:7 to 192.0.2.1:80.
var (
	inet  = []byte{203, 0, 113, 9, 192, 0, 2, 1, 0, 7, 0, 80}
	inet6 = append(append(append(make([]byte, 0, 36), netip.MustParseAddr("2001:db8::9").AsSlice()...),
		netip.MustParseAddr("2001:db8::1").AsSlice()...), 0, 7, 0, 80)
)

// ProxyHeaders are valid headers with the client that they name; empty: the peer itself.
var ProxyHeaders = []struct{ Name, Header, Client string }{
	{"no header", "", ""},
	{"v1 TCP4", "PROXY TCP4 203.0.113.9 192.0.2.1 7 80\r\n", "203.0.113.9"},
	{"v1 TCP6", "PROXY TCP6 2001:db8::9 2001:db8::1 7 80\r\n", "2001:db8::9"},
	{"v1 IPv4 in IPv6", "PROXY TCP6 ::ffff:203.0.113.9 ::1 7 80\r\n", "203.0.113.9"},
	{"v1 UNKNOWN", "PROXY UNKNOWN\r\n", ""},
	{"v1 UNKNOWN with addresses", "PROXY UNKNOWN ffff::ffff ffff::ffff 65535 65535\r\n", ""},
	{"v2 over IPv4", HeaderV2(1, 0x11, inet...), "203.0.113.9"},
	{"v2 over IPv6", HeaderV2(1, 0x21, inet6...), "2001:db8::9"},
	{"v2 of a datagram", HeaderV2(1, 0x12, inet...), "203.0.113.9"},
	{"v2 of a Unix socket", HeaderV2(1, 0x31, make([]byte, 216)...), ""},
	{"v2 LOCAL", HeaderV2(0, 0x00), ""},
	{"v2 LOCAL with addresses", HeaderV2(0, 0x11, inet...), ""},
	{"v2 with a TLV", HeaderV2(1, 0x11, append(append([]byte{}, inet...), 4, 0, 2, 'h', 'i')...), "203.0.113.9"},
	{"v2 with a long TLV", HeaderV2(1, 0x11, append(append([]byte{}, inet...),
		append([]byte{4, 0x0f, 0}, make([]byte, 0xf00)...)...)...), "203.0.113.9"},
}

// WrongProxyHeaders are malformed headers.
var WrongProxyHeaders = []struct{ Name, Header string }{
	{"v1 without addresses", "PROXY TCP4\r\n"},
	{"v1 of another family", "PROXY TCP4 2001:db8::9 2001:db8::1 7 80\r\n"},
	{"v1 of no family", "PROXY UDP4 203.0.113.9 192.0.2.1 7 80\r\n"},
	{"v1 with a name for an address", "PROXY TCP4 icons.test 192.0.2.1 7 80\r\n"},
	{"v1 with two spaces", "PROXY  TCP4 203.0.113.9 192.0.2.1 7 80\r\n"},
	{"v1 with a port too high", "PROXY TCP4 203.0.113.9 192.0.2.1 70000 80\r\n"},
	{"v1 that ends in LF", "PROXY TCP4 203.0.113.9 192.0.2.1 7 80\n"},
	{"v1 too long", "PROXY UNKNOWN " + strings.Repeat("f", 200) + "\r\n"},
	{"v1 twice", "PROXY TCP4 203.0.113.9 192.0.2.1 7 80\r\nPROXY TCP4 198.51.100.7 192.0.2.1 7 80\r\n"},
	{"v2 twice", HeaderV2(1, 0x11, inet...) + HeaderV2(1, 0x11, inet...)},
	{"v1 behind v2", HeaderV2(1, 0x11, inet...) + "PROXY TCP4 198.51.100.7 192.0.2.1 7 80\r\n"},
	{"v2 of another version", strings.Replace(HeaderV2(1, 0x11, inet...), "QUIT\n!", "QUIT\n1", 1)},
	{"v2 of no command", HeaderV2(5, 0x11, inet...)},
	{"v2 of no family", HeaderV2(1, 0x41, inet...)},
	{"v2 from nowhere", HeaderV2(1, 0x00)},
	{"v2 shorter than its addresses", HeaderV2(1, 0x11, inet[:8]...)},
	{"v2 too long", HeaderV2(1, 0x11, append(append([]byte{}, inet...), make([]byte, 8000)...)...)},
	{"v2 with a truncated TLV", HeaderV2(1, 0x11, append(append([]byte{}, inet...), 4, 0, 9, 'h', 'i')...)},
}
