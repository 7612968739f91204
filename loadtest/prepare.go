//go:build linux

package main

import (
	"context"
	"fmt"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

// planFor makes the plan of a server in a column. If the server cannot answer that column, why
// gives the reason. An error means a wrong response.
func (b *bench) planFor(ctx context.Context, c *contender, col column) (plan *load.Plan, why string, err error) {
	m := mix.Maker{Host: c.server.Listen.String(), Fields: col.fields}
	paths := b.pathsOf(col)
	if len(paths) == 0 {
		return nil, "no icon is of this kind", nil
	}
	if col.kind == mix.Conditional {
		s, err := see(ctx, c.server.Listen, requestsOf(&m, paths), func(i int, a load.Answer) error { return b.reference.check(paths[i], a) })
		if err != nil {
			return nil, "", err
		}
		if s.answers[0].etag == "" {
			return nil, "its answers have no ETag", nil
		}
		m.ETag = func(i int) string { return s.answers[i].etag }
	}
	order := mix.Recorded(len(paths))
	if col.icons != one {
		order = mix.Zipf(len(paths), 1, b.seed)
	}
	made, err := m.Plan(paths, mix.Shares{{Kind: col.kind, Weight: 1}}, order, b.seed)
	if err != nil {
		return nil, "", err
	}
	why, err = b.fill(ctx, c, col, &made)
	return &made, why, err
}

func requestsOf(m *mix.Maker, paths []string) (requests [][]byte) {
	for _, p := range paths {
		requests = append(requests, m.Get(p))
	}
	return requests
}

// fill requests everything in a plan until the responses no longer change, and makes them the
// expected ones.
func (b *bench) fill(ctx context.Context, c *contender, col column, plan *load.Plan) (why string, err error) {
	s, err := b.seePlan(ctx, c, col, plan)
	if err != nil {
		return "", err
	}
	for i, a := range s.answers {
		switch {
		case col.kind == mix.Conditional && a.want.Status != 304:
			return fmt.Sprintf("it answers %d, not 304", a.want.Status), nil
		case a.coding != col.coding && col.coding != "":
			return "its answers are not in " + col.coding, nil
		}
		plan.Requests[i].Want = a.want
	}
	return "", nil
}

func (b *bench) seePlan(ctx context.Context, c *contender, col column, plan *load.Plan) (*seen, error) {
	requests := make([][]byte, len(plan.Requests))
	addresses := make([]string, len(plan.Requests))
	for i := range plan.Requests {
		requests[i], addresses[i] = plan.Requests[i].Head, plan.Requests[i].Target()
	}
	return see(ctx, c.server.Listen, requests, func(i int, a load.Answer) error {
		if col.kind == mix.Conditional && a.Status == 304 {
			return nil
		}
		return b.reference.check(addresses[i], a)
	})
}

// findCoded finds the icons that our edge stores in a coding.
func (b *bench) findCoded(ctx context.Context, c *contender, coding icons, fields []string) error {
	m := mix.Maker{Host: c.server.Listen.String(), Fields: fields}
	s, err := see(ctx, c.server.Listen, requestsOf(&m, b.paths), func(i int, a load.Answer) error { return b.reference.check(b.paths[i], a) })
	if err != nil {
		return err
	}
	for i, a := range s.answers {
		if a.coding == string(coding) {
			b.coded[coding] = append(b.coded[coding], b.paths[i])
		}
	}
	return nil
}
