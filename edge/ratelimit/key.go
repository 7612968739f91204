package ratelimit

import (
	"encoding/binary"
	"net/netip"
)

// ClientKey is the network that counts as one client: an IPv4 address by itself, also where it is written as IPv6, and an
// IPv6 address's /64, which is what one subscriber has (RFC 6177). It is the zero Prefix for the zero Addr.
func ClientKey(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // fails for the zero Addr alone
	return p
}

// A key names a window: the first bits of an address, and how many of them count.
type key struct {
	bits uint64 // of an IPv6 address the upper half; an IPv4 address in the upper 32 bits
	kind kind
}

type kind uint64 // and not less: without padding a key is hashed and compared as 16 plain bytes

const (
	v4Client kind = iota // /32
	v4Near               // /24
	v4Wide               // /8
	v6Client             // /64
	v6Near               // /48
	v6Wide               // /16
)

func (k kind) shared() bool { return k != v4Client && k != v6Client }
func (k kind) wide() bool   { return k == v4Wide || k == v6Wide }

var prefixBits = [...]int{v4Client: 32, v4Near: 24, v4Wide: 8, v6Client: 64, v6Near: 48, v6Wide: 16}

// keyOf is the key of a client's own window. Callers without an address (a pipe, in tests) are one client, "::".
func keyOf(addr netip.Addr) key {
	if addr.Is4() || addr.Is4In6() {
		a := addr.As4()
		return key{uint64(binary.BigEndian.Uint32(a[:])) << 32, v4Client}
	}
	a := addr.As16()
	return key{binary.BigEndian.Uint64(a[:8]), v6Client}
}

// near is the key of the window that k shares above the ceiling of clients, wide above that of such windows too.
func (k key) near() key { return k.widen(1) }
func (k key) wide() key { return k.widen(2) }

func (k key) widen(steps kind) key {
	to := k.kind + steps
	return key{k.bits &^ (1<<(64-prefixBits[to]) - 1), to}
}
