package objectstore

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
)

// List yields the objects under a prefix, without ETags. It skips links, and files whose names are
// not valid keys.
func (d *DirStore) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		err := checkPrefix(prefix)
		if err == nil {
			err = d.list(ctx, prefix, func(i Info) bool { return yield(i, nil) })
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errStop) {
			return // a store that does not exist yet is empty
		}
		yield(Info{}, d.fail("listing", prefix, err))
	}
}

var errStop = errors.New("the caller stopped the listing")

func (d *DirStore) list(ctx context.Context, prefix string, yield func(Info) bool) error {
	root, err := d.root(ctx)
	if err != nil {
		return err
	}
	defer root.Close()
	w := walk{ctx, root.FS(), prefix, yield}
	return w.folder(".")
}

type walk struct {
	ctx    context.Context
	files  fs.FS
	prefix string
	yield  func(Info) bool
}

// folder walks one folder in the order of keys, which is not that of file names: "a-b" comes before
// "a/c", so folders are compared with a slash at the end.
func (w *walk) folder(name string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.files, name)
	if errors.Is(err, fs.ErrNotExist) && name != "." {
		return nil // removed during the listing
	}
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(withSlash(a), withSlash(b)) })
	for _, e := range entries {
		if err := w.entry(path.Join(name, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func withSlash(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

func (w *walk) entry(key string, e fs.DirEntry) error {
	switch {
	case checkKey(key) != nil:
	case e.IsDir():
		if within := key + "/"; strings.HasPrefix(within, w.prefix) || strings.HasPrefix(w.prefix, within) {
			return w.folder(key)
		}
	case e.Type().IsRegular() && strings.HasPrefix(key, w.prefix):
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed during the listing
		}
		if err != nil {
			return err
		}
		if !w.yield(Info{Key: key, Size: fi.Size(), Modified: fi.ModTime()}) {
			return errStop
		}
	}
	return nil
}
