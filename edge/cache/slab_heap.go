//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly) || race

package cache

// mapSlab takes memory from the heap, in which the collector finds no pointers; under the race detector too, which knows no other.
func mapSlab(size int) []byte { return make([]byte, size) }

// unmapSlab leaves it to the collector.
func unmapSlab([]byte) {}
