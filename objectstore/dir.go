package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
)

// maxHashed is the largest size in bytes of a file whose ETag is the SHA-256 of its content.
const maxHashed = 1 << 20

// A DirStore keeps each object as a file of that name in a folder. os.Root resolves every name, so
// a name that leads out of the folder (for example through a symbolic link) is ErrKey.
//
// The ETag of an object of up to 1 MiB is the SHA-256 of its content, which Stat computes. The ETag
// of a larger object is its size and time of modification: conditional writes concern small
// objects, and it is not worth reading hundreds of megabytes in Stat.
type DirStore struct {
	path  string
	sweep sync.Once
}

// Dir returns the store in the folder at path. The folder need not exist; the first write creates
// it.
func Dir(path string) *DirStore { return &DirStore{path: path} }

// Path returns the folder of the store.
func (d *DirStore) Path() string { return d.path }

// root opens the folder for each call, at the cost of one system call, so that a replaced folder is
// noticed.
func (d *DirStore) root(ctx context.Context) (*os.Root, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return os.OpenRoot(d.path)
}

// Open opens an object for reading. The reader keeps reading this version even if the object is
// replaced.
func (d *DirStore) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	f, _, err := d.open(ctx, key)
	if err != nil {
		return nil, d.fail("opening", key, err)
	}
	return f, nil
}

// OpenRange opens n bytes from offset off.
func (d *DirStore) OpenRange(ctx context.Context, key string, off, n int64) (io.ReadCloser, error) {
	if off < 0 {
		return nil, d.fail("opening", key, fmt.Errorf("negative offset %d", off))
	}
	f, fi, err := d.open(ctx, key)
	if err != nil {
		return nil, d.fail("opening", key, err)
	}
	if rest := max(0, fi.Size()-off); n < 0 || n > rest {
		n = rest
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, off, n), f}, nil
}

func (d *DirStore) open(ctx context.Context, key string) (*os.File, fs.FileInfo, error) {
	if err := checkKey(key); err != nil {
		return nil, nil, err
	}
	root, err := d.root(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	return openIn(root, key)
}

// openIn opens a regular file. A folder is not an object.
func openIn(root *os.Root, key string) (*os.File, fs.FileInfo, error) {
	f, err := root.Open(key)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// Stat returns the size, time and ETag of an object.
func (d *DirStore) Stat(ctx context.Context, key string) (Info, error) {
	f, fi, err := d.open(ctx, key)
	if err != nil {
		return Info{}, d.fail("looking at", key, err)
	}
	defer f.Close()
	tag, err := etag(f, fi)
	if err != nil {
		return Info{}, d.fail("looking at", key, err)
	}
	return Info{Key: key, Size: fi.Size(), Modified: fi.ModTime(), ETag: tag}, nil
}

// etag returns the ETag of an opened file; see DirStore.
func etag(f *os.File, fi fs.FileInfo) (string, error) {
	if fi.Size() > maxHashed {
		return fmt.Sprintf("%d-%d", fi.Size(), fi.ModTime().UnixNano()), nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fail adds the operation and the place to an error, and translates errors of the system to those
// of this package.
func (d *DirStore) fail(doing, key string, err error) error {
	where := strings.TrimSpace(doing+" "+key) + " in dir:" + d.path
	switch {
	case errors.Is(err, ErrKey): // omit the key: it may contain anything
		return fmt.Errorf("%s in dir:%s: %w", doing, d.path, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", where, ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w: %w", where, ErrDenied, err)
	case d.isFile():
		return fmt.Errorf("%s: %w: the store is not a folder", where, ErrNoBucket)
	case errors.Is(err, syscall.ENOTDIR) && doing != "writing":
		return fmt.Errorf("%s: %w", where, ErrNotExist) // a/b, where a is an object
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w: an object can't be the folder of another", where, ErrKey)
	// From os.Root, which exports no error value for it.
	case strings.HasSuffix(err.Error(), "path escapes from parent"):
		return fmt.Errorf("%s: %w: it leads out of the store", where, ErrKey)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// isFile reports whether the path of the store exists and is not a folder.
func (d *DirStore) isFile() bool {
	fi, err := os.Stat(d.path)
	return err == nil && !fi.IsDir()
}
