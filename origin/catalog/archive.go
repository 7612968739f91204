package catalog

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/iconedge/iconedge/origin/release"
)

// An archive is one pack's, open for reading. Releases share it; users counts those that have it open.
type archive struct {
	*release.Archive
	hash  string
	users int // guarded by mirror.mu

	opening sync.Mutex
	file    *os.File // nil until it is open
}

// take opens an archive, or shares it if it is open; the caller gives it back.
func (m *mirror) take(ctx context.Context, b release.Blob) (*archive, error) {
	m.mu.Lock()
	a := m.open[b.Hash]
	if a == nil {
		a = &archive{hash: b.Hash}
		m.open[b.Hash] = a
	}
	a.users++ // from here on nobody removes its file
	m.mu.Unlock()

	a.opening.Lock()
	defer a.opening.Unlock()
	if a.file != nil {
		return a, nil
	}
	if err := m.openArchive(ctx, a, b); err != nil {
		m.giveBack(a)
		return nil, err
	}
	return a, nil
}

func (m *mirror) openArchive(ctx context.Context, a *archive, b release.Blob) error {
	key := release.ArchiveKey(b.Hash)
	f, err := m.fetch(ctx, key, b)
	if err != nil {
		return err
	}
	if a.Archive, err = release.OpenArchive(f, b.Size); err != nil {
		f.Close()
		return fmt.Errorf("opening %s: %w", key, err)
	}
	a.file = f
	return nil
}

// giveBack undoes one take. The last one closes the archive and removes it from the mirror.
func (m *mirror) giveBack(a *archive) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.users--; a.users > 0 {
		return
	}
	delete(m.open, a.hash)
	if a.file == nil {
		return
	}
	a.file.Close()
	if !m.closing.Load() {
		os.Remove(m.path(release.ArchiveKey(a.hash)))
	}
}

// readIndex is the content of a search index, checked.
func (m *mirror) readIndex(ctx context.Context, b release.Blob) ([]byte, error) {
	key := release.IndexKey(b.Hash)
	f, err := m.fetch(ctx, key, b)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, b.Size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return data, nil
}

// prune removes archives and indexes that nothing uses: what an earlier run left, and indexes of releases that are over.
func (m *mirror) prune(index release.Blob) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	keepArchive := func(name string) bool { return m.open[strings.TrimSuffix(name, ".zip")] != nil }
	if err := m.sweep(release.ArchivePrefix, keepArchive); err != nil {
		return err
	}
	return m.sweep(release.IndexPrefix, func(name string) bool { return strings.TrimSuffix(name, ".idx") == index.Hash })
}
