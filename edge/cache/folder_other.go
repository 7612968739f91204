//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package cache

import (
	"os"
	"path/filepath"
)

// lockDir opens a file, and leaves it to the operator that no other process uses the folder: this system has no flock.
func lockDir(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
}

// syncDir does nothing: not every system can do that with a folder.
func syncDir(string) error { return nil }
