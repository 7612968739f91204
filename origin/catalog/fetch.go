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

const tempDir = "tmp" // in the mirror: where files are until they are whole

// copyBuffer is large enough that hashing, not the calls to read, sets the pace.
const copyBuffer = 256 << 10

// fetch gives the mirror's file of a blob, whole and checked. What the mirror has is hashed; if it is absent or damaged it is
// copied from the store, and hashed on the way.
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
	return m.keep(key, r, func(size int64, sum string) error {
		m.counts.fetched.Add(size)
		return matches(b, size, sum)
	})
}

// check opens the mirror's own file if its content is what b says.
func (m *mirror) check(key string, b release.Blob) (*os.File, error) {
	f, err := os.Open(m.path(key))
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	size, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, copyBuffer))
	if err == nil {
		err = matches(b, size, hex.EncodeToString(h.Sum(nil)))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// matches says whether what was hashed is b.
func matches(b release.Blob, size int64, sum string) error {
	switch {
	case size != b.Size:
		return fmt.Errorf("%w: it has %d bytes, not %d", release.ErrDamaged, size, b.Size)
	case sum != b.Hash:
		return fmt.Errorf("%w: its content is not what it is called", release.ErrDamaged)
	}
	return nil
}

// keep writes an object of the mirror: readers of the folder see all of it or nothing. accept judges what was written.
func (m *mirror) keep(key string, r io.Reader, accept func(size int64, sum string) error) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Join(m.dir, tempDir), "*")
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

// write is keep for small things that the caller has at hand.
func (m *mirror) write(key string, data []byte) error {
	f, err := m.keep(key, bytes.NewReader(data), func(int64, string) error { return nil })
	if err != nil {
		return err
	}
	return f.Close()
}
