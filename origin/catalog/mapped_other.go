//go:build !unix

package catalog

import (
	"io"
	"os"
)

const mapsFiles = false

// mapFile reads the first size bytes of a file into memory.
func mapFile(f *os.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}

func unload([]byte) {}

func unmap([]byte) {}
