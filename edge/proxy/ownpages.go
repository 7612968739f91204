package proxy

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/problem"
)

// serveLost answers a request that finds nothing with the page of the site about that, if a person
// opens the address in a browser, and reports whether it has. It counts as a page of the client.
// Over that limit, and without an origin of ours, the edge makes the page itself.
func (h *Proxy) serveLost(r *pipeline.Request) bool {
	if !r.MayBeLost() || r.Unread || !r.Navigates() {
		return false
	}
	if _, _, err := h.Options.Admission.Admit(r.Request, routes.Page, r.Now); err != nil {
		return false
	}
	r.Target, _ = routes.Lost(string(r.Ctx.URI().PathOriginal()))
	f, err := h.Finder.Find(r, h.Finder.OwnRequest(r, r.Target.Key), h.Finder.FetchAndStore)
	if err != nil {
		return false
	}
	if f.Entry.Status != http.StatusNotFound || !strings.HasPrefix(string(f.Entry.ContentType), "text/html") {
		f.Close() // another origin than ours has something at that address
		return false
	}
	h.writer.Finish(r, f)
	r.Response.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding+", "+problem.VaryOfPages)
	return true
}

// redirectToTLS redirects a request that came without TLS to https, and reports whether it did.
// Health checks and preflights are answered without TLS. A preflight fails if its response is a
// redirect, while the request after it may follow one (Fetch standard, CORS-preflight fetch).
func (h *Proxy) redirectToTLS(r *pipeline.Request) bool {
	if h.Options.Redirect == "" || r.Public.Scheme == "https" || r.IsHealthCheck() || isPreflight(r.Ctx) {
		return false
	}
	host, _ := hostport.SplitHost(r.Public.Host)
	if host == "" {
		return false
	}
	resp, out := &r.Ctx.Response, &r.Response
	r.AddFieldsOfEveryAnswer()
	h.writer.WriteDate(r)
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	out.Add(fasthttp.HeaderLocation, fmt.Sprintf(h.Options.Redirect, host)+pipeline.RawTarget(r.Ctx))
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
func (h *Proxy) serveHealthPath(r *pipeline.Request) (exchange.Outcome, error) {
	if !r.Ctx.IsGet() && !r.Ctx.IsHead() {
		return exchange.Refused, problem.MethodNotAllowed("GET, HEAD")
	}
	return h.own.Health(r)
}

// servePurge purges the address of a request, if its client has the admin token. The request never
// reaches the origin.
func (h *Proxy) servePurge(r *pipeline.Request) (exchange.Outcome, error) {
	address := pipeline.RawTarget(r.Ctx)
	if r.Public.Host != "" {
		address = r.Public.Scheme + "://" + r.Public.Host + address
	}
	n, err := h.Options.Purge(exchange.Texts(r.Lines(fasthttp.HeaderAuthorization)), address)
	if err != nil {
		return exchange.Refused, err
	}
	out := &r.Response
	out.Add(fasthttp.HeaderContentType, "application/json")
	r.AddFieldsOfEveryAnswer()
	h.writer.WriteDate(r)
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	r.Ctx.Response.SetBodyString(fmt.Sprintf("{\"purged\":%d}\n", n))
	return exchange.Own, nil
}
