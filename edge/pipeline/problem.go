package pipeline

import (
	"errors"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// Fail writes a problem in place of everything written to the response before.
func (h *Writer) Fail(r *Request, p *problem.Problem) {
	resp, out := &r.Ctx.Response, &r.Response
	closing := resp.ConnectionClose()
	resp.Reset()
	if closing {
		resp.SetConnectionClose()
	}
	resp.SetStatusCode(p.Status)
	out.Reset()
	body := r.refusal(p)
	r.AddFieldsOfEveryAnswer()
	respond.SetLimit(&r.Response, &r.Count)
	writeCacheStatus(r)
	h.WriteDate(r)
	out.Add(fasthttp.HeaderCacheControl, p.CacheControl())
	if r.Route.Class() == routes.ClassVerify {
		out.Set(fasthttp.HeaderCacheControl, "no-store")
	}
	for name, lines := range p.Header {
		for _, value := range lines {
			out.Set(name, value)
		}
	}
	writeUnready(r, p)
	Send(r, body)
	if p.Status >= http.StatusInternalServerError && p.Err != nil {
		h.log.Debug("problem response", "status", p.Status, "err", p.Err)
	}
}

// refusal returns the body of a problem, and adds the fields that describe it: a page for a browser
// that asked for a page of the site, and JSON for all others.
func (r *Request) refusal(p *problem.Problem) []byte {
	out := &r.Response
	if r.Route != routes.Page {
		out.Add(fasthttp.HeaderContentType, problem.ContentType)
		return p.JSON()
	}
	out.Add(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	if r.Unread || !problem.WantsPage(Field(r.Ctx, fasthttp.HeaderAccept)) {
		out.Add(fasthttp.HeaderContentType, problem.ContentType)
		return p.JSON()
	}
	out.Add(fasthttp.HeaderContentType, "text/html; charset=utf-8")
	out.Add(fasthttp.HeaderContentSecurityPolicy, problem.PagePolicy)
	return p.Page()
}

// writeUnready passes the origin's declaration that it has no release yet on to an edge behind this
// one.
func writeUnready(r *Request, p *problem.Problem) {
	if errors.Is(p, ErrUnready) && r.Tier {
		r.Response.Set(icon.FieldReady, "?0")
	}
}
