//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly) || race

package memory

// mapSlab allocates memory on the heap, which has no pointers for the garbage collector. The race
// detector checks only the heap.
func mapSlab(size int) []byte { return make([]byte, size) }

// unmapSlab leaves the memory to the garbage collector.
func unmapSlab([]byte) {}
