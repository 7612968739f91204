//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"

	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// measureRest measures the memory of idle connections for TLS alone, then for each server. It
// starts each anew.
func (s *secureBench) measureRest(ctx context.Context) error {
	if s.b.resting == 0 {
		return nil
	}
	for _, name := range []string{report.TLSAlone, report.Ours, report.Nginx, report.HAProxy} {
		if name != report.TLSAlone && !s.b.wants(name) {
			continue
		}
		r, err := s.rest(ctx, name)
		if errors.Is(err, peers.ErrMissing) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s, idle connections: %w", name, err)
		}
		fmt.Fprintf(s.b.std.Err, "%-26s %.1f kB for each idle connection\n", name, r.Each()/1e3)
		s.result.Rests = append(s.result.Rests, r)
	}
	return nil
}

// rest measures the memory of one server before and after many connections were opened and used
// once.
func (s *secureBench) rest(ctx context.Context, name string) (r report.Rest, err error) {
	r = report.Rest{Server: name, Connections: s.b.resting}
	server, err := s.startResting(ctx, name)
	if err != nil {
		return r, err
	}
	defer server.Stop()
	path := s.paths[0]
	client := &resting{
		target: server.Listen, path: path, want: s.b.reference.of[path].Length,
		config: &tls.Config{RootCAs: s.pool, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}},
	}
	defer client.close()
	// This connection makes the server fetch the icon.
	if err := client.open(ctx, 1); err != nil {
		return r, err
	}
	if r.Before, err = weighCalm(ctx, server); err != nil {
		return r, err
	}
	if err := client.open(ctx, r.Connections); err != nil {
		return r, errors.Join(err, server.Ended())
	}
	r.After, err = weighCalm(ctx, server)
	return r, err
}

// weighCalm returns the memory of a server once it is idle.
func weighCalm(ctx context.Context, server *peers.Server) (int64, error) {
	tree, err := server.Tree()
	if err == nil {
		err = tree.Calm(ctx)
	}
	if err != nil {
		return 0, err
	}
	return server.RSS()
}

// startResting starts a server without a timeout for idle connections.
func (s *secureBench) startResting(ctx context.Context, name string) (*peers.Server, error) {
	place := s.place("resting", name)
	if name == report.TLSAlone {
		body := strconv.FormatInt(s.b.reference.of[s.paths[0]].Length, 10)
		spec, err := peers.Self(name, "hold", place, "--pem", s.pem, "--body", body)
		if err != nil {
			return nil, err
		}
		return peers.Start(ctx, spec)
	}
	spec, err := s.b.specOf(name, place)
	if err != nil {
		return nil, err
	}
	if name == report.Ours {
		spec.Args = append(spec.Args, "--idle-timeout", "1h")
	}
	return peers.Start(ctx, spec)
}
