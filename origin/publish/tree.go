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
	// maxMetadata is the size in bytes up to which a file that describes drawings is read: it is held in memory as a whole. The
	// largest of @iconify/json has 0.2 MB, the largest of the tag packages 15 MB.
	maxMetadata = 64 << 20
	// maxIcons is the same for a pack in Iconify's form, which is decoded icon by icon. The largest of @iconify/json has 104 MB.
	maxIcons = 512 << 20
)

var (
	errLeaves  = errors.New("it is a symbolic link that leaves the source, or an absolute one: put the file or folder there instead")
	errNotFile = errors.New("it is not a file")
	errSize    = errors.New("it is too large")
)

// A tree is the folder of a source, or of a package of tags, as a file system. Symbolic links are followed as long as they stay
// inside, files that are not regular are refused unopened, because reading a pipe might never end, and every read ends with ctx.
type tree struct {
	ctx  context.Context
	root *os.Root
	path string
	most int64 // bytes of a file
}

// openTree opens a folder. The publication closes it when it ends.
func (p *publication) openTree(ctx context.Context, path string) (*tree, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	p.roots = append(p.roots, root)
	return &tree{ctx, root, path, maxMetadata}, nil
}

func (p *publication) closeTrees() {
	for _, root := range p.roots {
		root.Close()
	}
}

// large is the same tree for files that are not held as a whole.
func (t *tree) large() *tree { return &tree{t.ctx, t.root, t.path, maxIcons} }

// full is the path of a file, for messages.
func (t *tree) full(name string) string { return filepath.Join(t.path, filepath.FromSlash(name)) }

// Stat follows links.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	fi, err := t.root.Stat(name)
	return fi, t.fail(name, err)
}

// Open opens a folder, or a file that is not too large.
func (t *tree) Open(name string) (fs.File, error) {
	fi, err := t.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !fi.IsDir() && !fi.Mode().IsRegular():
		return nil, t.fail(name, errNotFile)
	case !fi.IsDir() && fi.Size() > t.most:
		return nil, t.tooLarge(name)
	}
	f, err := t.root.Open(name)
	if err != nil {
		return nil, t.fail(name, err)
	}
	return &treeFile{file: f, tree: t, name: name}, nil
}

// ReadDir lists a folder, sorted by name.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	list, err := fs.ReadDir(t.root.FS(), name)
	return list, t.fail(name, err)
}

func (t *tree) tooLarge(name string) error {
	return t.fail(name, fmt.Errorf("%w: it may have at most %d bytes (%d MiB)", errSize, t.most, t.most>>20))
}

// fail names the file by its whole path, and turns the error of os.Root, which exports none, into ours.
func (t *tree) fail(name string, err error) error {
	if err == nil {
		return nil
	}
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if strings.HasSuffix(err.Error(), "path escapes from parent") {
		err = errLeaves
	}
	return &fs.PathError{Op: "reading", Path: printable(t.full(name)), Err: err}
}

// A treeFile ends with its tree's context, and is no longer than it may be, whatever it said. It is no io.WriterTo.
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
	if f.read += int64(n); f.read > f.tree.most {
		return 0, f.tree.tooLarge(f.name)
	}
	return n, err
}

// copyTo writes what is in a file to w.
func (t *tree) copyTo(w io.Writer, name string) error {
	file, err := t.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}
