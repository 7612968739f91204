package forwarded

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/problem"
)

// passUpgrade forwards a request to switch to another protocol, on a connection of its own to the
// origin. If the origin switches, the adapter of the client's protocol sends the 101, and the
// connection becomes a tunnel. Any other response goes to the client as it comes; then the client's
// connection ends (refuse), because bytes of the other protocol may have arrived.
func (h *Answerer) passUpgrade(r *pipeline.Request, q *fetch.Request) (exchange.Outcome, error) {
	if q.Policy.Directives.OnlyIfCached {
		return exchange.Refused, pipeline.NotStored()
	}
	place := h.Tunnels.Reserve(h.tunnelOwner(r))
	if place == nil {
		return exchange.Limited, problem.New(http.StatusServiceUnavailable,
			"there are too many tunnels at the moment").With(fasthttp.HeaderRetryAfter, "5")
	}
	sent := q.Upstream(nil)
	sent.Upgrade = r.Upgrade
	key := ""
	if r.Protocol != exchange.H1 && strings.EqualFold(r.Upgrade, "websocket") {
		key = newWebSocketKey()
		sent.Header = sent.Header.Clone()
		sent.Header.Set("Sec-Websocket-Key", key)
	}
	a, err := h.Finder.Send(q, sent)
	if err != nil {
		place.Release()
		r.Status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardBypass}
		return exchange.Failed, err
	}
	if a.Switched != nil && key != "" && !accepts(a.Header, key) {
		a.Switched.Close()
		place.Release()
		return exchange.Failed, notSwitched()
	}
	if a.Switched == nil {
		place.Release()
		if r.Protocol != exchange.H1 && a.Status < http.StatusMultipleChoices {
			a.Body.Close()
			// A 2xx would open the tunnel (RFC 8441, section 5).
			return exchange.Failed, notSwitched()
		}
		q.Policy.Directives.NoStore = true // also for a POST, whose response might be stored
		return h.relay(r, q, a, cachepolicy.ForwardBypass, 0)
	}
	h.open(r, a, place)
	return exchange.Passed, nil
}

// newWebSocketKey returns a key for the handshake of a WebSocket, which clients of HTTP/2 and
// HTTP/3 leave out (RFC 8441, section 5.1).
func newWebSocketKey() string {
	var key [16]byte
	rand.Read(key[:])
	return base64.StdEncoding.EncodeToString(key[:])
}

// accepts reports whether an origin has understood a WebSocket's key (RFC 6455, section 4.2.2), and
// removes its proof from the fields.
func accepts(h http.Header, key string) bool {
	accept := h.Get("Sec-Websocket-Accept")
	h.Del("Sec-Websocket-Accept")
	return accept == exchange.WebSocketAccept(key)
}

// notSwitched returns the problem for an origin that has answered an extended CONNECT without
// switching to the protocol.
func notSwitched() *problem.Problem {
	return problem.New(http.StatusBadGateway, "the origin did not switch to the protocol of the request").With("Retry-After", "1").
		Because(upstream.ErrResponse).OfType(problem.HTTPUpgradeFailed)
}

// tunnelOwner returns the client that a tunnel counts for; zero: none, because an edge behind this
// one speaks for many clients.
func (h *Answerer) tunnelOwner(r *pipeline.Request) netip.Prefix {
	if r.Tier || h.Clients.Trusts(r.Client) {
		return netip.Prefix{}
	}
	return ratelimit.ClientKey(r.Client)
}

// open makes the response a 101, and lets the adapter run the tunnel.
func (h *Answerer) open(r *pipeline.Request, a *upstream.Response, place *tunnel.Tunnel) {
	r.Ctx.Response.SetStatusCode(http.StatusSwitchingProtocols)
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
	r.Tell = &report
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
