package icon

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
)

// Names tells which packs and icons a release has, aliases and hidden ones included. It is a sorted list of 64-bit hashes: 8 bytes a
// name, and exact but for one question in 2^45 about what is not there, which then counts as there. Whoever invents names finds no such
// one in reasonable time, since the hash is a part of SHA-256, and would win a question to the origin if he did.
type Names struct{ hashes []byte }

const (
	namesForm = "names/1\n"
	hashBytes = 8
)

// What an answer says of a name or a pack that is well-formed, and not there.
const (
	NoIcon = "the pack has no icon of that name; /api/v1/search finds names by words"
	NoPack = "there is no pack of that key; /api/v1/packs lists them"
)

var errNames = errors.New("this is no list of names")

// NewNames makes the list of these packs ("mdi") and icons ("mdi/home").
func NewNames(names iter.Seq[string]) Names {
	var sums []uint64
	for name := range names {
		sums = append(sums, hashOf(name))
	}
	slices.Sort(sums)
	sums = slices.Compact(sums)
	n := Names{make([]byte, 0, len(sums)*hashBytes)}
	for _, sum := range sums {
		n.hashes = binary.BigEndian.AppendUint64(n.hashes, sum)
	}
	return n
}

func hashOf(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:])
}

// ParseNames reads what Append wrote. The list keeps b.
func ParseNames(b []byte) (Names, error) {
	if len(b) < len(namesForm) || string(b[:len(namesForm)]) != namesForm || len(b)%hashBytes != 0 {
		return Names{}, errNames
	}
	n := Names{b[len(namesForm):]}
	for i := 1; i < n.Len(); i++ {
		if n.at(i) <= n.at(i-1) {
			return Names{}, fmt.Errorf("%w: it is not sorted", errNames)
		}
	}
	return n, nil
}

// Append appends the list in the form in which it crosses the wire.
func (n Names) Append(b []byte) []byte { return append(append(b, namesForm...), n.hashes...) }

// Len is how many packs and icons there are.
func (n Names) Len() int { return len(n.hashes) / hashBytes }

// Has reports whether a pack or an icon is there.
func (n Names) Has(name string) bool {
	sum := hashOf(name)
	_, found := sort.Find(n.Len(), func(i int) int {
		switch at := n.at(i); {
		case sum < at:
			return -1
		case sum > at:
			return 1
		}
		return 0
	})
	return found
}

func (n Names) at(i int) uint64 { return binary.BigEndian.Uint64(n.hashes[i*hashBytes:]) }
