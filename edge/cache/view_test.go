package cache

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A view shows the entry that Get returns.
func TestView(t *testing.T) {
	c := newTest(t, 8<<20)
	body := strings.Repeat("<path fill='currentColor'/>", 30)
	varies := entrytest.Own("/varies", body)
	varies.Secondary, varies.Vary = "en", []string{"Accept-Language"}
	soft, dropped := entrytest.Own("/soft", body), entrytest.Own("/dropped", body)
	dropped.Tags = []string{"dropped"}
	unusable, undated := entrytest.Own("/unusable", body), entrytest.Own("/undated", body)
	unusable.Policy.NoCache, undated.Policy.Stored = true, time.Time{}
	for _, e := range []*entry.Entry{
		entrytest.WithCodings(entrytest.Own("/mdi/home.svg", body)), entrytest.Own("/short", "x"),
		entrytest.Own("/large", strings.Repeat("x", 1<<20)), soft, dropped, varies, entrytest.New("/forwarded", body), unusable, undated,
	} {
		c.Put(e, c.Generation())
	}
	c.Purge(invalidation.Purge{Keys: []string{"/soft"}, Soft: true}, t0.Add(time.Minute))
	c.Invalidate("dropped")
	for key, want := range map[string]bool{
		"/mdi/home.svg": true, "/short": true, "/large": true, "/soft": true, "/dropped": false, "/varies": false,
		"/forwarded": false, "/none": false, "/unusable": true, "/undated": true,
	} {
		var v View
		if got := c.View(key, &v); got != want {
			t.Errorf("View(%s) = %v, want %v", key, got, want)
		}
		if want {
			shows(t, &v, c, key)
		}
	}
	consistent(t, c)
}

// freshAt returns the results of fresh before, when and after a response was stored.
func freshAt(fresh func(time.Time) (age, ttl time.Duration, ok bool)) string {
	var all strings.Builder
	for _, after := range []time.Duration{-time.Hour, 0, time.Nanosecond, 90 * time.Second, 1000 * time.Hour} {
		fmt.Fprintln(&all, fmt.Sprint(fresh(t0.Add(after))))
	}
	return all.String()
}

// shows compares a view with the entry that Get returns, and releases the view.
func shows(t *testing.T, v *View, c *Cache, key string) {
	t.Helper()
	freshness, head, hits := freshAt(v.Fresh), *v.Head(), v.Hit()
	var bodies, tags [3]string
	for coding := range entry.Brotli + 1 {
		if v.Has(coding) {
			bodies[coding], tags[coding] = string(v.Body(coding)), string(v.ETag(coding))
		}
	}
	head.Own, head.OwnBody = []byte(string(head.Own)), []byte(string(head.OwnBody))
	v.Release()
	e := c.Get(key)
	p := e.Freshness()
	want := freshAt(func(now time.Time) (age, ttl time.Duration, ok bool) { return p.AgeAt(now), p.TTL(now), p.Fresh(now) })
	if freshness != want || !entrytest.SameHead(&entry.Entry{Head: &head}, e) || e.Hit() != hits+1 {
		t.Errorf("the view of %s shows freshness %s, head %+v, %d hits", key, freshness, head, hits)
	}
	for coding := range entry.Brotli + 1 {
		if w := e.Variant(coding); w == nil && tags[coding] != "" ||
			w != nil && (string(w.Body) != bodies[coding] || w.ETag != tags[coding]) {
			t.Errorf("the view of %s shows %d bytes of %s with the tag %s", key, len(bodies[coding]), coding, tags[coding])
		}
	}
}

// Hits are counted in the store, whichever copy or view counts them.
func TestHitsAreKept(t *testing.T) {
	c := newTest(t, 8<<20)
	stored := entrytest.Own("/a", "body")
	c.Put(stored, c.Generation())
	first, second := c.Get("/a"), c.Get("/a")
	var v View
	c.View("/a", &v)
	if a, b, d := stored.Hit(), first.Hit(), v.Hit(); a != 1 || b != 2 || d != 3 {
		t.Errorf("hits count %d, %d, %d", a, b, d)
	}
	v.Release()
	c.Put(entrytest.Own("/a", "newer"), c.Generation())
	if n := second.Hit(); n < 1 || c.Get("/a").Hit() != 1 {
		t.Errorf("a hit of a replaced entry was lost, or counted for the newer one: %d", n)
	}
}

func TestSameStored(t *testing.T) {
	c := newTest(t, 8<<20)
	e := entrytest.Own("/a", "body")
	if e.SameStored(entrytest.Own("/a", "body")) || e.SameStored(nil) || !e.SameStored(e) || (*entry.Entry)(nil).SameStored(e) {
		t.Error("an entry that was never stored is the same as another, or differs from itself")
	}
	c.Put(e, c.Generation())
	stale := c.Get("/a")
	c.Put(e.CopyConfirmed(), c.Generation())
	if !stale.SameStored(e) || c.Get("/a").SameStored(stale) || !c.Get("/a").SameStored(c.Get("/a")) {
		t.Error("copies of one stored response differ, or those of two are the same")
	}
}

func TestViewDoesNotAllocate(t *testing.T) {
	c := newTest(t, 64<<20)
	e := entrytest.WithCodings(entrytest.Own("/mdi/home.svg", strings.Repeat("<path/>", 100)))
	c.Put(e, c.Generation())
	key, out := []byte("/mdi/home.svg"), make([]byte, 0, 8<<10)
	n := testing.AllocsPerRun(1000, func() {
		var v View
		if !c.View(codec.AsString(key), &v) {
			t.Fatal("the entry is not found")
		}
		if _, _, ok := v.Fresh(t0); ok {
			out = append(append(append(out[:0], v.Head().Own...), v.ETag(entry.Brotli)...), v.Body(entry.Brotli)...)
		}
		v.Hit()
		v.Release()
	})
	if n != 0 {
		t.Errorf("a view allocates %v times", n)
	}
}

// checksummedEntry returns an entry whose body has a checksum, so that a reader notices a torn or
// wrong body.
func checksummedEntry(random *rand.Rand, key string, size int) *entry.Entry {
	b := []byte(key + " " + strings.Repeat("x", size))
	for i := len(key) + 1; i < len(b); i++ {
		b[i] = byte('a' + random.IntN(26))
	}
	b = fmt.Appendf(b, " %08x", crc32.ChecksumIEEE(b))
	e := entrytest.Own(key, string(b))
	e.Tags = append(e.Tags, fmt.Sprint("size/", size%7))
	return e
}

func intact(body []byte, key string) bool {
	n := len(body) - 9
	return n > 0 && strings.HasPrefix(string(body), key+" ") && fmt.Sprintf(" %08x", crc32.ChecksumIEEE(body[:n])) == string(body[n:])
}

// A view shows one complete response while entries are purged, moved and replaced.
func TestConcurrentViews(t *testing.T) {
	c := newTest(t, 2<<20)
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(worker)))
			for range 1500 {
				key := fmt.Sprint("/", random.IntN(400), ".svg")
				switch n := random.IntN(30); {
				case n == 0:
					c.Purge(invalidation.Purge{Tags: []string{fmt.Sprint("size/", random.IntN(7))}}, time.Now())
				case n == 1:
					c.compact()
				case n < 12:
					c.Put(checksummedEntry(random, key, 100+random.IntN(6000)), c.Generation())
				case n < 15:
					if e := c.Get(key); e != nil && !intact(e.Identity().Body, key) {
						t.Errorf("the entry of %s is torn: %q", key, e.Identity().Body)
					}
				default:
					var v View
					if !c.View(key, &v) {
						continue
					}
					if !intact(v.Body(entry.Identity), key) || !strings.Contains(string(v.Head().Own), strings.TrimSuffix(key, ".svg")) {
						t.Errorf("the view of %s is torn: %q", key, v.Body(entry.Identity))
					}
					v.Hit()
					v.Release()
				}
			}
		})
	}
	wg.Wait()
	consistent(t, c)
}
