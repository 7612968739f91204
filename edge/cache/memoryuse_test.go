package cache

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/test/sequential"
)

// icons are entries of typical icon sizes: bodies of 156 to 900 bytes, in all codings. Many share a
// body, so that it is encoded once.
type icons struct{ bodies []*entry.Entry }

func newIcons() *icons {
	random := rand.New(rand.NewPCG(5, 6))
	list := &icons{}
	for range 500 {
		b := []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path fill="currentColor" d="M`)
		for size := 140 + random.IntN(740); len(b) < size; {
			b = fmt.Appendf(b, "%c%d.%d", "lhvcsqa "[random.IntN(8)], random.IntN(20), random.IntN(100))
		}
		list.bodies = append(list.bodies, entrytest.WithCodings(entrytest.Own("/", string(append(b, `"/></svg>`...)))))
	}
	return list
}

func (i *icons) at(n int) *entry.Entry {
	e := entrytest.Own(fmt.Sprintf("/pack-%d/icon-%d.svg", n%200, n), "")
	body := i.bodies[n%len(i.bodies)]
	e.Variants, e.Head.Paint = body.Variants, 1
	return e
}

// payload returns the bytes of an entry that clients get: bodies, and its own part of the head.
func payload(e *entry.Entry) (n int64) {
	for _, v := range e.Variants {
		if v != nil {
			n += int64(len(v.Body))
		}
	}
	return n + int64(len(e.Head.Own)+len(e.Head.OwnBody)+len("ETag: \r\n")+len(e.Identity().ETag))
}

func fill(t testing.TB, c *Cache, list *icons, entries int) (bytes int64) {
	t.Helper()
	for n := range entries {
		e := list.at(n)
		bytes += payload(e)
		c.Put(e, c.Generation())
	}
	c.waitForLRU()
	if got := c.Stats().Entries; got != int64(entries) {
		t.Fatalf("%d of %d entries are stored", got, entries)
	}
	return bytes
}

// Many entries add few objects for the garbage collector, and cost little more than their payload.
func TestManyEntriesFewObjects(t *testing.T) {
	sequential.Test(t)
	const entries = 100_000
	list := newIcons()
	c := newTest(t, 512<<20)
	before := objects()
	bytes := fill(t, c, list, entries)
	if n := objects() - before; n > 5000 {
		t.Errorf("%d entries add %d objects on the heap", entries, n)
	}
	if got := c.Stats().Bytes; got > bytes*13/10+4<<20 {
		t.Errorf("%d entries with a payload of %d bytes cost %d", entries, bytes, got)
	}
	runtime.KeepAlive(list)
}

func objects() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapObjects)
}

// The ceiling holds for any sequence of sizes: free slots count too.
func TestCeilingHoldsForAllSizes(t *testing.T) {
	sequential.Test(t)
	const ceiling = 16 << 20
	c := newTest(t, ceiling)
	random := rand.New(rand.NewPCG(7, 8))
	body := make([]byte, 64<<10)
	for era := range 6 {
		for i := range 4000 {
			size := 1 << (7 + era) * (100 + random.IntN(100)) / 100
			if random.IntN(50) == 0 {
				size = random.IntN(len(body))
			}
			c.Put(entrytest.Own(fmt.Sprintf("/%d/%d.svg", era, i), string(body[:size])), c.Generation())
			if taken := c.Stats().Bytes; taken > ceiling {
				t.Fatalf("after %d entries of size %d the cache has %d bytes, above its ceiling of %d", i+1, size, taken, ceiling)
			}
		}
		if s := c.Stats(); s.Bytes < ceiling/2 && era > 3 {
			t.Errorf("in era %d only %d bytes are used: %+v", era, s.Bytes, s)
		}
	}
	consistent(t, c)
}

// resident returns the resident memory of the process in bytes; 0 if unknown.
func resident() (n int64) {
	b, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		var all int64
		fmt.Sscan(string(b), &all, &n)
	}
	return n * int64(os.Getpagesize())
}

// BenchmarkMemory stores 400,000 icons and prints for each entry its payload, its cost, and the
// growth of the process, before and after a garbage collection.
func BenchmarkMemory(b *testing.B) {
	const entries = 400_000
	list := newIcons()
	for b.Loop() {
		debug.FreeOSMemory()
		before, heap := resident(), objects()
		c, err := New(Options{MaxBytes: 1 << 30})
		if err != nil {
			b.Fatal(err)
		}
		bytes := fill(b, c, list, entries)
		grown := resident() - before
		debug.FreeOSMemory()
		start := time.Now()
		runtime.GC()
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "ms/GC")
		b.ReportMetric(float64(bytes)/entries, "held/entry")
		b.ReportMetric(float64(c.Stats().Bytes)/entries, "counted/entry")
		b.ReportMetric(float64(grown)/entries, "grown/entry")
		b.ReportMetric(float64(resident()-before)/entries, "settled/entry")
		b.ReportMetric(float64(objects()-heap), "objects")
		c.Close()
	}
}

// filled returns a cache with a number of icons, and room for more.
func filled(b *testing.B, entries int) *Cache {
	c, err := New(Options{MaxBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	fill(b, c, newIcons(), entries)
	return c
}

// look reads the parts of a response from a view.
func (v *View) look(c *Cache, key string, out []byte) []byte {
	if !c.View(key, v) {
		return nil
	}
	if _, _, fresh := v.Fresh(t0); !fresh {
		return nil
	}
	h := v.Head()
	out = append(append(append(append(append(out[:0], h.Type...), h.Always...), v.ETag(entry.Identity)...), h.Own...),
		v.Body(entry.Identity)...)
	v.Hit()
	v.Release()
	return out
}

func BenchmarkView(b *testing.B) {
	for _, entries := range []int{5000, 400_000} {
		c := filled(b, entries)
		for _, keys := range slices.Compact([]int{1, 5000, entries}) {
			random := rand.New(rand.NewPCG(1, 1))
			names := make([]string, 1<<16)
			for i := range names {
				n := random.IntN(keys)
				names[i] = fmt.Sprintf("/pack-%d/icon-%d.svg", n%200, n)
			}
			for name, do := range map[string]func(v *View, key string) bool{
				"view only": func(v *View, key string) bool {
					ok := c.View(key, v)
					v.Release()
					return ok
				},
				"copied": func(v *View, key string) bool { return v.look(c, key, make([]byte, 0, 4096)) != nil },
			} {
				b.Run(fmt.Sprintf("%d entries, %d requested, %s", entries, keys, name), func(b *testing.B) {
					b.ReportAllocs()
					i := 0
					var v View
					for b.Loop() {
						if i++; !do(&v, names[i%len(names)]) {
							b.Fatal("the entry is not found")
						}
					}
				})
			}
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for _, most := range []int64{1 << 30, 64 << 20} {
		b.Run(fmt.Sprintf("%d MB", most>>20), func(b *testing.B) {
			c, err := New(Options{MaxBytes: most})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			list, i := newIcons(), 0
			ready := make([]*entry.Entry, 1<<12)
			b.ReportAllocs()
			for b.Loop() {
				if i%len(ready) == 0 {
					b.StopTimer()
					for n := range ready {
						ready[n] = list.at((i + n) % 300_000)
					}
					b.StartTimer()
				}
				c.Put(ready[i%len(ready)], c.Generation())
				i++
			}
		})
	}
}

// BenchmarkCollections requests icons of a full cache at a fixed rate, without and with permanent
// garbage collection, and prints the time from the moment at which each request was due.
func BenchmarkCollections(b *testing.B) {
	c := filled(b, 400_000)
	for _, forced := range []bool{false, true} {
		b.Run(fmt.Sprintf("forced %v", forced), func(b *testing.B) {
			for b.Loop() {
				took := atRate(c, 20_000, 3*time.Second, forced)
				slices.Sort(took)
				for name, part := range map[string]int{"p50": 500, "p99": 990, "p99.9": 999} {
					b.ReportMetric(float64(took[len(took)*part/1000].Nanoseconds())/1000, name+"-µs")
				}
			}
		})
	}
}

func atRate(c *Cache, rate int, during time.Duration, forced bool) (took []time.Duration) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for forced {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	random, out := rand.New(rand.NewPCG(2, 2)), make([]byte, 0, 4096)
	var v View
	start, every := time.Now(), time.Second/time.Duration(rate)
	for due := time.Duration(0); due < during; due += every {
		for time.Since(start) < due {
			runtime.Gosched()
		}
		n := random.IntN(400_000)
		v.look(c, fmt.Sprintf("/pack-%d/icon-%d.svg", n%200, n), out)
		took = append(took, time.Since(start)-due)
	}
	close(stop)
	wg.Wait()
	return took
}
