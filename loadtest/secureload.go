//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/h2load"
	"github.com/iconedge/iconedge/loadtest/h3load"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/peers"
)

// A secureLoad is the configuration of h2load, and the length of each path's body on the wire.
type secureLoad struct {
	config  h2load.Config
	lengths []int64
}

// measure runs h2load twice: with a few requests on each connection, and with all. The difference
// is the cost of the responses, because both runs make the same connections.
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

// agree returns an error if a server uses another cipher than the servers before it: their costs
// would not be comparable.
func (s *secureBench) agree(cipher string) error {
	s.result.Cipher = cmp.Or(s.result.Cipher, cipher)
	if s.result.Cipher != cipher {
		return fmt.Errorf("the cipher is %s, that of the other servers %s: %w", cipher, s.result.Cipher, errWrong)
	}
	return nil
}

// fewRequests is the number of requests on each connection of the short run, whose cost is mostly
// that of its connections.
const fewRequests = 10

// run runs h2load once. It returns an error if h2load reports anything unexpected.
func (l *secureLoad) run(ctx context.Context, server *peers.Server, requests int) (*h2load.Result, error) {
	tree, err := server.Tree()
	if err != nil {
		return nil, err
	}
	c := l.config
	c.Meter, c.Requests = tree.Meter(), requests
	send := h2load.Run
	if c.Protocol == h2load.HTTP3 {
		send = h3load.Run
	}
	r, err := send(ctx, c)
	if err != nil {
		return nil, errors.Join(err, server.Ended())
	}
	if wrong := r.Wrong(&c, l.bytes(requests)); wrong != "" {
		return nil, errors.Join(fmt.Errorf("%s: %w", wrong, errWrong), server.Ended())
	}
	return r, nil
}

// bytes returns the total length of the bodies. Each connection makes the same number of requests
// and begins with the first path.
func (l *secureLoad) bytes(requests int) (total int64) {
	for i := range requests / l.config.Conns {
		total += l.lengths[i%len(l.lengths)]
	}
	return total * int64(l.config.Conns)
}

// resultOf returns the result of the long run, with the CPU time that it took beyond the short one.
func resultOf(few, all *h2load.Result) *load.Result {
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	return &load.Result{
		Seconds: all.Time.Seconds(), Answers: all.Done, PerSecond: float64(all.Done) / all.Time.Seconds(), Bytes: all.Data,
		Statuses: map[string]int64{"200": all.OK}, CPUMicros: micros(all.CPU-few.CPU) / float64(max(1, all.Done-few.Done)),
		Latency: load.Latency{Mean: micros(all.Mean), Max: micros(all.Max)},
	}
}

// pathsOf returns the paths that a column requests.
func (s *secureBench) pathsOf(c secureColumn) []string {
	if c.allPacks {
		return s.all
	}
	return s.paths
}

// urlsOf writes the list of URLs of a column for h2load.
func (s *secureBench) urlsOf(c *secureServer, column secureColumn) (string, error) {
	var list strings.Builder
	for _, p := range s.pathsOf(column) {
		fmt.Fprintf(&list, "https://%s%s\n", c.server.Listen, p)
	}
	file := filepath.Join(c.server.Dir, "urls-"+strconv.Itoa(len(s.pathsOf(column))))
	return file, os.WriteFile(file, []byte(list.String()), 0o644)
}

// leastSecure is the number of requests that estimates the speed of a server: in every column, each
// connection requests each path at least once.
const leastSecure = 64 * securePaths

// requestsFor returns a number near n that gives each connection the same number of requests.
func (l *secureLoad) requestsFor(n float64) int {
	return max(leastSecure, int(n)/l.config.Conns*l.config.Conns)
}
