package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/catalog/catalogtest"
	"github.com/iconedge/iconedge/origin/release"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A world is a store, and a catalog that mirrors it.
type world struct {
	testing.TB
	catalogtest.Publisher
	folder, mirror string
	store          *switchable
	log            bytes.Buffer
	watcher        watcher
}

// A switchable is a store that can be made to fail.
type switchable struct {
	objectstore.Bucket
	mu   sync.Mutex
	away error
}

func (s *switchable) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return nil, s.away
	}
	return s.Bucket.Open(ctx, key)
}

func (s *switchable) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, folder: t.TempDir(), mirror: t.TempDir(), watcher: watcher{backoff: 1}}
	w.store = &switchable{Bucket: objectstore.Dir(w.folder)}
	w.Publisher.Store = objectstore.Dir(w.folder)
	return w
}

func library(path string) catalogtest.Library {
	l := catalogtest.Library{}
	l.Add("one", catalogtest.Square("home", path, 24))
	l.Add("one", catalogtest.Square("house", "M1 1h2z", 24))
	l.Add("two", catalogtest.Square("star", "M2 2h2z", 16))
	return l
}

func (w *world) publish(l catalogtest.Library) *release.Manifest {
	w.Helper()
	m, err := w.Publish(w.Context(), l, t0)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// open makes a catalog without starting it.
func (w *world) open() *Catalog {
	w.Helper()
	c, err := New(Options{Store: w.store, Mirror: w.mirror, Log: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Close)
	return c
}

func (w *world) start() *Catalog {
	w.Helper()
	c := w.open()
	if err := c.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	return c
}

// svg returns the SVG of one/home in the current release.
func (w *world) svg(c *Catalog) string {
	w.Helper()
	r := c.Current()
	if r == nil {
		return ""
	}
	defer r.Done()
	return w.read(r)
}

func (w *world) read(r *Release) string {
	w.Helper()
	ic, err := r.Icon(w.Context(), icon.Ref{Pack: "one", Name: "home"})
	if err != nil {
		w.Fatal(err)
	}
	svg, err := ic.SVG()
	if err != nil {
		w.Fatal(err)
	}
	return string(svg)
}

func (w *world) wantPath(c *Catalog, path string) {
	w.Helper()
	if got := w.svg(c); !strings.Contains(got, path) {
		w.Fatalf("one/home is %q, want one with the path %s", got, path)
	}
}

// change flips a bit in the middle of an object.
func change(t *testing.T, folder, key string) {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(key))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func archiveOf(t *testing.T, m *release.Manifest, pack string) release.Blob {
	t.Helper()
	p, ok := m.Pack(pack)
	if !ok {
		t.Fatal("no pack " + pack)
	}
	return p.Archive
}

func TestIcon(t *testing.T) {
	w := newWorld(t)
	m := w.publish(library("M0 0h1z"))
	c := w.start()
	r := c.Current()
	defer r.Done()
	for _, row := range []struct {
		ref string
		err error
	}{
		{"one/home", nil}, {"two/star", nil}, {"one/star", ErrNoIcon}, {"three/star", ErrNoPack}, {"one/zzz", ErrNoIcon},
	} {
		ref, err := icon.ParseRef(row.ref)
		if err != nil {
			t.Fatal(err)
		}
		ic, err := r.Icon(t.Context(), ref)
		if !errors.Is(err, row.err) {
			t.Errorf("Icon(%s): error %v, want %v", ref, err, row.err)
		}
		if err == nil && (ic.Meta().Name != ref.Name || ic.Pack.Key != ref.Pack || ic.Changed.ID != m.ID) {
			t.Errorf("Icon(%s) = %+v", ref, ic)
		}
	}
	if s := c.Stats(); s.Release != m.ID || s.Packs != 2 || s.Switches != 1 || s.Err != "" || s.Fetched == 0 {
		t.Errorf("Stats() = %+v", s)
	}
}

func TestEmptyThenPublished(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	if c.Current() != nil {
		t.Fatal("the catalog has a release from an empty store")
	}
	if s := c.Stats(); !strings.Contains(s.Err, "iconedge publish") || s.StoreErrors != 0 {
		t.Errorf("Stats() = %+v, want a hint how to publish, and no counted error", s)
	}
	w.publish(library("M0 0h1z"))
	w.watcher.look(t.Context(), c)
	w.wantPath(c, "M0 0h1z")
	if s := c.Stats(); s.Err != "" {
		t.Errorf("Err = %q after a release was found", s.Err)
	}
}

func TestSwitch(t *testing.T) {
	w := newWorld(t)
	before := w.publish(library("M0 0h1z"))
	c := w.start()
	held := c.Current()
	fetched := c.Stats().Fetched
	after := w.publish(library("M9 9h9z"))
	w.watcher.look(t.Context(), c)
	w.wantPath(c, "M9 9h9z")

	want := archiveOf(t, after, "one").Size + after.Index.Size
	if after.Index == before.Index {
		want -= after.Index.Size // the index has only names, and they are unchanged
	}
	if got := c.Stats().Fetched - fetched; got != want {
		t.Errorf("the switch fetched %d bytes, want the %d of the changed archive and index", got, want)
	}
	if got := w.read(held); !strings.Contains(got, "M0 0h1z") {
		t.Errorf("a request that began before the switch reads %s", got)
	}
	old := filepath.Join(w.mirror, filepath.FromSlash(release.ArchiveKey(archiveOf(t, before, "one").Hash)))
	if _, err := os.Stat(old); err != nil {
		t.Errorf("the old archive is missing, although it is in use: %v", err)
	}
	held.Done()
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old archive is still in the mirror, although it is unused: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.mirror, filepath.FromSlash(release.ManifestKey(before.ID)))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old manifest is still in the mirror: %v", err)
	}
}

// TestSwitchUnderLoad switches releases repeatedly during requests: none fails, and each sees one
// complete release.
func TestSwitchUnderLoad(t *testing.T) {
	w := newWorld(t)
	w.publish(library("M0 0h1z"))
	c := w.start()
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				r := c.Current()
				ic, err := r.Icon(t.Context(), icon.Ref{Pack: "one", Name: "home"})
				if err == nil {
					_, err = ic.SVG()
				}
				r.Done()
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 20 {
		w.publish(library(strings.Repeat("M1 1h1z", i+1)))
		w.watcher.look(t.Context(), c)
	}
	stop()
	readers.Wait()
	if n := c.Stats().Switches; n != 21 {
		t.Errorf("%d switches, want 21", n)
	}
}

func TestDamagedAtStart(t *testing.T) {
	for _, row := range []struct {
		name string
		key  func(*release.Manifest) string
		harm func(t *testing.T, folder, key string)
		err  error
	}{
		{"a byte of an archive", func(m *release.Manifest) string { return release.ArchiveKey(m.Packs[1].Archive.Hash) }, change,
			release.ErrDamaged},
		{"a byte of the index", func(m *release.Manifest) string { return release.IndexKey(m.Index.Hash) }, change, release.ErrDamaged},
		{"a word of the manifest", func(m *release.Manifest) string { return release.ManifestKey(m.ID) },
			reword("Pack one", "Pack two"), release.ErrDamaged},
		{"half a manifest", func(m *release.Manifest) string { return release.ManifestKey(m.ID) }, write(`{"id":"`), release.ErrDamaged},
		{"current", func(*release.Manifest) string { return release.CurrentKey }, write("{}"), release.ErrDamaged},
		{"an empty archive", func(m *release.Manifest) string { return release.ArchiveKey(m.Packs[0].Archive.Hash) },
			write(""), release.ErrDamaged},
		{"no archive", func(m *release.Manifest) string { return release.ArchiveKey(m.Packs[0].Archive.Hash) },
			remove, objectstore.ErrNotExist},
		{"no index", func(m *release.Manifest) string { return release.IndexKey(m.Index.Hash) }, remove, objectstore.ErrNotExist},
		{"no manifest", func(m *release.Manifest) string { return release.ManifestKey(m.ID) }, remove, objectstore.ErrNotExist},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			key := row.key(w.publish(library("M0 0h1z")))
			row.harm(t, w.folder, key)
			err := w.open().Start(t.Context())
			if !errors.Is(err, row.err) || !strings.Contains(err.Error(), key) {
				t.Errorf("Start: %v; want %v, naming %s", err, row.err, key)
			}
			if left, _ := os.ReadDir(filepath.Join(w.mirror, tempDir)); len(left) > 0 {
				t.Errorf("%d files were left in %s", len(left), tempDir)
			}
		})
	}
}

func write(s string) func(*testing.T, string, string) {
	return func(t *testing.T, folder, key string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(key)), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func reword(old, new string) func(*testing.T, string, string) {
	return func(t *testing.T, folder, key string) {
		t.Helper()
		path := filepath.Join(folder, filepath.FromSlash(key))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Replace(data, []byte(old), []byte(new), 1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t *testing.T, folder, key string) {
	t.Helper()
	if err := os.Remove(filepath.Join(folder, filepath.FromSlash(key))); err != nil {
		t.Fatal(err)
	}
}

// A start with a complete mirror fetches nothing. Of an archive that is damaged there, it learns
// when the archive is opened.
func TestWarmStart(t *testing.T) {
	w := newWorld(t)
	m := w.publish(library("M0 0h1z"))
	w.start().Close()
	for _, row := range []struct {
		name string
		harm func(key string)
		want int64 // bytes fetched
	}{
		{"complete", func(string) {}, 0},
		{"a bit of an archive", func(key string) { change(t, w.mirror, key) }, archiveOf(t, m, "one").Size},
		{"half an archive", func(key string) { write("PK")(t, w.mirror, key) }, archiveOf(t, m, "one").Size},
		{"no archive", func(key string) { remove(t, w.mirror, key) }, archiveOf(t, m, "one").Size},
	} {
		row.harm(release.ArchiveKey(archiveOf(t, m, "one").Hash))
		c := w.start()
		w.wantPath(c, "M0 0h1z")
		c.rest.Wait()
		if n := c.Stats().Fetched; n != row.want {
			t.Errorf("%s: %d bytes were fetched, want %d", row.name, n, row.want)
		}
		c.Close()
	}
}

// A start that fails removes nothing from the mirror to whose release it falls back.
func TestFallBack(t *testing.T) {
	w := newWorld(t)
	w.publish(library("M0 0h1z"))
	w.start().Close()
	next := w.publish(library("M9 9h9z"))
	change(t, w.folder, release.ArchiveKey(archiveOf(t, next, "one").Hash))
	c := w.start()
	w.wantPath(c, "M0 0h1z")
	c.rest.Wait()
	if n := c.Stats().Fetched; n > archiveOf(t, next, "one").Size {
		t.Errorf("%d bytes were fetched; the archive that has changed has %d", n, archiveOf(t, next, "one").Size)
	}
}

// While the store is away, a pack whose archive is damaged in the mirror can't be used, and the
// others can. Once the store is back, all can.
func TestDamagedMirror(t *testing.T) {
	w := newWorld(t)
	m := w.publish(library("M0 0h1z"))
	w.start().Close()
	change(t, w.mirror, release.ArchiveKey(archiveOf(t, m, "one").Hash))
	w.store.fail(objectstore.ErrUnreachable)
	c := w.start()
	c.rest.Wait()
	r := c.Current()
	defer r.Done()
	if _, err := r.Icon(t.Context(), icon.Ref{Pack: "one", Name: "home"}); !errors.Is(err, ErrNotOpen) {
		t.Errorf("a damaged archive: %v", err)
	}
	if _, err := r.Icon(t.Context(), icon.Ref{Pack: "two", Name: "star"}); err != nil {
		t.Errorf("another archive: %v", err)
	}
	if !strings.Contains(w.log.String(), "pack not usable") {
		t.Errorf("logged:\n%s", w.log.String())
	}
	w.store.fail(nil)
	w.wantPath(c, "M0 0h1z")
}

// The mirror keeps the content that is made of a release until the next release. Damaged content is
// made again.
func TestMade(t *testing.T) {
	w := newWorld(t)
	builds := 0
	run := func(want string) {
		t.Helper()
		c := w.open()
		c.opts.Prepare = func(r *Release) (any, error) {
			body, sum, err := r.Made("list", func() ([]byte, error) {
				builds++
				return []byte("list of " + r.State()), nil
			})
			if string(body) != "list of "+r.State() || sum != sha256.Sum256(body) {
				t.Errorf("Made = %q, %x", body, sum)
			}
			return nil, err
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Close()
		kept, err := os.ReadDir(filepath.Join(w.mirror, madeDir))
		if got := fmt.Sprintf("%d made, %d kept", builds, len(kept)); got != want || err != nil {
			t.Errorf("%s, want %s; %v", got, want, err)
		}
	}
	m := w.publish(library("M0 0h1z"))
	run("1 made, 1 kept")
	run("1 made, 1 kept")
	change(t, w.mirror, madeDir+"/"+m.ID+".list")
	run("2 made, 1 kept")
	write("")(t, w.mirror, madeDir+"/"+m.ID+".list")
	run("3 made, 1 kept")
	w.publish(library("M9 9h9z"))
	run("4 made, 1 kept")
}

func TestStoreGone(t *testing.T) {
	for _, gone := range []error{objectstore.ErrUnreachable, objectstore.ErrNotExist, objectstore.ErrDenied} {
		w := newWorld(t)
		w.publish(library("M0 0h1z"))
		c := w.start()
		w.store.fail(gone)
		w.watcher.look(t.Context(), c)
		w.wantPath(c, "M0 0h1z")
		c.Close()
		c = w.start() // from the mirror
		w.wantPath(c, "M0 0h1z")
		if s := c.Stats(); s.Err == "" {
			t.Errorf("%v: Stats().Err is empty, although the store is not followed", gone)
		}
		w.store.fail(nil)
		w.publish(library("M9 9h9z"))
		w.watcher.look(t.Context(), c)
		w.wantPath(c, "M9 9h9z")
	}
}

// TestStoreGoneAtFirstStart checks that, without a mirror, Start waits for an unreachable store,
// and fails on an error in its configuration.
func TestStoreGoneAtFirstStart(t *testing.T) {
	for _, row := range []struct {
		away  error
		waits bool
	}{{objectstore.ErrUnreachable, true}, {objectstore.ErrDenied, false}, {objectstore.ErrNoBucket, false}} {
		w := newWorld(t)
		w.publish(library("M0 0h1z"))
		w.store.fail(row.away)
		c := w.open()
		if err := c.Start(t.Context()); (err == nil) != row.waits || err != nil && !errors.Is(err, row.away) {
			t.Errorf("%v: Start: %v, want no error: %v", row.away, err, row.waits)
		}
		w.store.fail(nil)
		w.watcher.look(t.Context(), c)
		w.wantPath(c, "M0 0h1z")
	}
}

func TestRefusedAtSwitch(t *testing.T) {
	w := newWorld(t)
	w.publish(library("M0 0h1z"))
	c := w.start()
	bad := w.publish(library("M9 9h9z"))
	key := release.ArchiveKey(archiveOf(t, bad, "one").Hash)
	change(t, w.folder, key)
	for range 10 {
		w.watcher.look(t.Context(), c)
	}
	w.wantPath(c, "M0 0h1z")
	s := c.Stats()
	if s.Refused < 2 || s.Refused > 4 { // after 1, 2 and 4 checks, not at every one
		t.Errorf("%d attempts in 10 checks", s.Refused)
	}
	if n := strings.Count(w.log.String(), key); n != 1 || !strings.Contains(w.log.String(), bad.ID) {
		t.Errorf("the log names the archive %d times, want once, and the release:\n%s", n, &w.log)
	}
	if !strings.Contains(s.Err, key) {
		t.Errorf("Stats().Err = %q", s.Err)
	}

	change(t, w.folder, key) // repaired
	for range maxBackoff {
		w.watcher.look(t.Context(), c)
	}
	w.wantPath(c, "M9 9h9z")
	if c.Stats().Err != "" {
		t.Errorf("Stats().Err = %q after the repair", c.Stats().Err)
	}
}

// TestPrepare checks that an error of Prepare refuses a release in the same way as damage.
func TestPrepare(t *testing.T) {
	w := newWorld(t)
	m := w.publish(library("M0 0h1z"))
	refused := errors.New("unknown index format")
	c := w.open()
	c.opts.Prepare = func(r *Release) (any, error) { return nil, refused }
	if err := c.Start(t.Context()); !errors.Is(err, refused) || !strings.Contains(err.Error(), release.IndexKey(m.Index.Hash)) {
		t.Errorf("Start: %v", err)
	}
	c.opts.Prepare = func(r *Release) (any, error) { return len(r.Packs()), nil }
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := c.Current()
	defer r.Done()
	if r.Prepared() != 2 {
		t.Errorf("Prepared() = %v", r.Prepared())
	}
}

// An origin that starts removes the remains of a crash from the mirror, but no download of another
// origin that uses the same mirror.
func TestSharedMirror(t *testing.T) {
	w := newWorld(t)
	left := filepath.Join(w.mirror, tempDir, "left")
	m, err := openMirror(w.mirror, w.store)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("a part"), 0o600); err != nil {
		t.Fatal(err)
	}
	body := io.MultiReader(strings.NewReader("first "), readerFunc(func([]byte) (int, error) {
		if _, err := openMirror(w.mirror, w.store); err != nil {
			t.Error(err)
		}
		return 0, io.EOF
	}))
	f, err := m.save("key", body, func(int64, string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if data, err := os.ReadFile(m.path("key")); string(data) != "first " {
		t.Errorf("the mirror has %q, %v", data, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that a crash left is still there: %v", err)
	}
}

// A readerFunc is a reader.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
