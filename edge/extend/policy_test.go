package extend

import (
	"math"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/upstream/balance"
)

// roundRobin takes the URLs in turn.
type roundRobin struct{ turn atomic.Uint64 }

func (r *roundRobin) Score(_ string, origins []balance.Origin) {
	first := int(r.turn.Add(1) % uint64(len(origins)))
	for i := range origins {
		o := &origins[i]
		if o.Score = math.Inf(-1); o.Weight > 0 { // 0: only if no other is left
			o.Score = -float64((i - first + len(origins)) % len(origins))
		}
	}
}

func init() {
	balance.Add(balance.Row{
		Name: "round_robin", Help: "the URLs in turn",
		New: func() balance.Policy { return &roundRobin{} },
	})
}
