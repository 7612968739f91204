package proxy

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/routes"
)

// A doorkeeper lets a form of an icon be stored when clients request it for the second time. One
// icon has millions of forms (sizes, rotations, flips), and a client that requests them one by one
// would evict the responses that others need. The doorkeeper remembers the latest keys, at most one
// for each place, by seeded hashes whose collisions no client can provoke. Each key has one place,
// and replaces the key that was there.
type doorkeeper struct {
	seed   maphash.Seed
	places [1 << 16]atomic.Uint64
}

// admits reports whether the response to a key of one of our own routes may be stored, and records
// that the key was requested. Like the form of an icon, the page of an error is stored at the second
// request, because clients can invent any number of addresses.
func (d *doorkeeper) admits(key string, errorPage bool) bool {
	path, _, form := strings.Cut(key, "?")
	if !errorPage && (!form || !isForm(path)) {
		return true
	}
	sum := maphash.String(d.seed, key) | 1 // an empty place is 0
	return d.places[sum>>48].Swap(sum) == sum
}

// isForm reports whether the parameters of a path choose the form of an icon. The sprite of a bag
// is no icon.
func isForm(path string) bool {
	return strings.HasSuffix(path, ".svg") && !strings.HasPrefix(path, "/-/") || strings.HasPrefix(path, routes.IconPath)
}
