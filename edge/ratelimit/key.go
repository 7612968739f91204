package ratelimit

import (
	"encoding/binary"
	"net/netip"
)

// ClientKey returns the network that counts as one client: an IPv4 address by itself, also one
// written as IPv6, and the /64 of an IPv6 address, which is what one subscriber has (RFC 6177). For
// the zero Addr it is the zero Prefix.
func ClientKey(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // fails only for the zero Addr
	return p
}

// A key names a window. It is an address or a token, cut to the bits that count.
type key struct {
	bits uint64 // the first 64; an IPv4 address is in the upper 32
	rest uint64 // the second half of a token
	kind kind
}

type kind uint64 // not smaller: a key without padding is hashed and compared as 24 bytes of memory

const (
	noWindow    kind = iota // an empty slot
	v4Client                // /32
	v4Near                  // /24
	v4Wide                  // /8
	v6Client                // /64
	v6Near                  // /48
	v6Wide                  // /16
	tokenClient             // all 128 bits
	tokenNear               // 16
	tokenWide               // 8
	kinds
)

func (k kind) shared() bool { return k != v4Client && k != v6Client && k != tokenClient }
func (k kind) wide() bool   { return k == v4Wide || k == v6Wide || k == tokenWide }

var sharedBits = [kinds]int{v4Near: 24, v4Wide: 8, v6Near: 48, v6Wide: 16, tokenNear: 16, tokenWide: 8}

// keyOf returns the key of a client's own window. All clients without an address (a pipe, in tests)
// share that of "::".
func keyOf(addr netip.Addr) key {
	if addr.Is4() || addr.Is4In6() {
		a := addr.As4()
		return key{bits: uint64(binary.BigEndian.Uint32(a[:])) << 32, kind: v4Client}
	}
	a := addr.As16()
	return key{bits: binary.BigEndian.Uint64(a[:8]), kind: v6Client}
}

// keyOfToken returns the key of a client identified by a token.
func keyOfToken(token [16]byte) key {
	return key{binary.BigEndian.Uint64(token[:8]), binary.BigEndian.Uint64(token[8:]), tokenClient}
}

// near returns the key of the window that k shares above the ceiling of clients; wide returns that
// of the one above the ceiling of shared windows.
func (k key) near() key { return k.widen(1) }
func (k key) wide() key { return k.widen(2) }

func (k key) widen(steps kind) key {
	to := k.kind + steps
	return key{bits: k.bits &^ (1<<(64-sharedBits[to]) - 1), kind: to}
}
