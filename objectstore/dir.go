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

// maxHashed is the size in bytes up to which the ETag of a file is the SHA-256 of its content.
const maxHashed = 1 << 20

// A DirStore keeps each object as a file of that name in a folder. What leads out of the folder (a symbolic link, say) is
// ErrKey: os.Root resolves every name.
//
// The ETag of an object of up to 1 MiB is the SHA-256 of its content, found when asked for. That of a larger one is its size
// and time of modification: reading hundreds of megabytes in Stat would cost more than it is worth, as what is written on a
// condition is small.
type DirStore struct {
	path  string
	sweep sync.Once
}

// Dir is the store in the folder at path, which need not be there: it is made when something is first written.
func Dir(path string) *DirStore { return &DirStore{path: path} }

// root opens the folder anew for each call, so that a folder that was replaced is noticed; it costs one system call.
func (d *DirStore) root(ctx context.Context) (*os.Root, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return os.OpenRoot(d.path)
}

// Open opens an object for reading. What it reads stays the same when the object is replaced meanwhile.
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

// openIn opens a regular file; a folder is no object.
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

// Stat tells size, time and ETag of an object.
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

// etag is that of an opened file; see DirStore.
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

// fail says what was being done where, and turns the system's errors into ours.
func (d *DirStore) fail(doing, key string, err error) error {
	where := strings.TrimSpace(doing+" "+key) + " in dir:" + d.path
	switch {
	case errors.Is(err, ErrKey): // the key itself may be anything, and is left out
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
	case strings.HasSuffix(err.Error(), "path escapes from parent"): // of os.Root, which exports no error for it
		return fmt.Errorf("%s: %w: it leads out of the store", where, ErrKey)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// isFile reports whether something else than a folder is where the store should be.
func (d *DirStore) isFile() bool {
	fi, err := os.Stat(d.path)
	return err == nil && !fi.IsDir()
}
