package cache

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// newObject returns the entry of an object.
func newObject(key string, id uint64, tags ...string) *entry.Entry {
	e := entrytest.New(key, "", tags...)
	e.SetIdentity([]byte{}, `"tag"`)
	e.DisableCodings()
	e.Object = entry.Object{ID: id, Length: 3 << 10}
	return e
}

// sliceOf returns the content of a slice.
func sliceOf(id uint64, n int64) []byte { return bytes.Repeat([]byte{byte(id), byte(n)}, 512) }

func putSlices(t *testing.T, c *Cache, id uint64) {
	t.Helper()
	for n := range int64(3) {
		if !c.SliceStore().PutSlice(id, n, sliceOf(id, n)) {
			t.Fatalf("slice %d of %d is not stored", n, id)
		}
	}
}

// slicesFound reports how many slices of an object are found, and checks their content.
func slicesFound(t *testing.T, c *Cache, id uint64) (found int) {
	t.Helper()
	for n := range int64(3) {
		r := c.SliceStore().OpenSlice(id, n, 1<<10)
		if r == nil {
			continue
		}
		got := make([]byte, 1<<10)
		if _, err := r.ReadAt(got, 0); err != nil || !bytes.Equal(got, sliceOf(id, n)) {
			t.Errorf("slice %d of %d differs, error %v", n, id, err)
		}
		found++
	}
	return found
}

// The entry of an object and its slices are found after a restart, also after a crash.
func TestSlicesAfterRestart(t *testing.T) {
	for name, restart := range map[string]func(*testing.T, *Cache) *Cache{
		"closed": reopened,
		"killed": func(t *testing.T, c *Cache) *Cache { t.Cleanup(c.Close); return crashed(t, c) },
	} {
		c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
		e := newObject("/large", 7, "tag")
		if !c.Put(e, c.Generation()) {
			t.Fatal("not stored")
		}
		putSlices(t, c, 7)
		if c.SliceStore().MaxObject() != roomOnDisk/4 || c.Stats().DiskSlices != 3 {
			t.Errorf("MaxObject() = %d, %+v", c.SliceStore().MaxObject(), c.Stats())
		}
		c = restart(t, c)
		if got := c.Get("/large"); got == nil || !entrytest.Same(got, e) || !got.IsObject() {
			t.Errorf("%s: the entry is %+v", name, got)
		}
		stored := c.SliceStore()
		if n := slicesFound(t, c, 7); n != 3 || stored.HasSlice(7, 3) || stored.HasSlice(8, 0) || stored.OpenSlice(7, 0, 1) != nil {
			t.Errorf("%s: %d slices", name, n)
		}
		onDiskConsistent(t, c)
	}
}

// Without a disk tier slices are in memory, below the ceiling, and leave when others come. An open
// one can still be read. Purging everything removes them.
func TestSlicesInMemory(t *testing.T) {
	const ceiling, size = 32 << 20, 1 << 20
	c := newTest(t, ceiling)
	stored, body := c.SliceStore(), make([]byte, size)
	var open io.ReaderAt
	for n := range int64(64) {
		body[0] = byte(n)
		stored.PutSlice(1, n, body)
		if s := c.Stats(); s.Bytes > ceiling {
			t.Fatalf("%d bytes, above the ceiling of %d", s.Bytes, ceiling)
		}
		if stored.OpenSlice(1, n, 1) != nil || stored.HasSlice(2, n) {
			t.Fatalf("slice %d of another length or object is found", n)
		}
		slice := stored.OpenSlice(1, n, size)
		if slice == nil { // the policy of the cache has preferred others
			continue
		}
		open = slice
		if _, err := open.ReadAt(body[1:2], 0); err != nil || body[1] != body[0] {
			t.Fatalf("slice %d is that of %d, error %v", n, body[1], err)
		}
	}
	found := 0
	for n := range int64(64) {
		if stored.HasSlice(1, n) {
			found++
		}
	}
	if found < 8 || stored.Lasting() || stored.MaxObject() > ceiling/objectPart {
		t.Errorf("%d slices are found; lasting: %v; the largest object has %d bytes", found, stored.Lasting(), stored.MaxObject())
	}
	c.InvalidateAll()
	for n := range int64(64) {
		if stored.HasSlice(1, n) || stored.OpenSlice(1, n, size) != nil {
			t.Errorf("slice %d is found after the purge", n)
		}
	}
	if _, err := open.ReadAt(body[:1], 0); err != nil {
		t.Errorf("an open slice: %v", err)
	}
}

// A purge counts an object once, whether its entry is on disk already or not, and applies after a
// restart too.
func TestPurgeOfObjectOnDisk(t *testing.T) {
	for _, p := range []invalidation.Purge{{Keys: []string{"/large"}}, {Prefixes: []string{"/la"}}, {Tags: []string{"tag"}}} {
		c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
		c.Put(newObject("/large", 7, "tag"), c.Generation())
		putSlices(t, c, 7)
		c.disk.Flush()
		if n := c.Purge(p, t0); n != 1 {
			t.Errorf("%+v: Purge = %d", p, n)
		}
		if c.Get("/large") != nil || reopened(t, c).Get("/large") != nil {
			t.Errorf("%+v: the entry is found", p)
		}
	}
}

// A newer entry of the key replaces that of an object, in memory and on disk.
func TestObjectIsReplaced(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
	c.Put(newObject("/large", 7), c.Generation())
	c.disk.Flush()
	c.Put(newObject("/large", 8), c.Generation())
	c.disk.Flush()
	if e := c.Get("/large"); e.Object.ID != 8 {
		t.Errorf("the entry is that of object %d", e.Object.ID)
	}
	evict(c)
	c.Put(entrytest.New("/large", "small"), c.Generation())
	c = reopened(t, c)
	if e := c.Get("/large"); e == nil || e.IsObject() || string(e.Identity().Body) != "small" {
		t.Errorf("after a restart: %+v", e)
	}
	onDiskConsistent(t, c)
}

// The oldest slices leave a full disk, and a damaged one is not found.
func TestLostSlices(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: 64 << 10})
	t.Cleanup(c.Close)
	for id := uint64(1); id < 40; id++ {
		putSlices(t, c, id)
		onDiskConsistent(t, c)
	}
	if slicesFound(t, c, 1) != 0 || slicesFound(t, c, 39) != 3 {
		t.Errorf("%d of the oldest slices are found, %d of the newest", slicesFound(t, c, 1), slicesFound(t, c, 39))
	}
	if c.SliceStore().PutSlice(50, 0, make([]byte, 16<<10)) {
		t.Error("a slice larger than a segment is stored")
	}
	files, _ := filepath.Glob(filepath.Join(c.disk.Dir, "*.segment"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for at := bytes.Index(b, sliceOf(39, 1)[:64]); at >= 0; at = -1 {
			b[at+100] ^= 1
			os.WriteFile(f, b, 0o600)
		}
	}
	errors := 0
	next := openTest(t, copied(t, c), Options{DiskBytes: 64 << 10, Log: func(string, ...any) { errors++ }})
	t.Cleanup(next.Close)
	if n := slicesFound(t, next, 39); n != 2 || next.SliceStore().HasSlice(39, 1) || next.Stats().DiskErrors != 1 {
		t.Errorf("%d slices are found beside a damaged one, %+v", n, next.Stats())
	}
	onDiskConsistent(t, next)
}

// copied returns a copy of the folder of a cache.
func copied(t *testing.T, c *Cache) string {
	t.Helper()
	c.disk.Flush()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(c.disk.Dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Once a write has failed, no slice is stored, and one message is logged.
func TestSlicesOnFailedDisk(t *testing.T) {
	var logged []string
	c := openTest(t, t.TempDir(), Options{DiskBytes: 64 << 10,
		Log: func(msg string, args ...any) { logged = append(logged, fmt.Sprint(msg, args)) }})
	t.Cleanup(c.Close)
	putSlices(t, c, 1)
	if err := os.Rename(c.disk.Dir, c.disk.Dir+".away"); err != nil { // no segment can be created
		t.Fatal(err)
	}
	ok := true
	for id := uint64(2); id < 20; id++ {
		for n := range int64(3) {
			ok = c.SliceStore().PutSlice(id, n, sliceOf(id, n))
		}
	}
	if ok || len(logged) != 1 || c.Stats().DiskErrors == 0 {
		t.Errorf("stored %v, logged %q, %+v", ok, logged, c.Stats())
	}
	if err := os.Rename(c.disk.Dir+".away", c.disk.Dir); err != nil {
		t.Fatal(err)
	}
	if slicesFound(t, c, 1) != 3 {
		t.Error("the slices from before are not found")
	}
}
