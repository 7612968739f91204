//go:build linux

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const handshakesHelp = `
Measures what a new connection costs an edge with TLS 1.3 over TCP and over QUIC: in full, resumed with a session ticket, and
resumed at another edge that has the same --tls-ticket-secret-file. It prints the CPU time of a connection and how many one
core has time for in a second, and with --docs writes the lab book (docs/reference/performance).

  make build .cache/loadtest && .cache/loadtest handshakes --iconedge ./iconedge --docs docs/reference
  .cache/loadtest handshakes --number 500 --rounds 1`

// A handshakes holds the settings of `loadtest handshakes`, and its edges.
type handshakes struct {
	iconedge, docs       string
	number, rounds       int
	clients              int
	serverCPU, clientCPU int
	std                  cli.Streams

	pool   *x509.CertPool
	origin *peers.Server
	edges  []*peers.Server
	result report.Handshakes
}

func runHandshakes(ctx context.Context, std cli.Streams, args []string) (err error) {
	h := handshakes{std: std}
	fs := program.Flags("handshakes", "", handshakesHelp)
	fs.StringVar(&h.iconedge, "iconedge", "./iconedge", "`program` whose edges are measured")
	fs.StringVar(&h.docs, "docs", "", "`folder` for performance.md and performance/ (default: they are not written)")
	fs.IntVar(&h.number, "number", 3000, "`number` of connections of each kind and round")
	fs.IntVar(&h.rounds, "rounds", 3, "`number` of rounds")
	fs.IntVar(&h.clients, "clients", 8, "`number` of clients that connect at a time")
	fs.IntVar(&h.serverCPU, "server-cpu", 0, "`core` of the edges")
	fs.IntVar(&h.clientCPU, "client-cpu", 1, "`core` of the clients and the origin")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if min(h.number, h.rounds, h.clients) < 1 || min(h.serverCPU, h.clientCPU) < 0 || h.serverCPU == h.clientCPU {
		return cli.Usage("--number, --rounds and --clients must be at least 1; --server-cpu and --client-cpu must differ")
	}
	if err := peers.PinSelf(h.clientCPU); err != nil {
		return err
	}
	dir, done, err := workFolder("")
	if err != nil {
		return err
	}
	defer done()
	defer h.stop()
	if err := h.start(ctx, dir); err != nil {
		return err
	}
	h.result = report.Handshakes{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Number: h.number, Clients: h.clients}
	for range h.rounds {
		for _, k := range handshakeKinds {
			if err := h.measure(ctx, k); err != nil {
				return fmt.Errorf("%s, %s: %w", k.transport, k.kind, err)
			}
		}
	}
	fmt.Fprintln(std.Out)
	report.Text(std.Out, h.result.Table())
	if h.docs == "" {
		return nil
	}
	return writeDocs(h.docs, report.Page{Handshakes: &h.result})
}

// start starts two edges that have the same secret of session tickets.
func (h *handshakes) start(ctx context.Context, dir string) (err error) {
	if h.iconedge, err = filepath.Abs(h.iconedge); err != nil {
		return err
	}
	pem, secret := filepath.Join(dir, "pair.pem"), filepath.Join(dir, "secret")
	if h.pool, err = makePEM(pem, time.Now()); err != nil {
		return err
	}
	random := make([]byte, 32)
	rand.Read(random) // never fails
	if err := os.WriteFile(secret, []byte(base64.StdEncoding.EncodeToString(random)), 0o600); err != nil {
		return err
	}
	place := peers.Place{Dir: filepath.Join(dir, "origin"), CPUs: strconv.Itoa(h.clientCPU), Cores: 1}
	spec, err := peers.Self("origin", "origin", place)
	if err != nil {
		return err
	}
	if h.origin, err = peers.Start(ctx, spec); err != nil {
		return err
	}
	for _, name := range []string{"one", "two"} {
		place := peers.Place{Dir: filepath.Join(dir, name), Origin: spec.Listen, CPUs: strconv.Itoa(h.serverCPU), Cores: 1, PEM: pem}
		spec, err := peers.Edge(name, h.iconedge, place, "--tls-ticket-secret-file", secret)
		if err != nil {
			return err
		}
		edge, err := peers.Start(ctx, spec)
		if err != nil {
			return err
		}
		h.edges = append(h.edges, edge)
	}
	return nil
}

func (h *handshakes) stop() {
	for _, s := range append(h.edges, h.origin) {
		if s != nil {
			s.Stop()
		}
	}
}

// A handshakeKind is one kind of new connection.
type handshakeKind struct {
	transport, kind string
	connect         func(context.Context, *handshakeClient, netip.AddrPort) (resumed bool, err error)
	tickets         bool // the client has a session ticket
	edges           int  // to which it connects in turn
}

var handshakeKinds = []handshakeKind{
	{report.OverTCP, report.Full, overTCP, false, 1},
	{report.OverTCP, report.Resumed, overTCP, true, 1},
	{report.OverTCP, report.Elsewhere, overTCP, true, 2},
	{report.OverQUIC, report.Full, overQUIC, false, 1},
	{report.OverQUIC, report.Resumed, overQUIC, true, 1},
	{report.OverQUIC, report.Elsewhere, overQUIC, true, 2},
}

// measure opens connections of one kind, and adds the CPU time that each took of the edges.
func (h *handshakes) measure(ctx context.Context, k handshakeKind) error {
	edges, meters := h.edges[:k.edges], []func() (time.Duration, error){}
	for _, e := range edges {
		tree, err := e.Tree()
		if err == nil {
			err = tree.Calm(ctx)
		}
		if err != nil {
			return err
		}
		meters = append(meters, tree.Meter())
	}
	meter := func() (sum time.Duration, err error) {
		for _, m := range meters {
			spent, failed := m()
			sum, err = sum+spent, errors.Join(err, failed)
		}
		return sum, err
	}
	clients := make([]*handshakeClient, h.clients)
	for i := range clients { // the first connections get tickets and tokens
		clients[i] = newHandshakeClient(h.pool, k)
		if _, err := clients[i].connectAll(ctx, k, edges, 2*len(edges)); err != nil {
			return err
		}
	}
	before, err := meter()
	if err != nil {
		return err
	}
	each := (h.number + h.clients - 1) / h.clients
	var wg sync.WaitGroup
	errs := make([]error, h.clients)
	for i, c := range clients {
		wg.Go(func() {
			resumed, err := c.connectAll(ctx, k, edges, each)
			if want := map[bool]int{true: each}[k.tickets]; err == nil && resumed != want {
				err = fmt.Errorf("%d of %d connections were resumed, want %d: %w", resumed, each, want, errWrong)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	after, err := meter()
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	micros := float64(after-before) / float64(time.Microsecond) / float64(each*h.clients)
	fmt.Fprintf(h.std.Err, "%-34s %-26s %8.1f µs\n", k.transport, k.kind, micros)
	h.result.Add(k.transport, k.kind, micros)
	return nil
}

// A handshakeClient connects to edges. It is used by one goroutine at a time.
type handshakeClient struct {
	config *tls.Config
	// tokens validate the client's address, so that no edge does so again with a Retry packet.
	tokens map[netip.AddrPort]quic.TokenStore
}

func newHandshakeClient(pool *x509.CertPool, k handshakeKind) *handshakeClient {
	// Edges share a name, as those behind one address do.
	c := &handshakeClient{
		config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13, ServerName: "127.0.0.1"},
		tokens: map[netip.AddrPort]quic.TokenStore{},
	}
	if k.tickets {
		c.config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	return c
}

// connectAll connects n times, to each of the edges in turn, and returns how many of the
// connections were resumed.
func (c *handshakeClient) connectAll(ctx context.Context, k handshakeKind, edges []*peers.Server, n int) (resumed int, err error) {
	for i := range n {
		again, err := k.connect(ctx, c, edges[i%len(edges)].Listen)
		if err != nil {
			return resumed, err
		}
		if again {
			resumed++
		}
	}
	return resumed, nil
}

// overTCP opens a connection of HTTP/2, reads the first frame of the edge, behind which is the
// session ticket, and closes it.
func overTCP(ctx context.Context, c *handshakeClient, to netip.AddrPort) (resumed bool, err error) {
	config := c.config.Clone()
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", to.String())
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(restTime)); err != nil {
		return false, err
	}
	if _, err := conn.Write(append([]byte(preface), frame(frameSettings, 0, 0, 0)...)); err != nil {
		return false, err
	}
	if kind, _, _, err := readFrame(conn); err != nil || kind != frameSettings {
		return false, cmp.Or(err, fmt.Errorf("the first frame has the type %d: %w", kind, errWrong))
	}
	return conn.(*tls.Conn).ConnectionState().DidResume, nil
}

// overQUIC opens a connection of HTTP/3, waits for the first stream of the edge, and closes it.
func overQUIC(ctx context.Context, c *handshakeClient, to netip.AddrPort) (resumed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	if c.tokens[to] == nil {
		c.tokens[to] = quic.NewLRUTokenStore(1, 1)
	}
	conn, err := quic.DialAddr(ctx, to.String(), http3.ConfigureTLSConfig(c.config.Clone()), &quic.Config{TokenStore: c.tokens[to]})
	if err != nil {
		return false, err
	}
	defer conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	if _, err := conn.AcceptUniStream(ctx); err != nil {
		return false, err
	}
	return conn.ConnectionState().TLS.DidResume, nil
}
