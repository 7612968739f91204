//go:build linux

package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const quicHelp = `
Measures the memory that connections over HTTP/3 take of an edge (resident, as the operator sees it), beside the smallest
server that quic-go's http3 allows. It opens --connections from 16 addresses, each with a socket of its own: before the
handshake is complete, at rest after ten requests, while ten requests run on each, and while ten requests wait for the origin,
opened all at once and one after the other. Then it opens --many, which rest, and measures their processor time too.

  make bench-quic
  .cache/loadtest quic --iconedge ./iconedge --states rest --many 0`

// A quicMeasure holds the settings of `loadtest quic`.
type quicMeasure struct {
	iconedge, work    string
	connections, many int
	states, servers   cli.List
	settle, idle      time.Duration
	std               cli.Streams
	pem               string
	pool              *x509.CertPool
	origin            *slowOrigin
	result            report.Quic
}

func runQUIC(ctx context.Context, std cli.Streams, args []string) error {
	m := quicMeasure{std: std}
	fs := program.Flags("quic", "", quicHelp)
	fs.StringVar(&m.iconedge, "iconedge", "./iconedge", "`program` whose edge is measured")
	fs.IntVar(&m.connections, "connections", 1000, "`number` of connections")
	fs.IntVar(&m.many, "many", 10_000, "`number` of connections that rest, whose processor time is measured too; 0: none")
	fs.Var(&m.states, "states", "`STATE` of the connections: handshake, rest, run or wait; may be repeated (default all)")
	fs.Var(&m.servers, "servers", "`NAME` of a server: iconedge or smallest; may be repeated (default both)")
	fs.DurationVar(&m.settle, "settle", 15*time.Second, "`time` after which memory is read once more")
	fs.DurationVar(&m.idle, "idle", time.Minute, "`time` in which the processor time of connections at rest is measured")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if err := m.validate(); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	return m.run(ctx)
}

func (m *quicMeasure) validate() error {
	var errs []error
	check := func(ok bool, words string) {
		if !ok {
			errs = append(errs, errors.New(words))
		}
	}
	for _, s := range m.states {
		check(slices.ContainsFunc(quicStates, func(q quicState) bool { return q.flag == s }), "--states "+s+": no such state")
	}
	for _, s := range m.servers {
		check(quicServers[s] != "", "--servers "+s+": no such server")
	}
	check(m.connections >= 1 && m.many >= 0, "--connections must be at least 1, --many not negative")
	check(m.settle > 0 && m.idle > 0, "--settle and --idle must be more than 0")
	return errors.Join(errs...)
}

// quicServers are the names of the servers, by the values of --servers.
var quicServers = map[string]string{"iconedge": report.Ours, "smallest": report.Smallest}

// A quicState is a state of connections.
type quicState struct {
	flag, name string
	open       func(*quicPeer, context.Context) error
	all        func(*quicPeer) // called once all connections are open; may be nil
	// during is how long the peak of the memory is measured; 0: the memory is read once the server
	// is idle.
	during time.Duration
	stays  bool // for minutes, so memory is read once more
}

var quicStates = []quicState{
	{flag: "handshake", name: report.QuicHandshake, open: (*quicPeer).dialSilent},
	{flag: "rest", name: report.QuicRest, open: (*quicPeer).dialAndAsk, stays: true},
	{flag: "run", name: report.QuicRun, open: (*quicPeer).dial, all: (*quicPeer).run, during: 5 * time.Second},
	{flag: "wait", name: report.QuicWait, open: (*quicPeer).dial, all: (*quicPeer).wait},
}

func (m *quicMeasure) run(ctx context.Context) (err error) {
	if m.iconedge, err = filepath.Abs(m.iconedge); err != nil {
		return err
	}
	var done func()
	if m.work, done, err = workFolder(""); err != nil {
		return err
	}
	defer done()
	m.pem = filepath.Join(m.work, "pair.pem")
	if m.pool, err = makePEM(m.pem, time.Now()); err != nil {
		return err
	}
	if m.origin, err = startSlowOrigin(); err != nil {
		return err
	}
	defer m.origin.Close()
	for _, flag := range []string{"iconedge", "smallest"} {
		if len(m.servers) > 0 && !slices.Contains(m.servers, flag) {
			continue
		}
		if err := m.measureServer(ctx, quicServers[flag]); err != nil {
			return fmt.Errorf("%s: %w", quicServers[flag], err)
		}
	}
	report.Text(m.std.Out, m.result.Table())
	return nil
}

// measureServer measures a server in all states.
func (m *quicMeasure) measureServer(ctx context.Context, server string) error {
	for _, state := range quicStates {
		if len(m.states) > 0 && !slices.Contains(m.states, state.flag) {
			continue
		}
		for _, atOnce := range []bool{true, false} {
			if err := m.measure(ctx, state, report.QuicPoint{Server: server, State: state.name, AtOnce: atOnce,
				Connections: m.connections}); err != nil {
				return fmt.Errorf("%s: %w", state.name, err)
			}
		}
		if state.stays && m.many > 0 {
			if err := m.measure(ctx, state, report.QuicPoint{Server: server, State: state.name, AtOnce: true,
				Connections: m.many}); err != nil {
				return fmt.Errorf("%d connections, %s: %w", m.many, state.name, err)
			}
		}
	}
	return nil
}

// measure starts a server, brings connections into a state, and reads the memory before and after.
func (m *quicMeasure) measure(ctx context.Context, state quicState, p report.QuicPoint) error {
	server, err := m.start(ctx, p.Server)
	if err != nil {
		return err
	}
	defer server.Stop()
	defer m.origin.release()
	c := newCrowd(server.Listen, m.pool)
	defer c.close()
	if err := c.warmUp(ctx); err != nil { // the server fetches the icon
		return errors.Join(err, server.Ended())
	}
	if p.Before, err = weighCalm(ctx, server); err != nil {
		return err
	}
	if err := m.reach(ctx, state, c, server, &p); err != nil {
		return errors.Join(err, server.Ended())
	}
	if p.Server == report.Ours {
		if p.Charged, err = server.Metric(ctx, "iconedge_edge_h3_memory_bytes"); err != nil {
			return err
		}
	}
	if state.stays {
		if err := m.rest(ctx, server, &p); err != nil {
			return err
		}
	}
	if err := c.err(); err != nil {
		return err
	}
	m.result.Points = append(m.result.Points, p)
	fmt.Fprintln(m.std.Err, p)
	return nil
}

// reach brings the connections into a state, and reads the memory then: the peak of a state that
// passes, else the memory once the server is idle.
func (m *quicMeasure) reach(ctx context.Context, state quicState, c *crowd, server *peers.Server, p *report.QuicPoint) (err error) {
	if err := c.open(ctx, p.Connections, p.AtOnce, state.open); err != nil {
		return err
	}
	if state.all != nil {
		c.all(state.all)
	}
	if state.during == 0 {
		p.After, err = weighCalm(ctx, server)
		return err
	}
	for end := time.Now().Add(state.during); time.Now().Before(end); {
		now, err := server.RSS()
		if err == nil {
			err = load.Pause(ctx, 100*time.Millisecond)
		}
		if err != nil {
			return err
		}
		p.After = max(p.After, now)
	}
	return nil
}

// rest reads the memory and the processor time of connections at rest.
func (m *quicMeasure) rest(ctx context.Context, server *peers.Server, p *report.QuicPoint) (err error) {
	if err := load.Pause(ctx, m.settle); err != nil {
		return err
	}
	if p.Settled, err = server.RSS(); err != nil || p.Connections != m.many {
		return err
	}
	tree, err := server.Tree()
	if err != nil {
		return err
	}
	began, err := tree.CPU()
	if err != nil {
		return err
	}
	if err := load.Pause(ctx, m.idle); err != nil {
		return err
	}
	ended, err := tree.CPU()
	p.IdleCPU = (ended - began).Seconds() / m.idle.Seconds()
	return err
}

// start starts a server that closes no connection at rest.
func (m *quicMeasure) start(ctx context.Context, name string) (*peers.Server, error) {
	dir, err := os.MkdirTemp(m.work, "server")
	if err != nil {
		return nil, err
	}
	place := peers.Place{Dir: dir, Origin: m.origin.address, Cores: runtime.NumCPU(), PEM: m.pem}
	var spec peers.Spec
	if name == report.Smallest {
		spec, err = peers.Self(name, "smallest", place, "--pem", m.pem, "--body", strconv.Itoa(usualBody))
	} else {
		spec, err = peers.Edge(name, m.iconedge, place, "--http3", "on", "--idle-timeout", "1h", "--client-memory",
			"8GiB", "--max-waiting", strconv.Itoa(2*quicStreams*m.connections))
	}
	if err != nil {
		return nil, err
	}
	return peers.Start(ctx, spec)
}

// quicPath is the icon of the hits, waitPath one for which the origin makes requests wait.
const (
	quicPath = "/bench/0.svg"
	waitPath = "/bench/1000000000.svg" // no benchmark of hits requests it
)

// A slowOrigin answers requests for waitPath only once release is called.
type slowOrigin struct {
	*http.Server
	address netip.AddrPort
	mu      sync.Mutex
	waits   chan struct{}
}

func startSlowOrigin() (*slowOrigin, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &slowOrigin{address: ln.Addr().(*net.TCPAddr).AddrPort(), waits: make(chan struct{})}
	o.Server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == waitPath {
			o.wait(r.Context())
		}
		serveIcon(w, r, usualBody)
	})}
	go o.Serve(ln)
	return o, nil
}

func (o *slowOrigin) wait(ctx context.Context) {
	o.mu.Lock()
	waits := o.waits
	o.mu.Unlock()
	select {
	case <-waits:
	case <-ctx.Done():
	}
}

// release answers the requests that wait.
func (o *slowOrigin) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.waits)
	o.waits = make(chan struct{})
}
