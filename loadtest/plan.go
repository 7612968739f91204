//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

// pathsFor returns the paths that `loadtest run` requests. Paths that come from the first target
// serve for the others too.
func (c *runConfig) pathsFor(ctx context.Context, t target) (paths []string, err error) {
	if c.pathsFile != "" {
		if paths, err = readPaths(c.pathsFile); err != nil {
			return nil, err
		}
	}
	paths = append(paths, c.paths...)
	if len(paths) == 0 {
		if paths, err = pickIcons(ctx, t, c.icons, c.seed); err != nil {
			return nil, fmt.Errorf("choosing icons by the API, because there is no --path: %w", err)
		}
		c.paths = paths
	}
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, " \t\r\n\x00") {
			return nil, fmt.Errorf("%q is not a path", p)
		}
	}
	return paths, nil
}

// readPaths reads a file with one path a line. It ignores empty lines and lines that begin with #.
func readPaths(name string) (paths []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			paths = append(paths, line)
		}
	}
	if lines.Err() == nil && len(paths) == 0 {
		return nil, errors.New(name + " has no paths")
	}
	return paths, lines.Err()
}

// plan makes the requests for a target, and learns the expected responses.
func (c *runConfig) plan(ctx context.Context, t target, paths []string) (load.Plan, error) {
	m := mix.Maker{Host: t.host, Fields: c.fields}
	if c.browser {
		m.Fields = append(append([]string{}, mix.Browser...), c.fields...)
	}
	if c.shares.Has(mix.Conditional) {
		var err error
		if m.ETag, err = etags(ctx, t.addr, &m, paths); err != nil {
			return load.Plan{}, err
		}
	}
	plan, err := m.Plan(paths, c.shares, c.orderOf(len(paths)), c.seed)
	if err != nil {
		return plan, err
	}
	return plan, settle(ctx, t.addr, &plan)
}

func (c *runConfig) orderOf(n int) []uint32 {
	switch c.order {
	case "zipf":
		return mix.Zipf(n, c.skew, c.seed)
	case "shuffled":
		return mix.Shuffled(n, c.seed)
	}
	return mix.Recorded(n)
}

// etags returns the ETags of the responses for the paths.
func etags(ctx context.Context, addr netip.AddrPort, m *mix.Maker, paths []string) (func(i int) string, error) {
	s, err := see(ctx, addr, requestsOf(m, paths), func(_ int, a load.Answer) error {
		if a.Status != 200 || a.Header.Get("ETag") == "" {
			return fmt.Errorf("status %d and ETag %q: a 304 needs a 200 with an ETag", a.Status, a.Header.Get("ETag"))
		}
		return nil
	})
	return func(i int) string { return s.answers[i].etag }, err
}

// settle requests everything in a plan whose response is not known yet, and records the responses
// as the expected ones.
func settle(ctx context.Context, addr netip.AddrPort, plan *load.Plan) error {
	var open []int
	var requests [][]byte
	for i, r := range plan.Requests {
		if r.Want.Status == 0 {
			open, requests = append(open, i), append(requests, r.Head)
		}
	}
	s, err := see(ctx, addr, requests, func(_ int, a load.Answer) error {
		if a.Status >= 400 {
			return fmt.Errorf("status %d; the target must be healthy and without limits (--limit icon=off)", a.Status)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for k, i := range open {
		plan.Requests[i].Want = s.answers[k].want
	}
	return nil
}
