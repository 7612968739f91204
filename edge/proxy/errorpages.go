package proxy

import (
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/internal/problem"
)

// isClosed reports whether the site of a request is closed for its client, and answers it then.
func (h *Proxy) isClosed(r *pipeline.Request) bool {
	page := r.Site.Maintenance.Page(r.Client, r.Now)
	if page == nil {
		return false
	}
	p := problem.New(http.StatusServiceUnavailable, "the site is closed for maintenance; trying again later may help").
		OfType(problem.ProxyInternalResponse)
	if page.RetryAfter != "" {
		p.With("Retry-After", page.RetryAfter)
	}
	r.Closed = page
	h.end(r, exchange.Own, p)
	return true
}

// replaceError puts the page of the operator into the place of an error, if there is one. made says
// that the edge has made the error, and not the origin.
func (h *Proxy) replaceError(r *pipeline.Request, made bool) {
	status := r.Ctx.Response.StatusCode()
	if status < http.StatusBadRequest || r.Unread || r.Site.Rules == nil {
		return
	}
	var page *rules.Page
	switch {
	case r.Closed != nil:
		page = r.Closed
	case r.Site.Icons && !r.Forwarded: // its clients are programs
	case r.Ruled == nil:
		page = r.Site.Rules.ErrorPage(nil, status)
	default:
		page = r.Site.Rules.ErrorPage(&r.Ruled.Decision, status)
		made = made || r.Ruled.From != nil && r.Ruled.From.Client.IsLocal()
	}
	if page == nil || !made && (!page.Origin || !r.Forwarded) {
		return
	}
	if page.Status != 0 {
		status = page.Status
	}
	set := map[string]string{fasthttp.HeaderContentType: page.Type}
	body := page.Body
	asJSON := len(body) == 0 || page.IsHTML() && !problem.WantsPage(pipeline.Field(r.Ctx, fasthttp.HeaderAccept))
	if asJSON {
		if strings.Contains(string(r.Response.Get(fasthttp.HeaderContentType)), "json") && status == r.Ctx.Response.StatusCode() {
			set, body = map[string]string{}, nil // that of the response is as good
		} else {
			p := problem.New(status, "the request has failed")
			set[fasthttp.HeaderContentType], body = problem.ContentType, p.JSON()
		}
	}
	if page.RetryAfter != "" {
		set[fasthttp.HeaderRetryAfter] = page.RetryAfter
	}
	if body != nil {
		for _, name := range ofBodies {
			r.Response.Remove(name)
		}
		replaceBody(r, status, body)
	}
	for name, value := range set {
		r.Response.Set(name, value)
	}
	if page.IsHTML() {
		r.Response.Add(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	}
}

// ofBodies are the fields that describe the body of a response, and its own lifetime.
var ofBodies = []string{"Accept-Ranges", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location",
	"Content-Range", "Content-Digest", "Repr-Digest", "Digest", "Etag", "Last-Modified", "Trailer", "Expires", "Age"}

// replaceBody replaces the status and the body of a response, which may be a stream.
func replaceBody(r *pipeline.Request, status int, body []byte) {
	resp := &r.Ctx.Response
	closing := resp.ConnectionClose()
	resp.Reset() // closes a stream
	if closing {
		resp.SetConnectionClose()
	}
	r.Stream, r.Response.Abandon, r.Response.Trailer = nil, nil, nil
	resp.SetStatusCode(status)
	pipeline.Send(r, body)
}
