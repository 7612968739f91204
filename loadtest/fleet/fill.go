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

// warm asks each edge for every icon that must be in its cache.
func (r *run) warm(ctx context.Context) error { return r.fill(ctx, r.edges(), r.judge.icons) }

// fillers is how many parts of a list are asked for at a time: an edge that is far from its shield takes a while for each icon.
const fillers = 8

// fill asks edges for everything in a list.
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
