package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/iconedge/iconedge/origin/release"
)

// An archive is the archive of one pack, once it is opened. Releases share it, and users counts the
// releases that hold it.
type archive struct {
	*release.Archive
	hash  string
	users int // guarded by mirror.mu

	opening sync.Mutex
	file    *os.File // nil until opened
	mapped  []byte   // its content
}

// hold returns an archive, open or not, whose file stays in the mirror until the caller calls
// putBack.
func (m *mirror) hold(b release.Blob) *archive {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.held[b.Hash]
	if a == nil {
		a = &archive{hash: b.Hash}
		m.held[b.Hash] = a
	}
	a.users++
	return a
}

// ensure opens an archive that the caller holds, unless it is open. It checks the hash of its file.
func (m *mirror) ensure(ctx context.Context, a *archive, b release.Blob) error {
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.file != nil {
		return nil
	}
	key := release.ArchiveKey(b.Hash)
	f, err := m.fetch(ctx, key, b)
	if err != nil {
		return err
	}
	if err := a.read(f, b.Size); err != nil {
		f.Close()
		return fmt.Errorf("opening %s: %w", key, err)
	}
	a.file = f
	return nil
}

// read opens the archive in a file. Of the mapping, only the directory is used: an SVG that can't
// be read from the disk is an error, and an address that can't be read ends the process.
func (a *archive) read(f *os.File, size int64) (err error) {
	if !mapsFiles {
		a.Archive, err = release.OpenArchive(f, size)
		return err
	}
	if a.mapped, err = mapFile(f, size); err != nil {
		return err
	}
	if a.Archive, err = release.OpenMapped(f, a.mapped); err != nil {
		unmap(a.mapped)
		return err
	}
	unload(a.mapped)
	return nil
}

// putBack undoes one hold. The last call closes the archive and removes it from the mirror, unless
// no release has been current yet: a start that fails falls back to the release in the mirror.
func (m *mirror) putBack(a *archive) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.users--; a.users > 0 {
		return
	}
	delete(m.held, a.hash)
	if a.file != nil {
		unmap(a.mapped)
		a.file.Close()
	}
	if m.used.Load() && !m.closing.Load() {
		os.Remove(m.path(release.ArchiveKey(a.hash)))
	}
}

// mapIndex returns the verified content of a search index, mapped into memory. The caller must call
// unmap.
func (m *mirror) mapIndex(ctx context.Context, b release.Blob) ([]byte, error) {
	key := release.IndexKey(b.Hash)
	f, err := m.fetch(ctx, key, b)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := mapFile(f, b.Size)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return data, nil
}

// readSets returns the sets of a release. It keeps their file for the next start.
func (m *mirror) readSets(ctx context.Context, b release.Blob) ([]release.Set, error) {
	if b == (release.Blob{}) {
		return nil, nil
	}
	key := release.SetsKey(b.Hash)
	f, err := m.fetch(ctx, key, b)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, b.Size)
	if _, err := f.ReadAt(data, 0); err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	sets, err := release.ParseSets(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return sets, nil
}

// prune removes the archives, indexes, sets and made contents that the release of man in a state
// does not use: remains of an earlier run, and those of former releases.
func (m *mirror) prune(man *release.Manifest, state string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	keepArchive := func(name string) bool { return m.held[strings.TrimSuffix(name, ".zip")] != nil }
	if err := m.sweep(release.ArchivePrefix, keepArchive); err != nil {
		return err
	}
	return errors.Join(
		m.sweep(release.IndexPrefix, func(name string) bool { return strings.TrimSuffix(name, ".idx") == man.Index.Hash }),
		m.sweep(release.SetsPrefix, func(name string) bool { return strings.TrimSuffix(name, ".json") == man.Sets.Hash }),
		m.sweep(madeDir, func(name string) bool { return strings.HasPrefix(name, state+".") }))
}
