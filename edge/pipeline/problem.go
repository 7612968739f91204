package pipeline

import (
	"errors"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
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
	f := respond.Refusal{Problem: p, Icons: r.Site.Icons, Page: r.Route == routes.Page,
		Private: r.Route.Class() == routes.ClassVerify, Count: &r.Count, Status: r.Status, Date: h.Date(r),
		Node: h.Node, Details: !r.Unread && h.Trusts != nil && h.Trusts(r.Request)}
	nothing := p.Status == http.StatusNotFound || p.Status == http.StatusBadRequest && p.Parameter == ""
	if nothing && !r.Unread && r.MayBeLost() {
		f.Vary = problem.VaryOfPages
		if f.Page = r.Navigates(); f.Page {
			_, f.Words = routes.Lost(string(r.Ctx.URI().PathOriginal()))
		}
	}
	if f.Page && !r.Unread {
		f.Accept = Field(r.Ctx, fasthttp.HeaderAccept)
	}
	body := f.Fill(out)
	writeUnready(r, p)
	Send(r, body)
	if p.Status >= http.StatusInternalServerError && p.Err != nil {
		h.log.Debug("problem response", "status", p.Status, "err", p.Err)
	}
}

// writeUnready passes the origin's declaration that it has no release yet on to an edge behind this
// one.
func writeUnready(r *Request, p *problem.Problem) {
	if errors.Is(p, ErrUnready) && r.Tier {
		r.Response.Set(icon.FieldReady, "?0")
	}
}
