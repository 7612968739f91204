//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/report"
)

// A column is one kind of request that all servers get.
type column struct {
	name   string
	icons  icons    // the requested icons
	kind   mix.Kind // of the requests
	fields []string // request header lines
	other  []string // those of every second request; none: the same
	coding string   // the Content-Encoding that responses must have
	method string   // empty: GET
	filled bool     // its requests fill no cache, so plain ones come first
	alone  bool     // only our edge gets this column
	rated  bool     // also measured at the fixed rate

	connections int // 0: as many as --connections says
}

// icons selects the icons that a column requests.
type icons string

const (
	all        icons = "all"
	one        icons = "one"
	monochrome icons = "monochrome" // icons that a colour changes
	// icons that our edge stores in this coding; not all icons become smaller by it
	inGzip   icons = "gzip"
	inBrotli icons = "br"
	// all, at the paths of the made-up origin that depend on X-Device
	byDevice icons = "by device"
)

// A column whose responses differ from plain ones has a twin column, which requests the same icons
// without the difference.
var columns = []column{
	{name: report.Hot, icons: one, kind: mix.Plain, rated: true},
	{name: report.Zipf, icons: all, kind: mix.Plain, rated: true},
	{name: report.Browser, icons: all, kind: mix.Plain, fields: mix.Browser},
	{name: report.Unchanged, icons: one, kind: mix.Conditional, filled: true},
	{name: report.Gzip, icons: inGzip, kind: mix.Plain, fields: acceptGzip, coding: "gzip"},
	{name: report.GzipTwin, icons: inGzip, kind: mix.Plain, alone: true},
	{name: report.Brotli, icons: inBrotli, kind: mix.Plain, fields: acceptBrotli, coding: "br"},
	{name: report.BrotliTwin, icons: inBrotli, kind: mix.Plain, alone: true},
	{name: report.Coloured, icons: monochrome, kind: mix.Coloured, alone: true},
	{name: report.ColouredTwin, icons: monochrome, kind: mix.Plain, alone: true},
	{name: report.One, icons: all, kind: mix.Plain, connections: 1},
	{name: report.Thousand, icons: all, kind: mix.Plain, connections: 1000},
	{name: report.TenThousand, icons: all, kind: mix.Plain, connections: 10_000, rated: true},
}

var (
	acceptGzip   = []string{"Accept-Encoding: gzip"}
	acceptBrotli = []string{"Accept-Encoding: br"}
)

// asks reports whether a server is measured in a column.
func (b *bench) asks(server string, c column) bool {
	if b.groups != nil {
		return b.groups.has(server, c.name)
	}
	if most, limited := connectionsOf[server]; limited && c.connections > most {
		return false
	}
	return isPlainEdge(server) || !c.alone && (server != report.Limited || c.coding == "")
}

// connectionsOf has the servers that do not take 10,000 connections here. HAProxy needs two
// descriptors for each (see maxconn in peers/haproxy.cfg); Varnish breaks some of them.
var connectionsOf = map[string]int{report.HAProxy: 8000, report.Varnish: 8000}

// hotPath is the icon of the hot columns. It is small, as most icons are.
const hotPath = "/mdi/home.svg"

// A reference holds the origin's responses without a coding. Every server's responses must equal
// them.
type reference struct {
	mu   sync.Mutex
	of   map[string]load.Want // by path and query
	mono map[string]bool      // whether a colour changes the icon at this path
}

// newReference fetches every path from the origin, plain and coloured.
func newReference(ctx context.Context, origin target, paths []string) (*reference, error) {
	r := &reference{of: map[string]load.Want{}, mono: map[string]bool{}}
	m := mix.Maker{Host: origin.host}
	for _, kind := range []mix.Kind{mix.Plain, mix.Coloured} {
		plan, err := m.Plan(paths, mix.Shares{{Kind: kind, Weight: 1}}, nil, 0)
		if err != nil {
			return nil, err
		}
		request := func(i int) []byte { return plan.Requests[i].Head }
		err = load.Ask(ctx, origin.addr, len(paths), request, func(i int, a load.Answer) error {
			if a.Status != 200 {
				return fmt.Errorf("the origin answers %d", a.Status)
			}
			r.add(kind, paths[i], plan.Requests[i].Target(), a.Body)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *reference) add(kind mix.Kind, path, address string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := load.Want{Status: 200, Length: int64(len(body)), Sum: load.Checksum(body), Summed: true}
	r.of[address] = want
	if kind == mix.Coloured {
		r.mono[path] = want != r.of[path]
	}
}

// check compares a response, decoded, with the origin's.
func (r *reference) check(address string, a load.Answer) error { return compare(a, r.of[address]) }

// compare compares a response, decoded, with the expected one.
func compare(a load.Answer, want load.Want) error {
	body, err := decode(a.Header.Get("Content-Encoding"), a.Body)
	if err != nil {
		return err
	}
	if a.Status != want.Status || int64(len(body)) != want.Length || load.Checksum(body) != want.Sum {
		return fmt.Errorf("status %d and %d bytes, but the origin sent %d and %d, or other bytes: %w", a.Status,
			len(body), want.Status, want.Length, errWrong)
	}
	return nil
}

// decode removes a content coding.
func decode(coding string, body []byte) ([]byte, error) {
	var decoded io.Reader
	var err error
	switch coding {
	case "", "identity":
		return body, nil
	case "gzip":
		decoded, err = gzip.NewReader(bytes.NewReader(body))
	case "br":
		decoded = brotli.NewReader(bytes.NewReader(body))
	default:
		err = fmt.Errorf("a response with Content-Encoding %q, which was not accepted", coding)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(decoded)
}

// pathsOf returns the paths of a column.
func (b *bench) pathsOf(c column) (paths []string) {
	switch c.icons {
	case one:
		return []string{hotPath}
	case inGzip, inBrotli:
		return b.coded[c.icons]
	}
	for _, p := range b.paths {
		if c.icons == byDevice {
			p = perDevice + p
		}
		if c.icons != monochrome || b.reference.mono[p] {
			paths = append(paths, p)
		}
	}
	return paths
}
