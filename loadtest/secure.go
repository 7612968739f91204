//go:build linux

package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/iconedge/iconedge/loadtest/h2load"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// A secureBench is the part of a bench over TLS. It uses h2load as its client, and package h3load
// for HTTP/3, because loadtest's own client speaks only HTTP/1.1 in the clear.
type secureBench struct {
	b       *bench
	pem     string // file with the certificate and key of the servers
	pool    *x509.CertPool
	paths   []string
	all     []string // paths of all packs
	names   []string // of the servers
	columns []secureColumn
	servers []*secureServer
	result  report.Secure
}

// A secureServer is a server under measurement, with the load of each column.
type secureServer struct {
	name   string
	server *peers.Server
	loads  map[string]*secureLoad
}

var secureContenders = []string{report.Ours, report.Before, report.Limited, report.Reference, report.Nginx,
	report.HAProxy, report.H2O, report.Smallest}

// measureSecure measures every server in every column over TLS, and idle connections.
func (b *bench) measureSecure(ctx context.Context) (*report.Secure, error) {
	s, err := b.secureBench(secureContenders, secureColumns)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if err := s.measureAll(ctx); err != nil {
		return nil, err
	}
	s.stop()
	return &s.result, s.measureRest(ctx)
}

// secureBench returns a bench of some servers in some columns over TLS.
func (b *bench) secureBench(names []string, columns []secureColumn) (s *secureBench, err error) {
	var of []string
	for _, c := range columns {
		of = append(of, c.name)
	}
	s = &secureBench{b: b, pem: filepath.Join(b.work, "pair.pem"), names: names, columns: columns,
		result: report.Secure{Bench: b.header(of)}}
	if s.pool, err = makePEM(s.pem, time.Now()); err != nil {
		return nil, err
	}
	return s, s.pick()
}

// measureAll starts the servers, which stop ends, and measures all rounds.
func (s *secureBench) measureAll(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	for round := range s.b.rounds {
		if err := s.round(ctx, round); err != nil {
			return err
		}
	}
	return nil
}

// The approximate number and size of the icons: those of a page, and of the median icon.
const (
	securePaths = 100
	secureBody  = 1000
)

// pick takes the icons whose size is nearest to secureBody.
func (s *secureBench) pick() error {
	far := func(p string) float64 { return math.Abs(float64(s.b.reference.of[p].Length - secureBody)) }
	s.paths = slices.DeleteFunc(slices.Clone(s.b.paths), func(p string) bool { return len(p) > maxLiteral })
	if len(s.paths) < securePaths {
		return fmt.Errorf("the part over TLS needs %d icons, and there are %d; raise --icons", securePaths, len(s.paths))
	}
	s.all = slices.Clone(s.paths)
	slices.SortStableFunc(s.paths, func(p, q string) int { return int(far(p) - far(q)) })
	s.paths = s.paths[:securePaths]
	for _, p := range s.paths {
		s.result.Body += float64(s.b.reference.of[p].Length) / securePaths
	}
	return nil
}

// start starts the servers, compares their responses with the origin's, and estimates their speed.
func (s *secureBench) start(ctx context.Context) error {
	for _, name := range s.names {
		if !s.b.wants(name) {
			continue
		}
		place := s.place(overTLS, name)
		if name == report.H2O {
			if err := s.b.writeBodies(ctx, filepath.Join(place.Dir, peers.StaticFiles)); err != nil {
				return err
			}
		}
		server, err := s.b.startServer(ctx, name, place)
		if errors.Is(err, peers.ErrMissing) {
			s.b.leaveOut(&s.result.Bench, "%s: %v", name, err)
			continue
		}
		if err != nil {
			return err
		}
		c := &secureServer{name, server, map[string]*secureLoad{}}
		s.servers = append(s.servers, c)
		s.result.Servers = append(s.result.Servers, report.Peer{Name: name, Ours: isOurs(name)})
		if err := s.acquaint(ctx, c); err != nil {
			return fmt.Errorf("%s over TLS: %w", name, err)
		}
	}
	if len(s.servers) == 0 {
		return errors.New("no server to measure over TLS")
	}
	return nil
}

// place returns the folder and address of a server that speaks TLS.
func (s *secureBench) place(part, name string) peers.Place {
	p := s.b.place(part, name)
	p.PEM = s.pem
	return p
}

func (s *secureBench) stop() {
	for _, c := range s.servers {
		c.server.Stop()
	}
	s.servers = nil
}

// acquaint compares all responses with the origin's, which fills the cache, and measures how fast
// they come.
func (s *secureBench) acquaint(ctx context.Context, c *secureServer) error {
	fmt.Fprintf(s.b.std.Err, "%s over TLS: filling the cache, comparing responses\n", c.name)
	// Our edge makes brotli when a client that accepts it is among the first of an icon.
	first := slices.SortedStableFunc(slices.Values(s.columns), func(p, q secureColumn) int { return len(q.fields) - len(p.fields) })
	for _, column := range first {
		if !s.asks(c.name, column) {
			continue
		}
		urls, err := s.urlsOf(c, column)
		if err != nil {
			return err
		}
		lengths, err := s.compareCodings(ctx, c, column)
		if err != nil {
			return fmt.Errorf("%s: %w", column.name, err)
		}
		l := &secureLoad{column.config(urls), lengths}
		l.config.Roots = s.pool
		l.config.Requests = leastSecure
		r, err := s.measure(ctx, c, l)
		if err != nil {
			return fmt.Errorf("%s: %w", column.name, err)
		}
		l.config.Requests = l.requestsFor(r.PerSecond * s.b.round.Seconds())
		c.loads[column.name] = l
	}
	return nil
}

// asks reports whether a server is measured in a column.
func (s *secureBench) asks(server string, column secureColumn) bool {
	if s.b.groups != nil {
		return s.b.groups.has(server, column.name)
	}
	switch column.protocol {
	case h2load.HTTP3: // Debian's packages of the other servers do not speak it
		return isEdge(server) && server != report.Reference || server == report.Smallest
	case h2load.HTTP1: // Go's server differs only in HTTP/2
		return server != report.Reference && server != report.Smallest
	}
	return server != report.Smallest
}

// compareCodings is compare, after the server has made the codings that the column accepts.
func (s *secureBench) compareCodings(ctx context.Context, c *secureServer, column secureColumn) ([]int64, error) {
	if column.fields != nil {
		tree, err := c.server.Tree()
		if err != nil {
			return nil, err
		}
		for range 4 { // an edge that is busy may forget to make one
			if _, err := s.compare(ctx, c, column); err != nil {
				return nil, err
			}
			if err := tree.Calm(ctx); err != nil {
				return nil, err
			}
		}
	}
	return s.compare(ctx, c, column)
}

// round measures every server in every column once. The servers take turns as they do in the clear.
func (s *secureBench) round(ctx context.Context, round int) error {
	for _, column := range s.columns {
		for i := range s.servers {
			c := s.servers[(i+round)%len(s.servers)]
			l := c.loads[column.name]
			if l == nil {
				continue
			}
			r, err := s.measure(ctx, c, l)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, column.name, err)
			}
			s.result.Add(c.name, column.name, 0, *r)
			fmt.Fprintf(s.b.std.Err, "round %d/%d  %-30s %-26s %6.2f µs  %8.0f/s\n", round+1, s.b.rounds, column.name,
				c.name, r.CPUMicros, r.PerSecond)
		}
	}
	return nil
}
