//go:build linux

package fleet

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/loadtest/relay"
	"github.com/iconedge/iconedge/test/listening"
)

const (
	bucket    = "icons"
	accessKey = "iconedge-fleet"
	secretKey = "a-secret-of-this-machine-alone"
)

// credentials are the store's, in the variables that its clients read.
var credentials = []string{"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey}

// storeURL returns the address of the store for the program.
func (s *site) storeURL() string {
	return "s3://" + bucket + "?endpoint=" + s.storeAddr + "&tls=false&region=us-east-1"
}

func (s *site) secretFile() string { return filepath.Join(s.folder, "tier-secret") }

func (s *site) makeSecret() error {
	s.secret = rand.Text()
	return os.WriteFile(s.secretFile(), []byte(s.secret+"\n"), 0o600)
}

func (s *site) process(name, program string, args ...string) *process {
	return &process{name: name, program: program, args: args, logs: filepath.Join(s.folder, "logs")}
}

// addEngines adds the S3 server over a folder, and a Redis that restores its data after a restart.
func (s *site) addEngines(cfg Config) error {
	ports, err := listening.FreeAddresses(2)
	if err != nil {
		return err
	}
	s.storeAddr, s.redisAddr = ports[0], ports[1]
	s.store = s.process("store", cfg.S3, "--port", s.storeAddr, "--region", "us-east-1", "--quiet", "posix", "--sidecar",
		filepath.Join(s.folder, "sidecar"), filepath.Join(s.folder, "s3"))
	s.store.env = []string{"ROOT_ACCESS_KEY_ID=" + accessKey, "ROOT_SECRET_ACCESS_KEY=" + secretKey}
	s.store.ready = takesConnections(s.storeAddr)

	program, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("looking for Redis: %w", err)
	}
	host, port, _ := strings.Cut(s.redisAddr, ":")
	s.redis = s.process("redis", program, "--bind", host, "--port", port, "--save", "", "--appendonly", "yes",
		"--dir", filepath.Join(s.folder, "redis"))
	s.redis.ready = takesConnections(s.redisAddr)
	return nil
}

func (s *site) addOrigin(cfg Config) error {
	ports, err := listening.FreeAddresses(2)
	if err != nil {
		return err
	}
	s.origin = &node{addr: ports[0], admin: ports[1],
		process: s.process("origin", cfg.Iconedge, "origin", "--listen", ports[0], "--admin-listen", ports[1],
			"--store", s.storeURL(), "--mirror", filepath.Join(s.folder, "mirror"), "--tier-secret-file", s.secretFile())}
	s.origin.env = credentials
	s.origin.ready = wellAt("http://" + s.origin.admin + "/readyz")
	return nil
}

// addShield adds an edge beside the origin, which the regions' edges use as their origin.
func (s *site) addShield(cfg Config, i int) error {
	ports, err := listening.FreeAddresses(2)
	if err != nil {
		return err
	}
	n := &node{addr: ports[0], admin: ports[1], process: s.process("shield-"+strconv.Itoa(i+1), cfg.Iconedge, "edge",
		"--listen", ports[0], "--admin-listen", ports[1],
		"--origin", "http://"+s.origin.addr, "--region", "core", "--redis", "redis://"+s.redisAddr, "--tier-secret-file", s.secretFile())}
	n.ready = wellAt("http://" + n.admin + "/readyz")
	s.shields = append(s.shields, n)
	return nil
}

// addRegion adds a region's relays to shields and origin, and its edges.
func (s *site) addRegion(cfg Config, i int) error {
	place := places[i]
	r := &region{name: place.name, way: relay.NewPath(place.delay, place.loss, cfg.Seed+uint64(i))}
	s.regions = append(s.regions, r)
	var shields []string
	for _, n := range s.shields {
		addr, err := r.open(n.addr, r.way)
		if err != nil {
			return err
		}
		shields = append(shields, "http://"+addr)
	}
	origin, err := r.open(s.origin.addr, r.way)
	if err != nil {
		return err
	}
	for k := range edgesEach {
		log := relay.NewPath(place.delay, place.loss, cfg.Seed+uint64(i*edgesEach+k))
		redis, err := r.open(s.redisAddr, log)
		if err != nil {
			return err
		}
		e, err := s.newEdge(cfg, r, k, "--origin", strings.Join(shields, ","), "--origin", "http://"+origin, "--redis", "redis://"+redis)
		if err != nil {
			return err
		}
		e.log = log
		r.edges = append(r.edges, e)
	}
	return nil
}

// open opens a relay from the region to an address.
func (r *region) open(to string, way *relay.Path) (addr string, err error) {
	opened, err := relay.Listen(to, way)
	if err != nil {
		return "", err
	}
	r.relays = append(r.relays, opened)
	return opened.Addr(), nil
}

// newEdge makes an edge whose listening sockets this process holds.
func (s *site) newEdge(cfg Config, r *region, k int, args ...string) (*edge, error) {
	ports, err := listening.FreeAddresses(2)
	if err != nil {
		return nil, err
	}
	name := r.name + "-" + strconv.Itoa(k+1)
	args = append([]string{"edge", "--region", r.name, "--tier-secret-file", s.secretFile()}, args...)
	e := &edge{region: r, node: node{addr: ports[0], admin: ports[1], process: s.process(name, cfg.Iconedge, args...)}}
	e.ready = wellAt("http://" + e.admin + "/readyz")
	e.kept, err = openSockets([]string{"public", "admin"}, ports)
	return e, err
}

// silence cuts the region off without a signal to anyone; mend reconnects it.
func (r *region) silence() {
	r.way.Silence()
	for _, e := range r.edges {
		e.log.Silence()
	}
}

func (r *region) mend() {
	r.way.Mend()
	for _, e := range r.edges {
		e.log.Mend()
	}
}
