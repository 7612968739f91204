//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

// warm requests from each edge every icon that must be in its cache.
func (r *run) warm(ctx context.Context) error { return r.fill(ctx, r.edges(), r.judge.icons) }

// fillers is the number of concurrent requests: an edge with a distant shield needs time for each
// icon.
const fillers = 8

// fill requests a list of targets from edges.
func (r *run) fill(ctx context.Context, edges []*edge, targets []string) error {
	var all sync.WaitGroup
	errs := make(chan error, len(edges)*fillers)
	for _, e := range edges {
		for part := range slices.Chunk(targets, len(targets)/fillers+1) {
			all.Go(func() { errs <- e.fill(ctx, part) })
		}
	}
	all.Wait()
	close(errs)
	var joined error
	for err := range errs {
		joined = errors.Join(joined, err)
	}
	return joined
}

func (e *edge) fill(ctx context.Context, targets []string) error {
	addr, err := netip.ParseAddrPort(e.addr)
	if err != nil {
		return err
	}
	m := mix.Maker{Host: "icons.example"}
	return load.Ask(ctx, addr, len(targets), func(i int) []byte { return m.Get(targets[i]) }, func(_ int, a load.Answer) error {
		if a.Status != http.StatusOK {
			return fmt.Errorf("%s answers %d", e.name, a.Status)
		}
		return nil
	})
}
