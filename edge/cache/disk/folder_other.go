//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package disk

import (
	"os"
	"path/filepath"
)

// lockDir does not lock, because this system has no flock: the operator must make sure that no
// other process uses the folder.
func lockDir(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
}

// syncDir does nothing, because not every system can sync a folder.
func syncDir(string) error { return nil }
