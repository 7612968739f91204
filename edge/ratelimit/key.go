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

// A key names a window: an address or a token, and how many of its first bits count.
type key struct {
	bits uint64 // the first 64; an IPv4 address in the upper 32 of them
	rest uint64 // the other half of a token
	kind kind
}

type kind uint64 // and not less: without padding a key is hashed and compared as 24 plain bytes

const (
	nobody      kind = iota // there is no window here
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

// keyOf is the key of a client's own window. Callers without an address (a pipe, in tests) are one client, "::".
func keyOf(addr netip.Addr) key {
	if addr.Is4() || addr.Is4In6() {
		a := addr.As4()
		return key{bits: uint64(binary.BigEndian.Uint32(a[:])) << 32, kind: v4Client}
	}
	a := addr.As16()
	return key{bits: binary.BigEndian.Uint64(a[:8]), kind: v6Client}
}

// keyOfToken is the key of a client that is known by a token.
func keyOfToken(token [16]byte) key {
	return key{binary.BigEndian.Uint64(token[:8]), binary.BigEndian.Uint64(token[8:]), tokenClient}
}

// near is the key of the window that k shares above the ceiling of clients, wide above that of such windows too.
func (k key) near() key { return k.widen(1) }
func (k key) wide() key { return k.widen(2) }

func (k key) widen(steps kind) key {
	to := k.kind + steps
	return key{bits: k.bits &^ (1<<(64-sharedBits[to]) - 1), kind: to}
}
