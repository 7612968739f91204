//go:build (linux || darwin || freebsd || netbsd || openbsd || dragonfly) && !race

package memory

import "syscall"

// mapSlab maps memory outside of the heap: the garbage collector does not scan it, and does not
// count it towards its next run. Only used pages are resident. It returns nil if there is no
// memory.
func mapSlab(size int) []byte {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

// unmapSlab releases the memory of mapSlab, which cannot fail.
// unmapSlab gives it back.
func unmapSlab(b []byte) { syscall.Munmap(b) }
