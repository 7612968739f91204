package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
)

func newTest(t *testing.T, maxBytes int64) *Cache {
	t.Helper()
	c, err := New(maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func entry(key, body string, tags ...string) *Entry {
	e := &Entry{Key: key, Status: 200, ContentType: []byte("image/svg+xml"), Tags: tags}
	e.SetIdentity([]byte(body), `"tag"`)
	return e
}

func TestStoredIsThereAtOnce(t *testing.T) {
	c := newTest(t, 64<<20)
	for i := range 5000 {
		key := fmt.Sprint("/mdi/icon-", i, ".svg")
		e := entry(key, strings.Repeat("x", i%3000))
		if !c.Put(e, c.Now()) {
			t.Fatalf("Put(%s) = false", key)
		}
		if got := c.Get(key); got != e {
			t.Fatalf("Get(%s) right after Put = %v, want the entry", key, got)
		}
	}
	e := entry("/large", strings.Repeat("y", 8<<20)) // larger than the whole front
	c.Put(e, c.Now())
	if c.Get("/large") != e {
		t.Error("an entry larger than the front is not there right after Put")
	}
	if c.Get("/mdi/none.svg") != nil {
		t.Error("Get of a key that was never stored found something")
	}
}

func TestNewerReplacesOlder(t *testing.T) {
	c := newTest(t, 8<<20)
	for i := range 100 {
		e := entry("/a", fmt.Sprint(i))
		c.Put(e, c.Now())
		if got := c.Get("/a"); got != e {
			t.Fatalf("after %d stores Get gives %s", i+1, got.Identity().Body)
		}
	}
}

func TestCeilingHolds(t *testing.T) {
	const ceiling = 4 << 20
	c := newTest(t, ceiling)
	body := strings.Repeat("<path d='M0 0h24v24z'/>", 200)
	for i := range 3000 {
		e := entry(fmt.Sprint("/", i), body)
		if i%10 > 0 {
			e.AsItIs() // codings count as well, but take their time
		}
		c.Put(e, c.Now())
	}
	c.Settle()
	c.settle()
	s := c.Stats()
	if s.Bytes > ceiling-ceiling/frontPart || c.front.bytes.Load() > ceiling/frontPart {
		t.Errorf("after storing many times its ceiling of %d the cache has %d bytes, its front %d", ceiling, s.Bytes, c.front.bytes.Load())
	}
	if s.Bytes == 0 || s.Entries == 0 || s.Evicted == 0 {
		t.Errorf("Stats() = %+v: entries are kept, and some were evicted", s)
	}
	if limit := int64(ceiling / len(body)); s.Entries > limit {
		t.Errorf("%d entries are counted, of which %d would fit", s.Entries, limit)
	}
}

func TestDrop(t *testing.T) {
	tests := []struct {
		name string
		tags []string
		drop func(*Cache)
		kept bool
	}{
		{"another tag", []string{"icon/mdi/home", "pack/mdi"}, func(c *Cache) { c.Drop("icon/mdi/account") }, true},
		{"its only tag", []string{"icon/mdi/home"}, func(c *Cache) { c.Drop("icon/mdi/home") }, false},
		{"one of its tags", []string{"icon/mdi/home", "pack/mdi"}, func(c *Cache) { c.Drop("x", "pack/mdi") }, false},
		{"no tags at all", nil, func(c *Cache) { c.Drop("pack/mdi") }, true},
		{"dropping nothing", []string{"pack/mdi"}, func(c *Cache) { c.Drop() }, true},
		{"everything", nil, func(c *Cache) { c.DropAll() }, false},
		{"a tag, then everything", nil, func(c *Cache) { c.Drop("a"); c.DropAll() }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newTest(t, 8<<20)
			asked := c.Now()
			c.Put(entry("/stored", "a", tt.tags...), asked)
			tt.drop(c)
			if kept := c.Get("/stored") != nil; kept != tt.kept {
				t.Errorf("what was stored before is kept: %v, want %v", kept, tt.kept)
			}
			if stored := c.Put(entry("/late", "b", tt.tags...), asked); stored != tt.kept {
				t.Errorf("what was on its way is stored: %v, want %v", stored, tt.kept)
			}
			if !c.Put(entry("/new", "c", tt.tags...), c.Now()) || c.Get("/new") == nil {
				t.Error("what was asked for afterwards is not stored")
			}
		})
	}
}

func TestDropMoreThanCanBeRemembered(t *testing.T) {
	var m marks
	m.drop([]string{"first"})
	for i := range 4 {
		tags := make([]string, maxMarks/3)
		for j := range tags {
			tags[j] = fmt.Sprint(i, "/", j)
		}
		m.drop(tags)
	}
	if len(m.tags) > maxMarks {
		t.Errorf("%d tags are remembered, at most %d may be", len(m.tags), maxMarks)
	}
	if m.keep(&Entry{Tags: []string{"first"}}) {
		t.Error("an entry from before is kept, although its tag's drop is forgotten")
	}
	if !m.keep(&Entry{Tags: []string{"first"}, mark: m.now()}) {
		t.Error("an entry that was asked for now is not kept")
	}
}

func TestManyCallersOneFlight(t *testing.T) {
	c := newTest(t, 8<<20)
	var asked atomic.Int64
	open := make(chan struct{})
	ask := func() Landing {
		asked.Add(1)
		<-open
		e := entry("/a", "body")
		return Landing{Entry: e, Shared: true, Stored: c.Put(e, c.Now())}
	}
	var began atomic.Int64
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			if i == 500 {
				close(open)
			}
			f, first := c.Fly("/a", nil, time.Now(), ask)
			if first {
				began.Add(1)
			}
			if l := f.Wait(time.Minute); l.Err != nil || string(l.Entry.Identity().Body) != "body" {
				t.Errorf("landing %+v", l)
			}
		})
	}
	wg.Wait()
	if asked.Load() != 1 || began.Load() != 1 {
		t.Errorf("asked %d times, %d callers began a flight; want one", asked.Load(), began.Load())
	}
}

// A caller that looked before the entry was stored, and comes to fly when the flight is over, must not ask again.
func TestFlightAfterTheFact(t *testing.T) {
	c := newTest(t, 8<<20)
	stale := entry("/a", "old")
	c.Put(stale, c.Now())
	newer := entry("/a", "new")
	c.Put(newer, c.Now())
	f, began := c.Fly("/a", stale, time.Now(), func() Landing { t.Error("asked"); return Landing{} })
	if l := f.Wait(0); began || !l.Found || l.Entry != newer {
		t.Errorf("landing %+v, began %v; want the newer entry, found", l, began)
	}
}

func TestFailureIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Cache{front: newFront(1 << 20)} // no goroutines of ristretto's in the bubble
		c.flights.init()
		broken := errors.New("broken")
		asked := 0
		fly := func() Landing {
			f, _ := c.Fly("/a", nil, time.Now(), func() Landing { asked++; return Landing{Err: broken} })
			return f.Wait(time.Minute)
		}
		steps := []struct {
			after time.Duration
			asked int
		}{{0, 1}, {0, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 2}, {500 * time.Millisecond, 2}, {500 * time.Millisecond, 3}}
		for i, s := range steps {
			time.Sleep(s.after) // the bubble's clock: no time passes
			if l := fly(); !errors.Is(l.Err, broken) || asked != s.asked {
				t.Errorf("step %d: landing %+v after asking %d times, want %d", i, l, asked, s.asked)
			}
			synctest.Wait()
		}
		if err := c.Failed("/a", time.Now()); !errors.Is(err, broken) {
			t.Errorf("Failed = %v right after a failure", err)
		}
		if err := c.Failed("/b", time.Now()); err != nil {
			t.Errorf("Failed of another key = %v", err)
		}
	})
}

func TestWaitIsBoundedAndFlightGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Cache{front: newFront(1 << 20)}
		c.flights.init()
		e := entry("/a", "late")
		f, _ := c.Fly("/a", nil, time.Now(), func() Landing { time.Sleep(time.Minute); return Landing{Entry: e} })
		if l := f.Wait(time.Second); !errors.Is(l.Err, ErrLate) {
			t.Errorf("landing %+v after a second, want ErrLate", l)
		}
		if l := f.Wait(time.Hour); l.Entry != e {
			t.Errorf("landing %+v in the end, want the entry", l)
		}
	})
}

func TestPanicLandsAsAnError(t *testing.T) {
	c := newTest(t, 8<<20)
	f, _ := c.Fly("/a", nil, time.Now(), func() Landing { panic("boom") })
	if l := f.Wait(time.Minute); l.Err == nil {
		t.Errorf("landing %+v of a flight that panicked, want an error", l)
	}
}

func TestCodings(t *testing.T) {
	drawing := strings.Repeat(`<path d="M10 20v-6h4v6h5v-8h3L12 3 2 12h3v8z"/>`, 20)
	tests := []struct {
		name, media, body, accept string
		want                      Coding
	}{
		{"br is preferred", "image/svg+xml", drawing, "gzip, br", Brotli},
		{"gzip alone", "application/json; charset=utf-8", drawing, "gzip", Gzip},
		{"nothing asked for", "image/svg+xml", drawing, "", Identity},
		{"refused", "image/svg+xml", drawing, "br;q=0, gzip;q=0", Identity},
		{"too small", "image/svg+xml", drawing[:100], "br, gzip", Identity},
		{"what does not shrink", "image/png", drawing, "br, gzip", Identity},
	}
	c := newTest(t, 8<<20)
	for _, tt := range tests {
		e := entry("/"+tt.name, tt.body)
		e.ContentType = []byte(tt.media)
		c.Put(e, c.Now())
		c.Settle()
		v, coding := e.Choose(tt.accept)
		if coding != tt.want {
			t.Errorf("%s: coding %v, want %v", tt.name, coding, tt.want)
			continue
		}
		want := map[Coding]string{Identity: `"tag"`, Gzip: `"tag-gzip"`, Brotli: `"tag-br"`}[coding]
		if v.ETag != want {
			t.Errorf("%s: entity tag %s, want %s", tt.name, v.ETag, want)
		}
		if got := decode(t, coding, v.Body); got != tt.body {
			t.Errorf("%s: decoded to %d bytes, not the %d of the body", tt.name, len(got), len(tt.body))
		}
	}
}

func TestConfirmedKeepsCodingsAndWishes(t *testing.T) {
	body := strings.Repeat("abc ", 200)
	c := newTest(t, 8<<20)
	e := entry("/a", body)
	c.Put(e, c.Now())
	c.Settle()
	if n := e.Confirmed(); n.Variant(Brotli) != e.Variant(Brotli) || n.Variant(Brotli) == nil {
		t.Error("a confirmed entry has not the codings of the old one")
	}
	plain := entry("/b", body)
	plain.AsItIs()
	n := plain.Confirmed()
	c.Put(n, c.Now())
	c.Settle()
	if n.Variant(Brotli) != nil {
		t.Error("an entry that is to stay as it is was coded when it was confirmed")
	}
}

func decode(t *testing.T, c Coding, b []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(b)
	var err error
	switch c {
	case Gzip:
		r, err = gzip.NewReader(r)
	case Brotli:
		r = brotli.NewReader(r)
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

func BenchmarkGet(b *testing.B) {
	c, err := New(64 << 20)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	c.Put(entry("/mdi/home.svg", "body", "icon/mdi/home", "pack/mdi"), c.Now())
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if c.Get("/mdi/home.svg") == nil {
				b.Error("not there")
			}
		}
	})
}
