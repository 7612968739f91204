package objectstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"time"
)

// abandoned is the age at which an unfinished write must be the remains of a crash, because no
// upload takes a day.
const abandoned = 24 * time.Hour

// Delete removes an object, and the folders that become empty.
func (d *DirStore) Delete(ctx context.Context, key string) error {
	err := checkKey(key)
	if err == nil {
		err = d.delete(ctx, key)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if err := d.fail("deleting", key, err); !errors.Is(err, ErrNotExist) {
			return err
		}
	}
	return nil
}

func (d *DirStore) delete(ctx context.Context, key string) error {
	root, err := d.root(ctx)
	if err != nil {
		return err
	}
	defer root.Close()
	if fi, err := root.Lstat(key); err != nil || fi.IsDir() {
		return err // nothing to remove, so no lock file need be created
	}
	if err := root.MkdirAll(private, 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, root)
	if err != nil {
		return err
	}
	defer unlock()
	if err := root.Remove(key); err != nil {
		return err
	}
	folder := path.Dir(key)
	for folder != "." && root.Remove(folder) == nil { // stops at the first folder that is not empty
		folder = path.Dir(folder)
	}
	return syncFolders(root, folder, false)
}

// sweep removes the remains of writers that crashed. It ignores errors, because the remains do no
// harm.
func sweep(root *os.Root, now time.Time) {
	entries, err := fs.ReadDir(root.FS(), unfinished)
	if err != nil {
		return
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && now.Sub(fi.ModTime()) > abandoned {
			root.Remove(unfinished + "/" + e.Name())
		}
	}
}
