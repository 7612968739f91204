//go:build (linux || darwin || freebsd || netbsd || openbsd || dragonfly) && !race

package slabs

import "syscall"

// Map maps memory of zeros. Only used pages are resident. It returns nil if there is no memory.
func Map(size int) []byte {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

// Unmap releases the memory of Map, which cannot fail. It needs all of it.
func Unmap(b []byte) { syscall.Munmap(b) }
