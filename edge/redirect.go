package edge

import (
	"fmt"
	"net/http"

	"github.com/iconedge/iconedge/edge/routes"
	"github.com/valyala/fasthttp"
)

// redirectToTLS redirects a request that came without TLS to https, and reports whether it did.
// Health checks and preflights are answered without TLS. A preflight fails if its response is a
// redirect, while the request after it may follow one (Fetch standard, CORS-preflight fetch).
func (h *handler) redirectToTLS(r *request) bool {
	if h.opt.Redirect == "" || r.Secure || string(r.ctx.URI().PathOriginal()) == routes.HealthPath || isPreflight(r.ctx) {
		return false
	}
	host, _ := splitHost(string(r.ctx.Host()))
	if host == "" {
		return false
	}
	resp, out := &r.ctx.Response, &r.Response
	addFields(out, everyAnswer)
	h.writeDate(r)
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	out.Add(fasthttp.HeaderLocation, fmt.Sprintf(h.opt.Redirect, host)+rawTarget(r.ctx))
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
