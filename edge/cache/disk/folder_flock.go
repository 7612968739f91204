//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import "os"

// syncDir makes changes in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
