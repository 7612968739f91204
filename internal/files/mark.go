package files

import (
	"os"
	"sync"
)

// A Mark remembers the metadata of files that are read when they are needed, and shows whether they
// have changed since. Unlike a Watched it needs no goroutine. It is safe for concurrent use.
type Mark struct {
	mu    sync.Mutex
	paths []string
	read  []os.FileInfo // metadata when the files were last read; nil: no file
}

// NewMark makes a Mark for the files at paths, which may be missing. They count as changed until
// Reading is called.
func NewMark(paths ...string) *Mark { return &Mark{paths: paths} }

// Reading must be called before the files are read, so that Changed sees changes that happen during
// the reading.
func (m *Mark) Reading() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = m.read[:0]
	for _, path := range m.paths {
		m.read = append(m.read, stat(path))
	}
}

// Changed reports whether a file has changed since Reading.
func (m *Mark) Changed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.read) != len(m.paths) {
		return true
	}
	for i, path := range m.paths {
		if !same(stat(path), m.read[i]) {
			return true
		}
	}
	return false
}
