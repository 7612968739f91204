// Package files reads files again when an operator has changed them. It watches their metadata and
// needs no signal. It also reads files of secrets, and locks files against other processes.
package files

import (
	"errors"
	"os"
)

// ErrLocked means that another process uses a file, or the folder for which it stands.
var ErrLocked = errors.New("another process uses it")

// A file is a watched file. It is not safe for concurrent use.
type file struct {
	path string
	seen os.FileInfo // metadata at the last check; nil: no file
	read os.FileInfo // metadata when it was last read, even without success
}

// reading must be called before the file is read, so that the next check sees changes that happen
// during the reading.
func (f *file) reading() {
	f.read = stat(f.path)
	f.seen = f.read
}

// changed reports whether the file has changed since it was read. While the file differs from one
// check to the next, it may still be being written, and changed returns false.
func (f *file) changed() bool {
	now := stat(f.path)
	settled := same(now, f.seen)
	f.seen = now
	return settled && !same(now, f.read)
}

func stat(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// same reports whether two checks saw the same file with the same content, by size and modification
// time.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
