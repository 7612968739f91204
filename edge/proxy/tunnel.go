package proxy

import (
	"net/http"
	"net/netip"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

// passUpgrade forwards a request to switch to another protocol, on a connection of its own to the
// origin. If the origin switches, the adapter of the client's protocol sends the 101, and the
// connection becomes a tunnel. Any other response goes to the client as it comes; then the client's
// connection ends (refuse), because bytes of the other protocol may have arrived.
func (h *Proxy) passUpgrade(r *request, q *fetchRequest) (exchange.Outcome, error) {
	if q.policy.Directives.OnlyIfCached {
		return exchange.Refused, notStored()
	}
	place := h.Options.Tunnels.Reserve(h.tunnelOwner(r))
	if place == nil {
		return exchange.Limited, problem.New(http.StatusServiceUnavailable, "there are too many tunnels at the moment").With(fasthttp.HeaderRetryAfter, "5")
	}
	sent := q.upstream(nil)
	sent.Upgrade = r.Upgrade
	a, err := h.Options.Origin.roundTrip(q.traced, sent)
	if err != nil {
		place.Release()
		r.status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardBypass}
		return exchange.Failed, err
	}
	if a.Switched == nil {
		place.Release()
		q.policy.Directives.NoStore = true // also for a POST, whose response might be stored
		return h.relay(r, q, a, cachepolicy.ForwardBypass)
	}
	h.open(r, a, place)
	return exchange.Passed, nil
}

// tunnelOwner returns the client that a tunnel counts for; zero: none, because an edge behind this
// one speaks for many clients.
func (h *Proxy) tunnelOwner(r *request) netip.Prefix {
	if r.Tier || h.Options.Clients.Trusts(r.Client) {
		return netip.Prefix{}
	}
	return ratelimit.ClientKey(r.Client)
}

// open makes the response a 101, and lets the adapter run the tunnel.
func (h *Proxy) open(r *request, a *upstream.Response, place *tunnel.Tunnel) {
	r.ctx.Response.SetStatusCode(http.StatusSwitchingProtocols)
	out := &r.Response
	out.Reset()
	for name, lines := range a.Header {
		for _, value := range lines {
			out.Add(name, value)
		}
	}
	if r.Protocol == exchange.H1 {
		out.Add(fasthttp.HeaderConnection, "Upgrade")
		out.Add(fasthttp.HeaderUpgrade, a.Switched.Protocol)
	}
	report := func(int) {} // unless the request is logged or traced
	r.tell = &report
	out.Tunnel = func(client exchange.TunnelEnd) {
		if client == nil {
			a.Switched.Close()
			place.Release()
			report(0)
			return
		}
		place.Run(client, a.Switched, func(t tunnel.Result) { report(int(t.FromOrigin)) })
	}
}

// passInterim sends an interim response of the origin to the client whose request it answers. The
// clients that wait for the same fetch get none, and no cache stores it.
func (r *request) passInterim(i upstream.Interim) {
	var out exchange.Response
	for name, lines := range i.Header {
		for _, value := range lines {
			out.Add(name, value)
		}
	}
	r.Interims.Add(exchange.Interim{Status: i.Status, Lines: out.Lines})
}
