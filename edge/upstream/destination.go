package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/names"
)

// A destination is where one try goes: an origin, the Host that it gets, and the name for which a
// TLS connection is made.
type destination struct {
	origin *origin
	host   string
	sni    string // empty for an origin without TLS
	// clients: a client chose sni, so an origin that has no certificate for it has not failed.
	clients bool
	// pool stands for the origin in the URL of the Transport, which keeps connections apart by
	// their URL's host. It differs by sni, because a connection is verified for one name, and after
	// each change of the origin's addresses.
	pool string
}

type destinationMark struct{}

// direct returns a context that carries the destination of a try to o.
func (c *Client) direct(ctx context.Context, o *origin, r Request) context.Context {
	d := destination{origin: o, host: or(r.Host, or(c.host, o.host()))}
	if o.scheme() == "https" {
		d.sni, d.clients = or(c.sni, nameOf(d.host)), c.sni == "" && r.Host != ""
	}
	d.pool = fmt.Sprintf("%d-%d-%x", o.index, o.moved.Load(), d.sni)
	return context.WithValue(ctx, destinationMark{}, d)
}

// destinationOf returns the destination of a try.
func destinationOf(ctx context.Context) destination {
	return ctx.Value(destinationMark{}).(destination)
}

// nameOf returns a Host without its port and without the brackets of an IPv6 address.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// unix reports whether the origin is at a Unix socket.
func (o *origin) unix() bool { return o.url.Scheme == "unix" }

// scheme returns the scheme of requests to the origin.
func (o *origin) scheme() string {
	switch o.url.Scheme {
	case "unix", "h2c":
		return "http"
	case "h2":
		return "https"
	}
	return o.url.Scheme
}

// host returns the origin's own name for Host.
func (o *origin) host() string {
	if o.unix() {
		return "localhost"
	}
	return o.url.Host
}

// name returns the origin's name in logs and traces.
func (o *origin) name() string {
	switch {
	case o.unix():
		return "unix:" + o.url.Path
	case o.at.IsValid():
		return o.at.String()
	}
	return o.url.Host
}

// prefix returns the path before every target.
func (o *origin) prefix() string {
	if o.unix() {
		return ""
	}
	return strings.TrimSuffix(o.url.EscapedPath(), "/")
}

// address returns the address to connect to.
func (o *origin) address() (network, address string) {
	switch {
	case o.unix():
		return "unix", o.url.Path
	case o.at.IsValid():
		return "tcp", o.at.String()
	}
	return "tcp", net.JoinHostPort(o.url.Hostname(), or(o.url.Port(), o.scheme()))
}

// movable reports whether the address of the origin is in DNS.
func (o *origin) movable() bool { return !o.at.IsValid() && named(o.url) }

// named reports whether the address of a URL is in DNS.
func named(u *url.URL) bool {
	if u.Scheme == "unix" {
		return false
	}
	_, err := netip.ParseAddr(u.Hostname())
	return err != nil
}

// dialTLS connects over TLS, for the name of the destination in its context. The dialer's timeout
// includes the handshake.
func dialTLS(d *net.Dialer, config func() *tls.Config) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		to := destinationOf(ctx)
		return (&tls.Dialer{NetDialer: d, Config: to.config(config)}).DialContext(ctx, network, address)
	}
}

// config returns a copy of the operator's configuration, or of the default one, with the name of
// the destination.
func (to destination) config(operators func() *tls.Config) *tls.Config {
	cfg := operators().Clone()
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	cfg.ServerName = to.sni
	return cfg
}

// classifyDial returns the error of a connection that could not be made: errName if the name is a
// client's and may be why.
func (to destination) classifyDial(err error) error {
	if to.clients && refusesName(err) {
		return fmt.Errorf("%w: %w", errName, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// refusesName reports whether a handshake may have failed because of the name: the certificate is
// not valid for it, or the origin ended the handshake with an alert.
func refusesName(err error) bool {
	var invalid *tls.CertificateVerificationError
	var alert *net.OpError
	return errors.As(err, &invalid) || errors.As(err, &alert) && alert.Op == "remote error"
}

// addresses are the addresses of an origin's name, with the time of the last answer that had each.
type addresses map[netip.Addr]time.Time

// update records an answer. It reports whether an address has gone away.
func (a addresses) update(answer []netip.Addr, now time.Time) (gone bool) {
	for _, addr := range answer {
		a[addr] = now
	}
	for addr, seen := range a {
		if now.Sub(seen) >= names.GoneAfter {
			delete(a, addr)
			gone = true
		}
	}
	return gone
}

// lookupLoop looks an origin's name up until ctx ends. Every new connection goes to the addresses
// of that moment by itself. When an address goes away, requests use new connections from then on,
// and the Transport closes the old ones once they have been idle for a while. A failed lookup
// changes nothing.
func (c *Client) lookupLoop(ctx context.Context, o *origin) {
	tick := time.NewTicker(names.Every)
	defer tick.Stop()
	known := addresses{}
	for {
		answer, err := c.lookup.Addresses(ctx, o.url.Hostname())
		if err == nil && known.update(answer, time.Now()) {
			o.moved.Add(1)
			o.log.Info("origin addresses changed", "addresses", answer)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
