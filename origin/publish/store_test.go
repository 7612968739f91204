package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// counting counts the writes to a store.
type counting struct {
	objectstore.Bucket
	n    atomic.Int64
	sent atomic.Int64 // bytes
}

func (c *counting) writes() int { return int(c.n.Load()) }

func (c *counting) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	c.n.Add(1)
	c.sent.Add(size)
	return c.Bucket.Put(ctx, key, r, size)
}

func (c *counting) PutIf(ctx context.Context, key string, r io.Reader, size int64, etag string) error {
	c.n.Add(1)
	return c.Bucket.PutIf(ctx, key, r, size, etag)
}

func (c *counting) Delete(ctx context.Context, key string) error {
	c.n.Add(1)
	return c.Bucket.Delete(ctx, key)
}

// failing is a store in which all writes after the first ones fail, as after a crash or on a full
// disk.
type failing struct {
	objectstore.Bucket
	left atomic.Int64 // writes that succeed
}

var errFull = errors.New("no space left on device")

func (f *failing) write() error {
	if f.left.Add(-1) >= 0 {
		return nil
	}
	return errFull
}

func (f *failing) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Bucket.Put(ctx, key, r, size)
}

func (f *failing) PutIf(ctx context.Context, key string, r io.Reader, size int64, etag string) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Bucket.PutIf(ctx, key, r, size, etag)
}

func (f *failing) Delete(ctx context.Context, key string) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Bucket.Delete(ctx, key)
}

// published is a release, read from the store.
type published struct {
	*release.Manifest
	metas map[icon.Ref]release.Meta
	svgs  map[icon.Ref]string
	index *search.Index
}

// whole reads the current release and checks all its hashes.
func whole(t *testing.T, b objectstore.Bucket) published {
	t.Helper()
	c, _, err := readCurrent(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return readRelease(t, b, c.Release)
}

func readRelease(t *testing.T, b objectstore.Bucket, id string) published {
	t.Helper()
	m, err := release.ParseManifest(read(t, b, release.ManifestKey(id)))
	if err != nil {
		t.Fatal(err)
	}
	p := published{Manifest: m, metas: map[icon.Ref]release.Meta{}, svgs: map[icon.Ref]string{}}
	for _, k := range m.Packs {
		data := blob(t, b, release.ArchiveKey(k.Archive.Hash), k.Archive)
		a, err := release.OpenArchive(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for e := range a.All() {
			ref := icon.Ref{Pack: k.Pack.Key, Name: a.Name(e)}
			if p.metas[ref], err = a.Meta(e); err != nil {
				t.Fatal(err)
			}
			svg, err := a.Read(e)
			if err != nil {
				t.Fatal(err)
			}
			p.svgs[ref] = string(svg)
		}
	}
	if p.index, err = search.Open(blob(t, b, release.IndexKey(m.Index.Hash), m.Index)); err != nil {
		t.Fatal(err)
	}
	return p
}

// blob reads an object and checks its hash and its size.
func blob(t *testing.T, b objectstore.Bucket, key string, want release.Blob) []byte {
	t.Helper()
	data := read(t, b, key)
	sum := sha256.Sum256(data)
	if got := (release.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}); got != want {
		t.Fatalf("%s is %v, want %v", key, got, want)
	}
	return data
}

func read(t *testing.T, b objectstore.Bucket, key string) []byte {
	t.Helper()
	data, err := objectstore.ReadAll(t.Context(), b, key, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// keys returns the keys of all objects.
func keys(t *testing.T, b objectstore.Bucket) (all []string) {
	t.Helper()
	for info, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.Key)
	}
	return all
}

// copied returns a copy of a folder of testdata that a test may change.
func copied(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// edit replaces text in a file, which must contain it.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s does not have %s", path, old)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte(old), []byte(new)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// noTags leaves out the lexicon of the program. Indexing with the lexicon takes a hundred times as
// long, and only TestSearchable and TestStoppedAnywhere need it.
var noTags = []string{NoTags}

func mustPublish(t *testing.T, b objectstore.Bucket, now time.Time, sources ...string) Summary {
	t.Helper()
	sum, err := Publish(t.Context(), Options{Sources: sources, Tags: noTags, Store: b, Now: now, Work: t.TempDir(), AllowRemoval: true})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
