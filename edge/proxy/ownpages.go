package proxy

import (
	"fmt"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/hostport"
	"github.com/iconedge/iconedge/problem"
)

// redirectToTLS redirects a request that came without TLS to https, and reports whether it did.
// Health checks and preflights are answered without TLS. A preflight fails if its response is a
// redirect, while the request after it may follow one (Fetch standard, CORS-preflight fetch).
func (h *Proxy) redirectToTLS(r *request) bool {
	if h.Options.Redirect == "" || r.public.Scheme == "https" || r.isHealthCheck() || isPreflight(r.ctx) {
		return false
	}
	host, _ := hostport.SplitHost(r.public.Host)
	if host == "" {
		return false
	}
	resp, out := &r.ctx.Response, &r.Response
	r.addFieldsOfEveryAnswer()
	h.writeDate(r)
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	out.Add(fasthttp.HeaderLocation, fmt.Sprintf(h.Options.Redirect, host)+rawTarget(r.ctx))
	resp.SetStatusCode(http.StatusPermanentRedirect)
	resp.Header.SetContentLength(0)
	return true
}

// isPreflight reports whether a request is a CORS preflight, which a browser makes by itself before
// a request to another site.
func isPreflight(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return ctx.IsOptions() && len(h.Peek(fasthttp.HeaderOrigin)) > 0 && len(h.Peek(fasthttp.HeaderAccessControlRequestMethod)) > 0
}

// serveHealthPath answers the health check of a site without icons.
func (h *Proxy) serveHealthPath(r *request) (exchange.Outcome, error) {
	if !r.ctx.IsGet() && !r.ctx.IsHead() {
		return exchange.Refused, problem.MethodNotAllowed("GET, HEAD")
	}
	return h.serveHealth(r)
}

// methodPurge is the method that removes the stored responses of an address (--purge-method).
const methodPurge = "PURGE"

// servePurge purges the address of a request, if its client has the admin token. The request never
// reaches the origin.
func (h *Proxy) servePurge(r *request) (exchange.Outcome, error) {
	address := rawTarget(r.ctx)
	if r.public.Host != "" {
		address = r.public.Scheme + "://" + r.public.Host + address
	}
	n, err := h.Options.Purge(exchange.Texts(r.Lines(fasthttp.HeaderAuthorization)), address)
	if err != nil {
		return exchange.Refused, err
	}
	out := &r.Response
	out.Add(fasthttp.HeaderContentType, "application/json")
	r.addFieldsOfEveryAnswer()
	h.writeDate(r)
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	r.ctx.Response.SetBodyString(fmt.Sprintf("{\"purged\":%d}\n", n))
	return exchange.Own, nil
}

const maxVerifyBody = 4 << 10 // bytes

// serveVerify forwards a licence token to the origin, and returns the origin's response to the
// client. The edge neither stores nor logs their contents.
func (h *Proxy) serveVerify(r *request) (exchange.Outcome, error) {
	body := r.Body()
	if len(body) > maxVerifyBody {
		return exchange.Refused, problem.New(http.StatusRequestEntityTooLarge, "the body may have at most 4096 bytes")
	}
	head := http.Header{"Accept-Encoding": {"identity"}}
	for _, name := range []string{fasthttp.HeaderContentType, fasthttp.HeaderContentEncoding} {
		if v := r.ctx.Request.Header.Peek(name); len(v) > 0 {
			head.Set(name, string(v))
		}
	}
	a, err := h.Options.Origin.fetchWhole(r.traced, upstream.Request{Method: http.MethodPost, Target: r.target.Key, Header: h.through(r.ctx, head), Body: body, SendTierSecret: h.Options.Library.MayGetSecret(true), StrictLength: true})
	if err == nil && a.Status >= http.StatusInternalServerError {
		err = failed(a.Response)
	}
	if err != nil {
		return exchange.Failed, err
	}
	if a.Status >= http.StatusBadRequest {
		a.Content = clientError(a.Response, a.Content, false)
	}
	r.ctx.Response.SetStatusCode(a.Status)
	out := &r.Response
	if media := a.Header.Get(fasthttp.HeaderContentType); media != "" {
		out.Add(fasthttp.HeaderContentType, media)
	}
	addFields(out, respond.EveryAnswer)
	h.writeDate(r)
	if accept := a.Header.Get(fasthttp.HeaderAccept); accept != "" { // RFC 9110, section 12.5.1
		out.Add(fasthttp.HeaderAccept, accept)
	}
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	respond.SetLimit(&r.Response, &r.count)
	send(r, a.Content)
	return exchange.Passed, nil
}
