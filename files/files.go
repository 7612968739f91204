// Package files notices that an operator has changed a file, without being told.
package files

import "os"

// A file is one that is read again when it has changed. It is not safe for concurrent use.
type file struct {
	path string
	seen os.FileInfo // at the last look; nil: it was not there
	read os.FileInfo // when it was last read, well or not
}

// reading is to be called before the file is read: what is written meanwhile is seen at the next look.
func (f *file) reading() {
	f.read = stat(f.path)
	f.seen = f.read
}

// changed reports whether the file is another than the one that was read. While it is still being written it changes from look
// to look, and is let be.
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

// same reports whether nobody has changed a file between two looks, or put another in its place.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
