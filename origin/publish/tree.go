package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// maxMetadata is the largest size in bytes of a file that describes icons, because memory holds
	// the whole file. The largest of @iconify/json has 0.2 MB, the largest of the tag packages 15
	// MB.
	maxMetadata = 64 << 20
	// maxIcons is the largest size in bytes of a pack in Iconify's form, which is decoded icon by
	// icon. The largest of @iconify/json has 104 MB.
	maxIcons = 512 << 20
)

var (
	errOutside = errors.New("it is a symbolic link that leaves the source, or an absolute one: put the file or folder there instead")
	errNotFile = errors.New("it is not a file")
	errSize    = errors.New("it is too large")
)

// A tree is the folder of a source, or of a package of tags, as a file system. It follows symbolic
// links that stay inside the folder. It does not open irregular files, because reading a pipe might
// never end. A read fails once ctx has ended.
type tree struct {
	ctx      context.Context
	root     *os.Root
	path     string
	maxBytes int64  // bytes of a file
	name     string // of the folder; "": as in path
}

// openTree opens a folder. The publication closes it when it ends.
func (p *publication) openTree(ctx context.Context, path string) (*tree, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	p.roots = append(p.roots, root)
	return &tree{ctx: ctx, root: root, path: path, maxBytes: maxMetadata}, nil
}

func (p *publication) closeTrees() {
	for _, root := range p.roots {
		root.Close()
	}
}

// large returns the same tree for files that are decoded piece by piece.
func (t *tree) large() *tree {
	large := *t
	large.maxBytes = maxIcons
	return &large
}

// fullPath returns the path of a file, for messages.
func (t *tree) fullPath(name string) string { return filepath.Join(t.path, filepath.FromSlash(name)) }

// Stat follows links.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	fi, err := t.root.Stat(name)
	return fi, t.pathError(name, err)
}

// Open opens a folder, or a file that is not too large.
func (t *tree) Open(name string) (fs.File, error) {
	fi, err := t.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !fi.IsDir() && !fi.Mode().IsRegular():
		return nil, t.pathError(name, errNotFile)
	case !fi.IsDir() && fi.Size() > t.maxBytes:
		return nil, t.tooLarge(name)
	}
	f, err := t.root.Open(name)
	if err != nil {
		return nil, t.pathError(name, err)
	}
	return &treeFile{file: f, tree: t, name: name}, nil
}

// ReadDir lists a folder, sorted by name.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	list, err := fs.ReadDir(t.root.FS(), name)
	return list, t.pathError(name, err)
}

func (t *tree) tooLarge(name string) error {
	return t.pathError(name, fmt.Errorf("%w: it may have at most %d bytes (%d MiB)", errSize, t.maxBytes, t.maxBytes>>20))
}

// pathError adds the full path of the file to an error. It replaces the error of os.Root for a link
// that leaves the folder, which package os does not export, by errOutside.
func (t *tree) pathError(name string, err error) error {
	if err == nil {
		return nil
	}
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if strings.HasSuffix(err.Error(), "path escapes from parent") {
		err = errOutside
	}
	return &fs.PathError{Op: "reading", Path: printable(t.fullPath(name)), Err: err}
}

// A treeFile is a file of a tree. Read fails once the context of the tree has ended, or after
// maxBytes, even if the file has grown since Open checked its size. It is not an io.WriterTo, which
// io.Copy would use in place of Read.
type treeFile struct {
	file *os.File
	tree *tree
	name string
	read int64
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f.file.Stat() }
func (f *treeFile) Close() error               { return f.file.Close() }

func (f *treeFile) Read(b []byte) (int, error) {
	if err := f.tree.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.file.Read(b)
	if f.read += int64(n); f.read > f.tree.maxBytes {
		return 0, f.tree.tooLarge(f.name)
	}
	return n, err
}

// copyTo copies the content of a file to w.
func (t *tree) copyTo(w io.Writer, name string) error {
	file, err := t.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}
