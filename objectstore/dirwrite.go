package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"time"
)

const (
	lockFile   = private + "/lock"
	unfinished = private + "/tmp" // unfinished writes
)

// Put stores an object. It writes a temporary file, and renames that once its content is on disk.
func (d *DirStore) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := d.write(ctx, key, &source{ctx: ctx, r: r, size: size}, always); err != nil {
		return d.fail("writing", key, err)
	}
	return nil
}

// PutIf stores an object on a condition. It holds a lock on the folder from checking the old object
// until the new one has replaced it, so the condition also holds between processes.
func (d *DirStore) PutIf(ctx context.Context, key string, r io.Reader, size int64, tag string) error {
	content, err := readSmall(&source{ctx: ctx, r: r, size: size})
	if err == nil {
		err = d.write(ctx, key, bytes.NewReader(content), func(root *os.Root) error { return unchanged(root, key, tag) })
	}
	if err != nil {
		return d.fail("writing", key, err)
	}
	return nil
}

func always(*os.Root) error { return nil }

// unchanged returns ErrChanged unless the object has the ETag tag or, for an empty tag, does not
// exist.
func unchanged(root *os.Root, key, tag string) error {
	f, fi, err := openIn(root, key)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotExist):
		if tag == "" {
			return nil
		}
		return ErrChanged
	case err != nil:
		return err
	}
	defer f.Close()
	now, err := etag(f, fi)
	if err != nil {
		return err
	}
	if now != tag {
		return ErrChanged
	}
	return nil
}

func (d *DirStore) write(ctx context.Context, key string, content io.Reader, allowed func(*os.Root) error) error {
	if err := checkKey(key); err != nil {
		return err
	}
	root, err := d.make(ctx)
	if err != nil {
		return err
	}
	defer root.Close()
	d.sweep.Do(func() { sweep(root, time.Now()) })
	name := unfinished + "/" + rand.Text()
	defer root.Remove(name) // no effect after a successful rename
	if err := spool(root, name, content); err != nil {
		return err
	}
	return commit(ctx, root, name, key, allowed)
}

// make opens the folder. It creates the folder and its private part if they are missing.
func (d *DirStore) make(ctx context.Context) (*os.Root, error) {
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return nil, err
	}
	root, err := d.root(ctx)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(unfinished, 0o755); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// spool writes content to a new file and syncs it to disk.
func spool(root *os.Root, name string, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// commit renames the finished file to its key. All changes to the tree happen under the lock, so
// that Delete does not remove the folders that commit needs, and no other write comes between the
// condition and the rename.
func commit(ctx context.Context, root *os.Root, name, key string, allowed func(*os.Root) error) error {
	unlock, err := lock(ctx, root)
	if err != nil {
		return err
	}
	defer unlock()
	if err := allowed(root); err != nil {
		return err
	}
	folder := path.Dir(key)
	_, err = root.Stat(folder)
	isNew := err != nil
	if err := root.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := root.Rename(name, filepath.FromSlash(key)); err != nil {
		return err
	}
	return syncFolders(root, folder, isNew)
}

// syncFolders syncs the entries of a folder to disk, and those of the folders above it if the
// folder is new.
func syncFolders(root *os.Root, folder string, isNew bool) error {
	if runtime.GOOS == "windows" { // Windows can't sync folders
		return nil
	}
	for {
		f, err := root.Open(folder)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		if folder == "." || !isNew {
			return nil
		}
		folder = path.Dir(folder)
	}
}
