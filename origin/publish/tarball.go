package publish

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/iconedge/iconedge/origin/svg"
)

// maxUnpacked is the largest size of an unpacked package, in bytes; that of @iconify/json has 0.5
// GB.
const maxUnpacked = 4 << 30

// unpack writes the files of an npm package that a publication reads into a new folder: SVG files,
// descriptions and licences, and icon data in Iconify's form. It writes only regular files, below
// the folder.
func unpack(ctx context.Context, tarball, folder string) error {
	file, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("reading its archive: %w", err)
	}
	u := unpacker{root: root, in: tar.NewReader(io.LimitReader(packed, maxUnpacked+1))}
	for ctx.Err() == nil {
		more, err := u.next()
		if err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

type unpacker struct {
	root    *os.Root
	in      *tar.Reader
	entries int
	bytes   int64
}

// next writes one file. more is false at the end of the archive.
func (u *unpacker) next() (more bool, err error) {
	head, err := u.in.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading its archive: %w", err)
	}
	if u.entries++; u.entries > maxEntries {
		return false, fmt.Errorf("it has more than %d files", maxEntries)
	}
	if u.bytes += head.Size; u.bytes > maxUnpacked {
		return false, fmt.Errorf("its files have more than %d bytes", int64(maxUnpacked))
	}
	_, name, _ := strings.Cut(head.Name, "/") // npm drops the first folder, which most call package
	if head.Typeflag != tar.TypeReg || !fs.ValidPath(name) || name == "." || !isRead(name) {
		return true, nil
	}
	if len(strings.Split(name, "/")) > maxDepth {
		return true, nil
	}
	if err := u.root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
		return false, err
	}
	to, err := u.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	most := int64(maxIcons) + 1
	if isSVG(name) {
		most = svg.MaxBytes + 1 // a larger one is left out by its size
	}
	_, err = io.Copy(to, io.LimitReader(u.in, most))
	return true, errors.Join(err, to.Close())
}

// isRead reports whether a publication reads a file of a package.
func isRead(name string) bool {
	dir, base := path.Split(name)
	lower := strings.ToLower(base)
	switch {
	case isSVG(name):
		return true
	case dir == "json/":
		return path.Ext(name) == ".json"
	case dir != "":
		return false
	}
	return path.Ext(lower) == ".json" || strings.HasPrefix(lower, "licen") || strings.HasPrefix(lower, "copying") ||
		strings.HasPrefix(lower, "unlicense")
}
