//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/h2load"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/peers"
)

// A secureLoad is what h2load is told, and how long the body of each path is as it comes.
type secureLoad struct {
	config  h2load.Config
	lengths []int64
}

// measure runs h2load twice: for a few requests on each connection, and for all. What the second run costs more is the price of its
// answers: making the connections costs the same in both.
func (s *secureBench) measure(ctx context.Context, c *secureServer, l *secureLoad) (*load.Result, error) {
	before, err := s.b.originCPU()
	if err != nil {
		return nil, err
	}
	few, err := l.run(ctx, c.server, l.config.Conns*fewRequests)
	if err != nil {
		return nil, err
	}
	all, err := l.run(ctx, c.server, l.config.Requests)
	if err != nil {
		return nil, err
	}
	after, err := s.b.originCPU()
	if err != nil {
		return nil, err
	}
	r := resultOf(few, all)
	return r, errors.Join(ctx.Err(), judge(r, after-before), s.agree(all.Cipher))
}

// agree is an error where a server encrypts otherwise than those before it: then they are not compared alike.
func (s *secureBench) agree(cipher string) error {
	s.result.Cipher = cmp.Or(s.result.Cipher, cipher)
	if s.result.Cipher != cipher {
		return fmt.Errorf("the cipher is %s, and was %s: %w", cipher, s.result.Cipher, errWrong)
	}
	return nil
}

// fewRequests is how many each connection makes in the run that costs little else than making connections.
const fewRequests = 10

// run runs h2load once. Anything that it shows to be wrong is an error.
func (l *secureLoad) run(ctx context.Context, server *peers.Server, requests int) (*h2load.Result, error) {
	tree, err := server.Tree()
	if err != nil {
		return nil, err
	}
	c := l.config
	c.Meter, c.Requests = tree.Meter(), requests
	r, err := h2load.Run(ctx, c)
	if err != nil {
		return nil, errors.Join(err, server.Ended())
	}
	if wrong := r.Wrong(&c, l.bytes(requests)); wrong != "" {
		return nil, errors.Join(fmt.Errorf("%s: %w", wrong, errWrong), server.Ended())
	}
	return r, nil
}

// bytes is how many come back for so many requests, a whole number on each connection: each goes through the paths from the first.
func (l *secureLoad) bytes(requests int) (total int64) {
	for i := range requests / l.config.Conns {
		total += l.lengths[i%len(l.lengths)]
	}
	return total * int64(l.config.Conns)
}

// resultOf is what all requests took beyond a few.
func resultOf(few, all *h2load.Result) *load.Result {
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	return &load.Result{
		Seconds: all.Time.Seconds(), Answers: all.Done, PerSecond: float64(all.Done) / all.Time.Seconds(), Bytes: all.Data,
		Statuses: map[string]int64{"200": all.OK}, CPUMicros: micros(all.CPU-few.CPU) / float64(max(1, all.Done-few.Done)),
		Latency: load.Latency{Mean: micros(all.Mean), Max: micros(all.Max)},
	}
}

// urlsOf writes the list that h2load reads.
func (s *secureBench) urlsOf(c *secureServer) (string, error) {
	var list strings.Builder
	for _, p := range s.paths {
		fmt.Fprintf(&list, "https://%s%s\n", c.server.Listen, p)
	}
	file := filepath.Join(c.server.Dir, "urls")
	return file, os.WriteFile(file, []byte(list.String()), 0o644)
}

// leastSecure is as many requests as show how fast a server is: each connection of any column goes through the paths once at least.
const leastSecure = 64 * securePaths

// requestsFor is about n requests, and as many on each connection.
func (l *secureLoad) requestsFor(n float64) int {
	return max(leastSecure, int(n)/l.config.Conns*l.config.Conns)
}
