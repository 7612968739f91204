//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// A contender is a server under measurement, with the plan of each column that it is measured in.
type contender struct {
	name   string
	ours   bool
	server *peers.Server
	plans  map[string]*load.Plan
}

var contenders = []string{report.Ours, report.Before, report.Limited, report.Nginx, report.Varnish, report.HAProxy, report.Ceiling}

// wants reports whether a server is selected. The baseline is, if its program is given.
func (b *bench) wants(name string) bool {
	if name == report.Before {
		return b.baseline != ""
	}
	return len(b.servers) == 0 || slices.Contains(b.servers, name)
}

// isOurs reports whether the targets apply to a server.
func isOurs(name string) bool { return name == report.Ours || name == report.Limited }

// isEdge reports whether a server is an edge of iconedge.
func isEdge(name string) bool { return strings.HasPrefix(name, report.Ours) }

// isPlainEdge reports whether a server is an edge without limits: this build, or the baseline.
func isPlainEdge(name string) bool { return name == report.Ours || name == report.Before }

// startOrigin publishes the library, starts an origin with it, picks icons, and fetches them all
// for reference.
func (b *bench) startOrigin(ctx context.Context) error {
	store := b.store
	if store == "" {
		store = "dir:" + filepath.Join(b.work, "store")
		fmt.Fprintf(b.std.Err, "publishing %s\n", b.library)
		cmd := exec.CommandContext(ctx, b.iconedge, "publish", "--store", store, b.library)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("publishing the library: %w: %s", err, out)
		}
	}
	spec, err := peers.Origin(b.iconedge, store, peers.Place{Dir: filepath.Join(b.work, "origin"),
		CPUs: strconv.Itoa(b.clientCPU), Cores: 1})
	if err == nil {
		b.origin, err = peers.Start(ctx, spec)
	}
	if err != nil {
		return err
	}
	origin := target{"origin", spec.Listen.String(), spec.Listen}
	if err := ready(ctx, origin); err != nil {
		return err
	}
	all, err := pickIcons(ctx, origin, b.icons+2*b.missRounds()*b.misses, b.seed)
	if err != nil {
		return err
	}
	b.missPaths = slices.DeleteFunc(all[b.icons:], func(p string) bool { return p == hotPath })
	b.paths = all[:b.icons]
	fmt.Fprintf(b.std.Err, "fetching %d icons from the origin\n", len(b.paths))
	known := b.paths
	if !slices.Contains(known, hotPath) {
		known = append(slices.Clone(known), hotPath)
	}
	b.reference, err = newReference(ctx, origin, known)
	return err
}

// ready waits until the origin has read its store.
func ready(ctx context.Context, origin target) (err error) {
	for range 600 {
		var list struct{ Packs []struct{ Pack string } }
		if err = askJSON(ctx, origin, "/api/v1/packs", &list); err == nil && len(list.Packs) > 0 {
			return nil
		}
		if err := load.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("waiting for the origin: %w", err)
}

// startContenders starts the selected servers and fills their caches. It skips servers that are not
// installed. Our own edge comes first, because the ceiling copies its responses.
func (b *bench) startContenders(ctx context.Context) error {
	for _, name := range b.names {
		if !b.wants(name) {
			continue
		}
		c, err := b.startContender(ctx, name)
		if errors.Is(err, peers.ErrMissing) {
			b.leaveOut(&b.result, "%s: %v", name, err)
			continue
		}
		if err != nil {
			return err
		}
		b.contenders = append(b.contenders, c)
		b.result.Servers = append(b.result.Servers, report.Peer{Name: name, Ours: c.ours})
		if err := b.acquaint(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(b.contenders) == 0 {
		return errors.New("no server to measure")
	}
	return nil
}

func (b *bench) leaveOut(of *report.Bench, format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	fmt.Fprintln(b.std.Err, "omitted:", words)
	of.Left = append(of.Left, words)
}

func (b *bench) startContender(ctx context.Context, name string) (*contender, error) {
	server, err := b.startServer(ctx, name, b.place(inClear, name))
	if err != nil {
		return nil, err
	}
	return &contender{name: name, ours: isOurs(name), server: server, plans: map[string]*load.Plan{}}, nil
}

func (b *bench) startServer(ctx context.Context, name string, place peers.Place) (*peers.Server, error) {
	spec, err := b.specOf(name, place)
	if err != nil {
		return nil, err
	}
	return peers.Start(ctx, spec)
}

// place returns the folder and address of a server in a part of the bench.
func (b *bench) place(part, name string) peers.Place {
	return peers.Place{Dir: filepath.Join(b.work, part, name), Origin: b.origin.Listen, CPUs: strconv.Itoa(b.serverCPU), Cores: 1}
}

func (b *bench) specOf(name string, place peers.Place) (peers.Spec, error) {
	off := []string{"--limit", "icon=off", "--limit", "search=off", "--limit", "packs=off", "--limit", "verify=off"}
	switch name {
	case report.Ours:
		return peers.Edge(name, b.iconedge, place, append(off, "--limit", "cdn=off")...)
	case report.Before:
		return peers.Edge(name, b.baseline, place, append(off, "--limit", "cdn=off")...)
	// a limit that no client reaches, but that the edge counts every request for
	case report.Limited:
		return peers.Edge(name, b.iconedge, place, append(off, "--limit", "cdn=1000000/1s")...)
	case report.Sites, report.ForwardingSites:
		return peers.EdgeWithSites(name, b.iconedge, place, name == report.Sites)
	case report.Forwarding:
		return peers.Edge(name, b.iconedge, place, "--proxy-all", "--origin-host", "origin")
	case report.Reference:
		return peers.Edge(name, b.iconedge, place, append(off, "--limit", "cdn=off", "--http2-reference")...)
	case report.Nginx:
		return peers.Nginx(place, true)
	case report.Smallest:
		return peers.Self(name, "smallest", place, "--pem", place.PEM, "--body", strconv.Itoa(hitBody))
	case report.Varnish:
		return peers.Varnish(place)
	case report.HAProxy:
		return peers.HAProxy(place)
	case report.H2O:
		return peers.H2O(place)
	}
	copied, err := b.listenOf(report.Ours)
	if err != nil {
		return peers.Spec{}, err
	}
	return peers.Self(name, "ceiling", place, "--copy", "http://"+copied.String())
}

// writeBodies writes the origin's bodies as files, for a server that has no cache.
func (b *bench) writeBodies(ctx context.Context, dir string) error {
	m := mix.Maker{Host: b.origin.Listen.String()}
	requests := requestsOf(&m, b.paths)
	return load.Ask(ctx, b.origin.Listen, len(requests), func(i int) []byte { return requests[i] }, func(i int, a load.Answer) error {
		if err := b.reference.check(b.paths[i], a); err != nil {
			return err
		}
		file := filepath.Join(dir, filepath.FromSlash(b.paths[i]))
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, a.Body, 0o644))
	})
}

func (b *bench) listenOf(name string) (netip.AddrPort, error) {
	for _, c := range b.contenders {
		if c.name == name {
			return c.server.Listen, nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("%s copies the responses of %s: select both", report.Ceiling, name)
}

// acquaint requests every column from a server and compares the responses with the origin's. It
// omits columns that the server cannot answer.
func (b *bench) acquaint(ctx context.Context, c *contender) error {
	fmt.Fprintf(b.std.Err, "%s: filling the cache, comparing responses\n", c.name)
	if c.name == report.Ours && slices.ContainsFunc(b.columns, func(c column) bool { return c.coding != "" }) {
		err := errors.Join(b.findCoded(ctx, c, inGzip, acceptGzip), b.findCoded(ctx, c, inBrotli, acceptBrotli))
		if err != nil {
			return err
		}
	}
	for _, column := range b.columns {
		if !b.asks(c.name, column) {
			continue
		}
		plan, why, err := b.planFor(ctx, c, column)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", column.name, err)
		case why != "":
			b.leaveOut(&b.result, "%s, %s: %s", c.name, column.name, why)
		default:
			c.plans[column.name] = plan
		}
	}
	return nil
}
