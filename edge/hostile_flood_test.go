package edge

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/sequential"
)

// A client that requests forms of icons one by one does not fill the cache with them. A form is
// stored at its second request.
func TestHostileFloodOfVariants(t *testing.T) {
	sequential.Test(t)
	w := newRawEdge(t, false)
	ask := w.flooder(t)
	ask("/mdi/home.svg")
	before := w.cache.Stats().Entries
	for size := 1; size <= 1024; size++ {
		ask(fmt.Sprintf("/mdi/home.svg?size=%d&rotate=%d", size, 1+size%3))
		ask(fmt.Sprintf("/api/v1/icon/mdi/home?width=%d&flip=vertical", size))
	}
	if n := w.cache.Stats().Entries - before; n > 0 {
		t.Errorf("2048 forms, each requested once, made %d entries", n)
	}
	const form = "/mdi/home.svg?height=48"
	for i, want := range []string{"fwd=uri-miss", "fwd=uri-miss; stored", "hit"} {
		w.origin.take()
		ask(form)
		seen, _ := w.origin.take()
		if stored := w.stored(form) != nil; stored != (i > 0) || len(seen) != map[bool]int{true: 1, false: 0}[i < 2] {
			t.Errorf("after request %d it is stored: %v, %d requests to the origin; want %s", i+1, stored, len(seen), want)
		}
	}
}

// A stored form stays stored when the edge has to fetch it again.
func TestHostileVariantIsRevalidated(t *testing.T) {
	before, w := newRawEdge(t, false), newRawEdge(t, false)
	const form = "/mdi/home.svg?height=48"
	before.warm(t, form)
	// The doorkeeper of the second edge has not seen the form.
	if !w.cache.Put(before.cache.Get(form).CopyConfirmed(), w.cache.Generation()) {
		t.Fatal("not stored")
	}
	w.age(t, form, 700*time.Second)
	w.ask(t, form)
	if e := w.stored(form); e == nil || !e.Freshness().Fresh(w.ages.now()) {
		t.Errorf("the form is not stored, or not fresh: %+v", e)
	}
}

// Requests for missing names evict no response that clients use, and each name reaches the origin
// once.
func TestHostileFloodOfMissing(t *testing.T) {
	sequential.Test(t)
	const hot, missing = 60, 3000 // more than the cache holds
	w := newRawEdge(t, false, func(c *Config) { c.CacheBytes = minCacheBytes })
	ask := w.flooder(t)
	for range 20 {
		for i := range hot {
			ask(fmt.Sprintf("/mdi/hot-%d.svg", i))
		}
	}
	w.origin.take()
	for i := range missing {
		ask(fmt.Sprintf("/mdi/missing-%d.svg", i))
		ask(fmt.Sprintf("/mdi/hot-%d.svg", i%hot))
	}
	seen, _ := w.origin.take()
	again := 0
	for _, m := range seen {
		if strings.HasPrefix(m.line, "GET /mdi/hot") {
			again++
		}
	}
	if again > 0 || len(seen) != missing {
		t.Errorf("%d names reached the origin %d times, hot icons %d times; %+v", missing, len(seen)-again, again, w.cache.Stats())
	}
}

// The negative cache holds a missing name for some seconds, in which the origin receives no second
// request for it.
func TestHostileMissingIsCached(t *testing.T) {
	t.Parallel()
	w := newRawEdge(t, false, func(c *Config) { c.CacheBytes = 256 << 20 }) // places for all names
	ask := w.flooder(t)
	for range 5 {
		for i := range 200 {
			ask(fmt.Sprintf("/mdi/missing-%d.svg", i))
		}
	}
	seen, _ := w.origin.take()
	if len(seen) != 200 {
		t.Errorf("200 names, requested five times each, reached the origin %d times", len(seen))
	}
	w.ages.move(5 * time.Second)
	ask("/mdi/missing-0.svg")
	if seen, _ := w.origin.take(); len(seen) != 1 {
		t.Errorf("after five seconds a name reached the origin %d times, want once", len(seen))
	}
}

// A purge removes missing names from the negative cache, so that the edge fetches them again. The
// result of a fetch that began before the purge is not cached.
func TestHostileMissingIsPurged(t *testing.T) {
	w := newRawEdge(t, false)
	const name = "/mdi/missing.svg"
	w.ask(t, name)
	before := w.library.Negative.Current()
	old := before.Find(name)
	if code, body := w.purge(t, `{"prefixes":["/mdi/"]}`); code != 200 {
		t.Fatal(code, body)
	}
	before.Put(old) // like a fetch that began before the purge
	w.ask(t, name)
	if seen, _ := w.origin.take(); len(seen) != 2 {
		t.Errorf("the origin received %d requests, want 2", len(seen))
	}
	if e := w.stored(name); e != nil {
		t.Error("the missing name is stored among the icons")
	}
}

// flooder returns a function that requests one target after another on the same connection.
func (w *rawEdge) flooder(t *testing.T) func(target string) {
	t.Helper()
	c, err := net.Dial("tcp", w.public)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	r := bufio.NewReader(c)
	return func(target string) {
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: edge.test\r\n\r\n", target); err != nil {
			t.Fatal(err)
		}
		if m, err := readMessage(r, !aRequest, !ofHead); err != nil || m.status() != 200 && m.status() != 404 {
			t.Fatalf("%s: %s, %v", target, m.line, err)
		}
	}
}
