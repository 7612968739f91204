package compress

import (
	"bytes"
	"crypto/rand"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
)

var text = strings.Repeat("<p>Text that compresses.</p>\n", 100)

func newTest(t *testing.T) (*cache.Cache, *Compressor) {
	t.Helper()
	c, err := cache.New(cache.Options{MaxBytes: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, New(c, slog.New(slog.DiscardHandler))
}

// stored stores an entry and returns it as a request finds it.
func stored(t *testing.T, c *cache.Cache, key, body string) *cache.Entry {
	t.Helper()
	if !c.Put(entrytest.New(key, body), c.Generation()) {
		t.Fatalf("%s is not stored", key)
	}
	return c.Get(key)
}

// settle waits until nothing is left to compress.
func settle(t *testing.T, k *Compressor) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); k.Stats().Pending > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("codings are pending for ever")
		}
	}
}

func decode(t *testing.T, coding entry.Coding, b []byte) string {
	t.Helper()
	var r io.Reader
	var err error
	switch coding {
	case entry.Gzip:
		r, err = gzip.NewReader(bytes.NewReader(b))
	case entry.Brotli:
		r = brotli.NewReader(bytes.NewReader(b))
	case entry.Zstd:
		r, err = zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderMaxWindow(8<<20)) // RFC 9659
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Each coding is made once, whichever requests want it, and stored beside the others.
func TestMadeOnce(t *testing.T) {
	c, k := newTest(t)
	e := stored(t, c, "/a", text)
	for n, coding := range []entry.Coding{entry.Brotli, entry.Gzip, entry.Zstd} {
		e = c.Get("/a")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { k.Want(e, coding) })
		}
		all.Wait()
		settle(t, k)
		now := c.Get("/a")
		for i, had := range []entry.Coding{entry.Brotli, entry.Gzip, entry.Zstd} {
			if v := now.Variant(had); (v != nil) != (i <= n) || v != nil && decode(t, had, v.Body) != text {
				t.Fatalf("after %s: %s is there: %v, or has another body", coding, had, v != nil)
			}
		}
	}
	s := k.Stats()
	if s.Made["br"] != 1 || s.Made["gzip"] != 1 || s.Made["zstd"] != 1 || s.In != 3*uint64(len(text)) || s.Out == 0 ||
		s.Out >= s.In || s.Useless != 0 {
		t.Errorf("counts: %+v", s)
	}
}

// A coding that saves too little is not stored, and not tried again for the same response.
func TestUseless(t *testing.T) {
	c, k := newTest(t)
	noise := make([]byte, 5000)
	rand.Read(noise)
	e := stored(t, c, "/noise", string(noise))
	for range 3 {
		k.Want(e, entry.Brotli)
		settle(t, k)
	}
	if s := k.Stats(); s.Useless != 1 || c.Get("/noise").Variant(entry.Brotli) != nil {
		t.Errorf("tried %d times, want once; stored: %v", s.Useless, c.Get("/noise").Variant(entry.Brotli) != nil)
	}
}

// A body that is not stored any more, or is too short, is not compressed.
func TestNotWanted(t *testing.T) {
	c, k := newTest(t)
	k.Want(entrytest.New("/never-stored", text), entry.Brotli)
	k.Want(stored(t, c, "/short", text[:1000]), entry.Brotli)
	old := stored(t, c, "/replaced", text)
	stored(t, c, "/replaced", text+"new")
	k.Want(old, entry.Brotli)
	gone := stored(t, c, "/purged", text)
	c.Purge(cache.Purge{Keys: []string{"/purged"}}, entrytest.T0)
	k.Want(gone, entry.Brotli)
	settle(t, k)
	if s := k.Stats(); s.Made["br"] != 0 || c.Get("/purged") != nil || c.Get("/replaced").Variant(entry.Brotli) != nil {
		t.Errorf("%+v; purged: %v", s, c.Get("/purged"))
	}
}

// The codings that wait are bounded, by number and by the bytes of their bodies.
func TestBounded(t *testing.T) {
	c, k := newTest(t)
	e := stored(t, c, "/a", text)
	k.mu.Lock()
	for i := range maxPending {
		k.pending[job{id: uint64(1e9 + i), coding: entry.Gzip}] = true
	}
	k.mu.Unlock()
	k.Want(e, entry.Brotli)
	if s := k.Stats(); s.Pending != maxPending || s.Dropped != 1 {
		t.Errorf("%+v, want none more", s)
	}
	k.mu.Lock()
	clear(k.pending)
	k.pending[job{id: 1, coding: entry.Gzip}], k.bytes = true, maxPendingBytes
	k.mu.Unlock()
	k.Want(e, entry.Brotli)
	if s := k.Stats(); s.Pending != 1 || s.Dropped != 2 {
		t.Errorf("%+v, want none more", s)
	}
}

// Asking for a coding that is being made or that is useless costs requests no memory.
func TestWantAllocatesNothing(t *testing.T) {
	c, k := newTest(t)
	e := stored(t, c, "/a", text)
	j := job{id: e.ID, coding: entry.Brotli}
	k.pending[j] = true
	if n := testing.AllocsPerRun(100, func() { k.Want(e, entry.Brotli) }); n != 0 {
		t.Errorf("a pending coding: %v allocations", n)
	}
	delete(k.pending, j)
	k.setUseless(j)
	if n := testing.AllocsPerRun(100, func() { k.Want(e, entry.Brotli) }); n != 0 {
		t.Errorf("a useless coding: %v allocations", n)
	}
}
