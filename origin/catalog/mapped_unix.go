//go:build unix

package catalog

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const mapsFiles = true

// mapFile maps the first size bytes of a file into memory, read-only. The kernel reads pages when
// they are needed, and can drop them. The mapping outlives the file: closing or removing the file
// does not change it. The mirror never writes to a file that has its final name.
func mapFile(f *os.File, size int64) ([]byte, error) {
	if size == 0 {
		return []byte{}, nil
	}
	return syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
}

// unload takes the pages of a mapping out of the memory of the process. They return, from the cache
// of the kernel or the file, when they are needed.
func unload(data []byte) {
	if len(data) > 0 {
		unix.Madvise(data, unix.MADV_DONTNEED) // no more than advice: an error changes nothing
	}
}

// unmap ends a mapping of mapFile.
func unmap(data []byte) {
	if len(data) > 0 {
		syscall.Munmap(data)
	}
}
