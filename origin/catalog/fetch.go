package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/iconedge/iconedge/origin/release"
)

const tempDir = "tmp" // folder in the mirror for incomplete files

// copyBuffer is so large that hashing limits the speed, and not the number of read calls.
const copyBuffer = 256 << 10

// fetch returns the mirror's file of a blob, complete and verified. If the mirror lacks the file or
// it is damaged, fetch copies it from the store and hashes it on the way.
func (m *mirror) fetch(ctx context.Context, key string, b release.Blob) (*os.File, error) {
	f, err := m.check(key, b)
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, release.ErrDamaged) {
		return nil, err
	}
	r, err := m.store.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	defer r.Close()
	return m.save(key, r, func(size int64, sum string) error {
		m.counts.fetched.Add(size)
		return checkBlob(b, size, sum)
	})
}

// has reports whether the mirror has a file of that size. It does not check the content.
func (m *mirror) has(key string, size int64) bool {
	info, err := os.Stat(m.path(key))
	return err == nil && info.Size() == size
}

// check opens the mirror's file if its content matches b.
func (m *mirror) check(key string, b release.Blob) (*os.File, error) {
	f, err := os.Open(m.path(key))
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	size, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, copyBuffer))
	if err == nil {
		err = checkBlob(b, size, hex.EncodeToString(h.Sum(nil)))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkBlob returns an error unless the size and hash are those of b.
func checkBlob(b release.Blob, size int64, sum string) error {
	switch {
	case size != b.Size:
		return fmt.Errorf("%w: it has %d bytes, not %d", release.ErrDamaged, size, b.Size)
	case sum != b.Hash:
		return fmt.Errorf("%w: its hash differs from its name", release.ErrDamaged)
	}
	return nil
}

// save writes an object of the mirror, so that readers of the folder see all of it or nothing.
// accept checks its size and hash.
func (m *mirror) save(key string, r io.Reader, accept func(size int64, sum string) error) (*os.File, error) {
	f, err := m.download()
	if err != nil {
		return nil, fmt.Errorf("mirroring %s: %w", key, err)
	}
	h := sha256.New()
	size, err := io.CopyBuffer(io.MultiWriter(f, h), struct{ io.Reader }{r}, make([]byte, copyBuffer))
	if err == nil {
		err = accept(size, hex.EncodeToString(h.Sum(nil)))
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(m.path(key)), 0o755)
	}
	if err == nil {
		err = os.Rename(f.Name(), m.path(key))
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, fmt.Errorf("mirroring %s: %w", key, err)
	}
	return f, nil
}

// saveBytes is save for data in memory.
func (m *mirror) saveBytes(key string, data []byte) error {
	f, err := m.save(key, bytes.NewReader(data), func(int64, string) error { return nil })
	if err != nil {
		return err
	}
	return f.Close()
}
