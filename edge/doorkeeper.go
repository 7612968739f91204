package edge

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// A doorkeeper lets a form of a drawing be stored when it is asked for the second time. Of one drawing there are millions of
// forms (sizes, turns, flips), and whoever asks for them one by one would push out what others ask for. It knows the keys that came last,
// as many as there are places, by hashes that nobody outside can make meet; a key has one place, and takes it from whatever was there.
type doorkeeper struct {
	seed   maphash.Seed
	places [1 << 16]atomic.Uint64
}

// admits reports whether the answer to a key of one of our own routes may be stored. To the doorkeeper it has then been asked for.
func (d *doorkeeper) admits(key string) bool {
	path, _, form := strings.Cut(key, "?")
	if !form || !strings.HasSuffix(path, ".svg") && !strings.HasPrefix(path, iconPath) {
		return true
	}
	sum := maphash.String(d.seed, key) | 1 // an empty place is 0
	return d.places[sum>>48].Swap(sum) == sum
}
