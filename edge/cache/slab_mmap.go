//go:build (linux || darwin || freebsd || netbsd || openbsd || dragonfly) && !race

package cache

import "syscall"

// mapSlab asks the system for memory that is no part of the heap: the collector neither looks at it nor waits for it to double.
// It is resident only as far as it is used. Nil: there is none.
func mapSlab(size int) []byte {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

// unmapSlab gives it back.
func unmapSlab(b []byte) { syscall.Munmap(b) } // of what was mapped just so, it does not fail
