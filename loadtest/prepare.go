//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/report"
)

// planFor makes the plan of a server in a column. If the server cannot answer that column, why
// gives the reason. An error means a wrong response.
func (b *bench) planFor(ctx context.Context, c *contender, col column) (plan *load.Plan, why string, err error) {
	m := mix.Maker{Host: c.server.Listen.String(), Method: col.method, Fields: col.fields}
	paths := b.pathsOf(col)
	if len(paths) == 0 {
		return nil, "no icon is of this kind", nil
	}
	if col.filled {
		plain := mix.Maker{Host: m.Host}
		s, err := see(ctx, c.server.Listen, requestsOf(&plain, paths),
			func(i int, a load.Answer) error { return b.reference.check(paths[i], a) })
		if err != nil {
			return nil, "", err
		}
		if col.kind == mix.Conditional && s.answers[0].etag == "" {
			return nil, "its answers have no ETag", nil
		}
		m.ETag = func(i int) string { return s.answers[i].etag }
	}
	order := mix.Recorded(len(paths))
	if col.icons != one {
		order = mix.Zipf(len(paths), 1, b.seed)
	}
	made, err := m.Plan(paths, mix.Shares{{Kind: col.kind, Weight: 1}}, order, b.seed)
	if err == nil && col.other != nil {
		m.Fields = col.other
		err = interleave(&made, &m, paths)
	}
	if err != nil {
		return nil, "", err
	}
	why, err = b.fill(ctx, c, col, &made)
	return &made, why, err
}

// interleave makes every second request of a plan one of m.
func interleave(plan *load.Plan, m *mix.Maker, paths []string) error {
	more, err := m.Plan(paths, mix.Shares{{Kind: mix.Plain, Weight: 1}}, nil, 0)
	for i := 1; i < len(plan.Order); i += 2 {
		plan.Order[i] += uint32(len(plan.Requests))
	}
	plan.Requests = append(plan.Requests, more.Requests...)
	return err
}

func requestsOf(m *mix.Maker, paths []string) (requests [][]byte) {
	for _, p := range paths {
		requests = append(requests, m.Get(p))
	}
	return requests
}

// fill requests everything in a plan until the responses no longer change, and makes them the
// expected ones. They must be those of the origin to the same requests.
func (b *bench) fill(ctx context.Context, c *contender, col column, plan *load.Plan) (why string, err error) {
	requests := make([][]byte, len(plan.Requests))
	for i := range plan.Requests {
		requests[i] = plan.Requests[i].Head
	}
	wants, err := b.wanted(ctx, col, requests)
	if err != nil {
		return "", err
	}
	check := func(i int, a load.Answer) error {
		if c.name == report.ForwardingSites && a.Header.Get("X-Rule") != "svg" {
			return fmt.Errorf("no rule has edited the response: %w", errWrong)
		}
		return col.check(a, wants[i])
	}
	s, err := see(ctx, c.server.Listen, requests, check)
	if err == nil && isEdge(c.name) && col.fields != nil {
		s, err = seeCodings(ctx, c, requests, check, s)
	}
	if err != nil {
		return "", err
	}
	for i, a := range s.answers {
		switch {
		case a.want.Status != wants[i].Status:
			return fmt.Sprintf("it answers %d, not %d", a.want.Status, wants[i].Status), nil
		case a.coding != col.coding && col.coding != "":
			return "its answers are not in " + col.coding, nil
		case isEdge(c.name) && !a.hit:
			return "", fmt.Errorf("%s: Cache-Status has no hit: %w", plan.Requests[i].Line(), errFetched)
		}
		plan.Requests[i].Want = a.want
	}
	return "", nil
}

// seeCodings requests everything again whenever the edge is idle, until it has made all codings.
// One that is busy makes them late.
func seeCodings(ctx context.Context, c *contender, requests [][]byte, check func(int, load.Answer) error, before *seen) (*seen, error) {
	tree, err := c.server.Tree()
	if err != nil {
		return nil, err
	}
	for range maxSeen {
		if err := tree.Calm(ctx); err != nil {
			return nil, err
		}
		s, err := see(ctx, c.server.Listen, requests, check)
		if err != nil || slices.Equal(s.answers, before.answers) {
			return s, err
		}
		before = s
	}
	return nil, fmt.Errorf("%s makes other codings each time", c.name)
}

// wanted returns the origin's own responses, decoded. A condition of a server's response may be
// false at the origin; at the server it must be true.
func (b *bench) wanted(ctx context.Context, col column, requests [][]byte) ([]load.Want, error) {
	wants := make([]load.Want, len(requests))
	if col.kind == mix.Conditional {
		for i := range wants {
			wants[i] = load.Want{Status: http.StatusNotModified}
		}
		return wants, nil
	}
	return wants, load.Ask(ctx, b.origin.Listen, len(requests), func(i int) []byte { return requests[i] },
		func(i int, a load.Answer) error {
			body, err := decode(a.Header.Get("Content-Encoding"), a.Body)
			wants[i] = load.Want{Status: a.Status, Length: int64(len(body)), Sum: load.Checksum(body)}
			return err
		})
}

// check compares a response with the origin's. A response with another status is no error if it
// means that the server does not support the request, which omits the column.
func (c column) check(a load.Answer, want load.Want) error {
	switch {
	case a.Status != want.Status && a.Status == http.StatusOK:
		return nil
	case c.method == http.MethodHead && a.Header.Get("Content-Length") != strconv.Itoa(hitBody):
		return fmt.Errorf("Content-Length %q, want %d: %w", a.Header.Get("Content-Length"), hitBody, errWrong)
	}
	return compare(a, want)
}

// findCoded finds the icons that our edge stores in a coding.
func (b *bench) findCoded(ctx context.Context, c *contender, coding icons, fields []string) error {
	m := mix.Maker{Host: c.server.Listen.String(), Fields: fields}
	s, err := see(ctx, c.server.Listen, requestsOf(&m, b.paths),
		func(i int, a load.Answer) error { return b.reference.check(b.paths[i], a) })
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
