// Package recent finds places in tables of recent values. Such a table is an array of pointers: a
// value has one slot, by its hash, and replaces the value that was there. So the table has a fixed
// size and needs no lock.
package recent

import (
	"hash/maphash"
	"sync/atomic"
)

// seed is random, so that a client cannot choose values that collide.
var seed = maphash.MakeSeed()

// Slot returns the slot of the value with this key.
func Slot[T any](slots []atomic.Pointer[T], key []byte) *atomic.Pointer[T] {
	return &slots[maphash.Bytes(seed, key)%uint64(len(slots))]
}

// SlotOf is Slot for a key that is a string.
func SlotOf[T any](slots []atomic.Pointer[T], key string) *atomic.Pointer[T] {
	return &slots[maphash.String(seed, key)%uint64(len(slots))]
}
