package proxy

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"

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
	key := ""
	if r.Protocol != exchange.H1 && strings.EqualFold(r.Upgrade, "websocket") {
		key = newWebSocketKey()
		sent.Header = sent.Header.Clone()
		sent.Header.Set("Sec-Websocket-Key", key)
	}
	a, err := h.request(q, sent)
	if err != nil {
		place.Release()
		r.status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardBypass}
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
		q.policy.Directives.NoStore = true // also for a POST, whose response might be stored
		return h.relay(r, q, a, cachepolicy.ForwardBypass, 0)
	}
	h.open(r, a, place)
	return exchange.Passed, nil
}

// methodOf returns the method of a request to the origin. An extended CONNECT of HTTP/2 or HTTP/3
// is a GET with Upgrade in HTTP/1.1.
func methodOf(r *request) string {
	if r.Upgrade != "" && r.Protocol != exchange.H1 {
		return http.MethodGet
	}
	return string(r.ctx.Method())
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
		Because(upstream.ErrResponse)
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
	r.Interims.Add(exchange.Interim{Status: i.Status, Lines: linesOf(i.Header)})
}

// linesOf returns fields as lines of HTTP/1.1.
func linesOf(h http.Header) []byte {
	var out exchange.Response
	for name, lines := range h {
		for _, value := range lines {
			out.Add(name, value)
		}
	}
	return out.Lines
}
