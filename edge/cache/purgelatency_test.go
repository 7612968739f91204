package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A latency is a list of request durations.
type latency []time.Duration

func (l latency) String() string {
	slices.Sort(l)
	at := func(intern float64) time.Duration { return l[int(intern*float64(len(l)-1))] }
	return fmt.Sprintf("%d requests, p50 %v, p99 %v, p99.9 %v, p99.99 %v, longest %v", len(l), at(.5), at(.99), at(.999), at(.9999), at(1))
}

// BenchmarkPurgeWhileServing purges 10,000 prefixes, keys or surrogate keys in a cache of 1,000,000
// entries, while another goroutine requests and stores entries. It prints how long these requests
// took before the purge, and until it was tidied up. Run it with -benchtime 1x on a quiet machine.
func BenchmarkPurgeWhileServing(b *testing.B) {
	const entries, items = 1_000_000, 10_000
	key := func(i int) string { return fmt.Sprintf("/pack-%d/icon-%d.svg", i%(2*items), i) }
	for _, kind := range []string{"prefixes", "surrogate_keys", "urls", "soft_prefixes"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				c, err := New(Options{MaxBytes: 4 << 30})
				if err != nil {
					b.Fatal(err)
				}
				for i := range entries {
					e := entrytest.New(key(i), "<svg/>", fmt.Sprint("pack/", i%(2*items)))
					e.Head = &entry.Head{Own: []byte("a: b\r\n")}
					c.Put(e, c.Generation())
				}
				c.waitForLRU()
				p := invalidation.Purge{Soft: kind == "soft_prefixes"}
				for i := range items {
					switch kind {
					case "urls":
						p.Keys = append(p.Keys, key(i))
					case "surrogate_keys":
						p.Tags = append(p.Tags, fmt.Sprint("pack/", i))
					default:
						p.Prefixes = append(p.Prefixes, fmt.Sprintf("/pack-%d/", i))
					}
				}
				type served struct{ hits, stores latency }
				stop, done := make(chan struct{}), make(chan served)
				serve := func() {
					var took served
					var v View
					r := rand.New(rand.NewPCG(1, 2))
					for {
						select {
						case <-stop:
							done <- took
							return
						default:
						}
						i := r.IntN(entries)
						k := key(i)
						e := entrytest.New(fmt.Sprint("/new/", i), "body")
						start := time.Now()
						if i%20 == 0 {
							c.Put(e, c.Generation())
							took.stores = append(took.stores, time.Since(start))
						} else {
							if c.View(k, &v) {
								v.Release()
							}
							took.hits = append(took.hits, time.Since(start))
						}
						if i%50 == 0 {
							time.Sleep(100 * time.Microsecond)
						}
					}
				}
				go serve()
				time.Sleep(time.Second)
				stop <- struct{}{}
				before := <-done
				b.Logf("before: hits %v", before.hits)
				b.Logf("before: stores %v", before.stores)
				go serve()
				start := time.Now()
				n := c.Purge(p, start)
				purged := time.Since(start)
				c.tidy()
				stop <- struct{}{}
				tidied := time.Since(start) - purged
				meanwhile := <-done
				b.Logf("during the purge: hits %v", meanwhile.hits)
				b.Logf("during the purge: stores %v", meanwhile.stores)
				b.Logf("%d entries purged in %v, tidied up in %v", n, purged, tidied)
				c.Close()
			}
		})
	}
}
