package hit

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/request/requesttest"
)

// BenchmarkLoops measures hits of one page and of many in as many goroutines as there are
// processors, each of which answers its own requests as an event loop does (-cpu 1,2,4,8,16). The
// time of a hit on two cores is half of that on one if the goroutines share nothing.
func BenchmarkLoops(b *testing.B) {
	for _, pages := range []int{1, 4096} {
		b.Run(fmt.Sprint("pages=", pages), func(b *testing.B) {
			c, err := cache.New(cache.Options{MaxBytes: 256 << 20}) // as by default
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			p := newTestPath(b, with(), func(o *Options) { o.Cache = c })
			targets := make([][]byte, pages)
			for i := range targets {
				targets[i] = fmt.Append(nil, "/page/", i)
				p.put(b, "shop.test", string(targets[i]))
			}
			var seed atomic.Uint64
			b.RunParallel(func(at *testing.PB) {
				q := requesttest.New(b, "shop.test", string(targets[0]), "Accept-Encoding: gzip, br")
				random := rand.New(rand.NewPCG(seed.Add(1), 1))
				var out []byte
				ok := true
				for at.Next() {
					q.SetTarget(targets[random.IntN(pages)])
					q.Now = time.Now()
					if out, ok = p.Answer(out[:0], q); !ok {
						b.Error("no hit")
						return
					}
				}
			})
		})
	}
}
