package ratelimit

import (
	"encoding/binary"
	"hash/maphash"
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

// A key names a window. It is an address cut to the bits that count, or a hash of a token.
type key struct {
	bits uint64 // an IPv4 address is in the upper 32
	kind kind
}

type kind uint8

const (
	noWindow    kind = iota // an empty slot
	v4Client                // /32
	v4Near                  // /24
	v4Wide                  // /8
	v6Client                // /64
	v6Near                  // /48
	v6Wide                  // /16
	tokenClient             // all bits of the hash
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
		return key{uint64(binary.BigEndian.Uint32(a[:])) << 32, v4Client}
	}
	a := addr.As16()
	return key{binary.BigEndian.Uint64(a[:8]), v6Client}
}

// keyOfToken returns the key of a client identified by a token. Nobody can choose tokens with the
// same key, because the seed is random, and a million tokens have two of the same key with a
// probability of 1 in 37 million.
func keyOfToken(seed maphash.Seed, token [16]byte) key {
	return key{maphash.Comparable(seed, token), tokenClient}
}

// near returns the key of the window that k shares above the ceiling of clients; wide returns that
// of the one above the ceiling of shared windows.
func (k key) near() key { return k.widen(1) }
func (k key) wide() key { return k.widen(2) }

func (k key) widen(steps kind) key {
	to := k.kind + steps
	return key{bits: k.bits &^ (1<<(64-sharedBits[to]) - 1), kind: to}
}

// hash returns the hash by which the window of k is found.
func (k key) hash(seed maphash.Seed) uint64 { return maphash.Comparable(seed, k.bits) }
