package publish

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// keyed is a source of which only the key is known.
type keyed struct {
	source
	key string
}

func (d keyed) about() *info { return &info{key: d.key} }

// TestDocs checks that the docs of packs come in the order of the packs, also if there are more
// than are read at a time, and from the store for an unchanged pack.
func TestDocs(t *testing.T) {
	p := &publication{Options: Options{Store: objectstore.Dir(t.TempDir()), Progress: silent{}}, work: t.TempDir()}
	var packs []*pack
	for c := 'a'; c <= 'z'; c++ {
		k := &pack{source: keyed{key: string(c)}, docs: []search.Doc{{Pack: string(c), Name: "x"}}}
		if err := p.saveDocs(k); err != nil || k.docs != nil {
			t.Fatalf("%v; %d docs are still in memory", err, len(k.docs))
		}
		if c%2 == 0 {
			if err := p.put(t.Context(), blobFile{release.DocsKey(k.entry.Docs.Hash), k.docsFile, k.entry.Docs}); err != nil {
				t.Fatal(err)
			}
			k.docsFile = ""
		}
		packs = append(packs, k)
	}
	next, end := p.docsOf(t.Context(), packs)
	defer end()
	for _, k := range packs {
		docs, err := next(k.about().key)
		if err != nil || len(docs) != 1 || docs[0].Pack != k.about().key {
			t.Fatalf("the docs of %s: %v, %v", k.about().key, docs, err)
		}
	}
	if _, err := next("z"); !errors.Is(err, errOrder) {
		t.Errorf("after the last pack: %v, want errOrder", err)
	}
}

// opened lists the objects that are opened.
type opened struct {
	objectstore.Bucket
	mu   sync.Mutex
	keys []string
}

func (o *opened) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keys = append(o.keys, key)
	return o.Bucket.Open(ctx, key)
}

// TestOneChanged checks that a publication with one changed pack reads no archive but that pack's,
// and gives the release that a store without an earlier one would get.
func TestOneChanged(t *testing.T) {
	b := &opened{Bucket: objectstore.Dir(t.TempDir())}
	lib := copied(t, "library")
	mustPublish(t, b, t0, lib)
	before, _ := whole(t, b).Pack("shapes")
	edit(t, filepath.Join(lib, "json/shapes.json"), "M2 2h20v20H2z", "M3 3h18v18H3z")
	b.keys = nil
	mustPublish(t, b, t0.Add(time.Hour), lib)
	for _, key := range b.keys {
		if strings.HasPrefix(key, release.ArchivePrefix) && key != release.ArchiveKey(before.Archive.Hash) ||
			strings.HasPrefix(key, release.IndexPrefix) {
			t.Errorf("%s was read", key)
		}
	}
	fresh := objectstore.Dir(t.TempDir())
	mustPublish(t, fresh, t0, lib)
	if got, want := whole(t, b).Index, whole(t, fresh).Index; got != want {
		t.Errorf("the index is %v, want %v", got, want)
	}
}

// TestDamagedDocs: docs that are lost or cut off are made again, and docs whose content is another
// one are an error that names them, because only their size is known without reading them.
func TestDamagedDocs(t *testing.T) {
	lib := copied(t, "library")
	b := objectstore.Dir(t.TempDir())
	mustPublish(t, b, t0, lib)
	m := whole(t, b)
	i := slices.IndexFunc(m.Packs, func(p release.PackEntry) bool { return p.Pack.Key != "shapes" && !p.Hidden })
	docs := m.Packs[i].Docs
	key := release.DocsKey(docs.Hash)
	data, err := objectstore.ReadAll(t.Context(), b, key, docs.Size)
	if err != nil {
		t.Fatal(err)
	}
	path := "M2 2h20v20H2z"
	for at, damage := range []func(){
		func() { remove(t, b, key) },
		func() { put(t, b, key, string(data[:len(data)-1])) },
	} {
		damage()
		next := strings.Repeat("M3 3h18v18H3z", at+1)
		edit(t, filepath.Join(lib, "json/shapes.json"), path, next)
		path = next
		sum := mustPublish(t, b, t0.Add(time.Duration(at+1)*time.Hour), lib)
		again, err := objectstore.ReadAll(t.Context(), b, key, docs.Size)
		if sum.Built != 2 || err != nil || string(again) != string(data) {
			t.Errorf("%d packs built, want 2; %v", sum.Built, err)
		}
	}
	put(t, b, key, strings.Repeat("x", len(data)))
	edit(t, filepath.Join(lib, "json/shapes.json"), path, "M4 4z")
	_, err = Publish(t.Context(), Options{Sources: []string{lib}, Tags: noTags, Store: b, Now: t0.Add(9 * time.Hour), Work: t.TempDir()})
	if !errors.Is(err, release.ErrDamaged) || !strings.Contains(err.Error(), key+": ") || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("%v, want ErrDamaged with the key", err)
	}
}
