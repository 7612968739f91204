package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/iconedge/iconedge/internal/files"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// A mirror is the folder with the objects of a release, under their keys in the store. Releases
// share the archives that they have in common: the mirror fetches, hashes and opens each archive
// once, and closes and removes it when no release uses it any more.
type mirror struct {
	dir     string
	store   objectstore.Reader
	counts  *counts
	used    atomic.Bool // set once a release is current: before, no file is removed, but by prune
	closing atomic.Bool // set at the end, when files are closed but stay for the next start

	mu   sync.Mutex
	held map[string]*archive // by hash
}

// maxManifest bounds the size of a manifest; one with 243 packs has about 300 KB.
const maxManifest = 64 << 20

func openMirror(dir string, store objectstore.Reader) (*mirror, error) {
	for _, sub := range []string{tempDir, release.ArchivePrefix, release.IndexPrefix, release.SetsPrefix, madeDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("making the mirror: %w", err)
		}
	}
	m := &mirror{dir: dir, store: store, held: map[string]*archive{}}
	return m, m.sweepDownloads()
}

// sweepDownloads removes incomplete downloads of a crash, and none of another process that mirrors
// into the same folder, such as the next origin during a restart.
func (m *mirror) sweepDownloads() error {
	return m.sweep(tempDir, func(name string) bool {
		lock, err := files.Lock(filepath.Join(m.dir, tempDir, name))
		if err == nil {
			lock.Close()
		}
		return errors.Is(err, files.ErrLocked)
	})
}

// download creates the file of a download, locked until it is closed.
func (m *mirror) download() (*os.File, error) {
	for {
		f, err := os.CreateTemp(filepath.Join(m.dir, tempDir), "*")
		if err != nil {
			return nil, err
		}
		if !errors.Is(files.LockFile(f), files.ErrLocked) { // some file systems have no locks
			if _, err := os.Lstat(f.Name()); !errors.Is(err, fs.ErrNotExist) {
				return f, nil
			}
		}
		f.Close() // another process sweeps the folder, and was faster
	}
}

func (m *mirror) path(key string) string { return filepath.Join(m.dir, filepath.FromSlash(key)) }

// storeCurrent returns the id of the release that the store names as current.
func (m *mirror) storeCurrent(ctx context.Context) (string, error) {
	data, err := objectstore.ReadAll(ctx, m.store, release.CurrentKey, 1<<16)
	if errors.Is(err, objectstore.ErrNotExist) {
		return "", errNothingPublished
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", release.CurrentKey, err)
	}
	return currentID(data)
}

func currentID(data []byte) (string, error) {
	c, err := release.ParseCurrent(data)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", release.CurrentKey, err)
	}
	return c.Release, nil
}

// manifest reads the manifest of a release from the store. The mirror's copy is used only if the
// store is unreachable: the history is not part of a release's id, and the store has the latest
// history.
func (m *mirror) manifest(ctx context.Context, id string) (*release.Manifest, error) {
	key := release.ManifestKey(id)
	data, err := objectstore.ReadAll(ctx, m.store, key, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return parseManifest(key, id, data)
}

func parseManifest(key, id string, data []byte) (*release.Manifest, error) {
	man, err := release.ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	if man.ID != id { // a valid manifest under the wrong key
		return nil, fmt.Errorf("reading %s: it belongs to another release: %w", key, release.ErrDamaged)
	}
	return man, nil
}

// ownManifest returns the manifest of the release that was current when the mirror was last used.
func (m *mirror) ownManifest() (*release.Manifest, error) {
	data, err := os.ReadFile(m.path(release.CurrentKey))
	if err != nil {
		return nil, err
	}
	id, err := currentID(data)
	if err != nil {
		return nil, err
	}
	key := release.ManifestKey(id)
	if data, err = os.ReadFile(m.path(key)); err != nil {
		return nil, err
	}
	return parseManifest(key, id, data)
}

// setCurrent records man as the mirror's own release, from which to start if the store is
// unreachable.
func (m *mirror) setCurrent(man *release.Manifest) error {
	key := release.ManifestKey(man.ID)
	if err := m.saveBytes(key, man.Encode()); err != nil {
		return err
	}
	now := release.Current{Release: man.ID, Published: man.Created}
	if err := m.saveBytes(release.CurrentKey, now.Encode()); err != nil {
		return err
	}
	return m.sweep(release.ManifestPrefix, func(name string) bool { return name == man.ID })
}

// sweep removes the entries of a folder of the mirror, except those for which keep returns true.
func (m *mirror) sweep(sub string, keep func(name string) bool) error {
	entries, err := os.ReadDir(filepath.Join(m.dir, sub))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if keep != nil && keep(e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(m.dir, sub, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
