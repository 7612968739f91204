package search

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
)

// keySize is the size of the keys of a table in bytes.
const keySize = 16

// A table numbers distinct keys from 0 on, in the order in which they come. Of ten million keys it
// takes 230 MB, and a map of them 500. The first eight bytes of the keys must be evenly
// distributed, as those of a hash are.
type table struct {
	keys  []byte
	slots []uint32 // number of a key plus one; 0: empty. Their number is a power of two.
}

// newTable returns a table with room for some keys. It can have more.
func newTable(keys int) table {
	slots := 1 << 10
	for slots*3 <= keys*4 {
		slots *= 2
	}
	return table{make([]byte, 0, keys*keySize), make([]uint32, slots)}
}

// number returns the number of a key, and whether it is known already.
func (t *table) number(key [keySize]byte) (n uint32, known bool) {
	if n := len(t.slots); t.len()*4 >= n*3 {
		t.slots = make([]uint32, 2*n)
		for k := range t.len() {
			slot, _ := t.find([keySize]byte(t.keys[k*keySize:]))
			t.slots[slot] = uint32(k + 1)
		}
	}
	slot, found := t.find(key)
	if !found {
		t.keys = append(t.keys, key[:]...)
		t.slots[slot] = uint32(t.len())
	}
	return t.slots[slot] - 1, found
}

// find returns the slot of a key, or else the empty one where it belongs.
func (t *table) find(key [keySize]byte) (slot int, found bool) {
	mask := len(t.slots) - 1
	for slot = int(binary.LittleEndian.Uint64(key[:])) & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if at := int(t.slots[slot]-1) * keySize; [keySize]byte(t.keys[at:]) == key {
			return slot, true
		}
	}
	return slot, false
}

// len returns the number of keys.
func (t *table) len() int { return len(t.keys) / keySize }

// A hasher makes the keys of strings: two hashes of 64 bits, so that of ten million strings two
// have the same key with a probability below 10⁻²⁴.
type hasher [2]maphash.Seed

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func (h hasher) key(s string) (key [keySize]byte) {
	binary.LittleEndian.PutUint64(key[:], maphash.String(h[0], s))
	binary.LittleEndian.PutUint64(key[8:], maphash.String(h[1], s))
	return key
}

func (h hasher) bytesKey(b []byte) (key [keySize]byte) {
	binary.LittleEndian.PutUint64(key[:], maphash.Bytes(h[0], b))
	binary.LittleEndian.PutUint64(key[8:], maphash.Bytes(h[1], b))
	return key
}

// texts numbers distinct texts. It keeps them in one string, because the garbage collector would
// look at each of millions of strings again and again.
type texts struct {
	hasher  hasher
	numbers table
	all     strings.Builder
	ends    []uint32 // in all, by number
}

func newTexts() *texts { return &texts{hasher: newHasher(), numbers: newTable(0)} }

// number returns the number of a text, and adds it if it is new.
func (t *texts) number(text []byte) uint32 {
	n, known := t.numbers.number(t.hasher.bytesKey(text))
	if !known {
		t.all.Write(text)
		t.ends = append(t.ends, uint32(t.all.Len()))
	}
	return n
}

// find returns the number of a text, if it has one.
func (t *texts) find(text string) (n uint32, ok bool) {
	slot, ok := t.numbers.find(t.hasher.key(text))
	if !ok {
		return 0, false
	}
	return t.numbers.slots[slot] - 1, true
}

func (t *texts) len() int { return len(t.ends) }

// text returns the text with a number.
func (t *texts) text(n uint32) string {
	start := uint32(0)
	if n > 0 {
		start = t.ends[n-1]
	}
	return t.all.String()[start:t.ends[n]]
}

// sorted returns the numbers in the order of their texts.
func (t *texts) sorted() []uint32 {
	numbers := make([]uint32, t.len())
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	slices.SortFunc(numbers, func(a, b uint32) int { return strings.Compare(t.text(a), t.text(b)) })
	return numbers
}
