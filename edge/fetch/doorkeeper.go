package fetch

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/routes"
)

// A Doorkeeper lets a form of an icon be stored when clients request it for the second time. One
// icon has millions of forms (sizes, rotations, flips), and a client that requests them one by one
// would evict the responses that others need. The doorkeeper remembers the latest keys, at most one
// for each place, by seeded hashes whose collisions no client can provoke. Each key has one place,
// and replaces the key that was there.
type Doorkeeper struct {
	seed   maphash.Seed
	places [1 << 16]atomic.Uint64
}

// NewDoorkeeper returns a doorkeeper that remembers no key.
func NewDoorkeeper() *Doorkeeper { return &Doorkeeper{seed: maphash.MakeSeed()} }

// admits reports whether the response to a key of one of our own routes may be stored, and records
// that the key was requested. Like the form of an icon, the page of an error is stored at its
// second request, because clients can invent any number of addresses.
func (d *Doorkeeper) admits(key string, errorPage bool) bool {
	path, _, form := strings.Cut(key, "?")
	if !errorPage && (!form || !isForm(path)) {
		return true
	}
	return d.Again(key)
}

// Again reports whether a key was requested before, and records that it was requested.
func (d *Doorkeeper) Again(key string) bool {
	sum := maphash.String(d.seed, key) | 1 // an empty place is 0
	return d.places[sum>>48].Swap(sum) == sum
}

// Knows reports whether a key was requested before, and returns its hash for Record.
func (d *Doorkeeper) Knows(key []byte) (sum uint64, known bool) {
	sum = maphash.Bytes(d.seed, key) | 1
	return sum, d.places[sum>>48].Load() == sum
}

// Record records that the key with this hash was requested.
func (d *Doorkeeper) Record(sum uint64) { d.places[sum>>48].Store(sum) }

// isForm reports whether the parameters of a path choose the form of an icon, or the icons of a
// row. The sprite of a bag is no icon.
func isForm(path string) bool {
	return routes.IsRow(path) || strings.HasPrefix(path, routes.IconPath) ||
		strings.HasSuffix(path, ".svg") && !strings.HasPrefix(path, "/-/")
}
