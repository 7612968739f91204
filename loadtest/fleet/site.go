//go:build linux

package fleet

import (
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/iconedge/iconedge/loadtest/relay"
)

// A site is the set of all processes and relays.
type site struct {
	folder     string
	store      *process
	redis      *process
	origin     *node
	shields    []*node
	regions    []*region
	prometheus *process

	storeAddr, redisAddr, watchAddr string // HOST:PORT of the S3 server, of Redis and of Prometheus
	secret                          string // shared secret of the tiers
}

// A node is an iconedge process.
type node struct {
	*process
	addr, admin string // HOST:PORT
}

// A region is a group of edges with the same network to the rest.
type region struct {
	name   string
	way    *relay.Path // to shields and origin
	relays []*relay.Relay
	edges  []*edge
}

// edgesEach is the number of edges in a region.
const edgesEach = 2

// places lists the regions with their one-way delay to the rest and their share of lost segments.
var places = []struct {
	name  string
	delay time.Duration
	loss  float64
}{
	{"eu", 5 * time.Millisecond, 0.0005},
	{"us", 45 * time.Millisecond, 0.001},
	{"ap", 90 * time.Millisecond, 0.002},
}

// build assigns addresses, describes how to start each process, and opens the relays.
func build(cfg Config) (s *site, err error) {
	s = &site{folder: cfg.Work}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	// fail now, not in the middle of the run
	for _, program := range []string{cfg.Iconedge, cfg.Next, cfg.S3} {
		if _, err := exec.LookPath(program); err != nil {
			return s, fmt.Errorf("finding the programs: %w", err)
		}
	}
	for _, dir := range []string{"logs", "redis", "prometheus", "rules", "s3/" + bucket, "sidecar"} {
		if err := os.MkdirAll(filepath.Join(cfg.Work, dir), 0o755); err != nil {
			return s, err
		}
	}
	if err := s.makeSecret(); err != nil {
		return s, err
	}
	if err := s.addEngines(cfg); err != nil {
		return s, err
	}
	if err := s.addOrigin(cfg); err != nil {
		return s, err
	}
	for i := range cfg.Shields {
		if err := s.addShield(cfg, i); err != nil {
			return s, err
		}
	}
	for i := range places {
		if err := s.addRegion(cfg, i); err != nil {
			return s, err
		}
	}
	return s, s.addPrometheus(cfg)
}

// edges lists the edges of all regions.
func (s *site) edges() (all []*edge) {
	for _, r := range s.regions {
		all = append(all, r.edges...)
	}
	return all
}

// inOrder lists the processes to start after the store, in order.
func (s *site) inOrder() iter.Seq[*process] {
	return func(yield func(*process) bool) {
		all := []*process{s.redis, s.origin.process}
		for _, n := range s.shields {
			all = append(all, n.process)
		}
		for _, e := range s.edges() {
			all = append(all, e.process)
		}
		for _, p := range append(all, s.prometheus) {
			if !yield(p) {
				return
			}
		}
	}
}

// stop ends everything, edges first, and waits.
func (s *site) stop() {
	var all []*process
	for _, r := range s.regions {
		r.mend()
		for _, e := range r.edges {
			all = append(all, e.process)
		}
	}
	for _, n := range append(slices.Clone(s.shields), s.origin) {
		if n != nil {
			all = append(all, n.process)
		}
	}
	for _, p := range append(all, s.prometheus, s.redis, s.store) {
		if p != nil {
			p.stop()
		}
	}
	for _, r := range s.regions {
		r.close()
	}
}

// close closes the region's sockets and relays.
func (r *region) close() {
	for _, way := range r.relays {
		way.Close()
	}
	for _, e := range r.edges {
		if e.kept != nil {
			e.kept.close()
		}
	}
}
