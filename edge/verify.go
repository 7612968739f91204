package edge

import (
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

// verify passes a licence token on to the origin, and its answer back. Nothing of either is kept or logged.
func (h *handler) verify(r *request) (outcome, error) {
	body := r.ctx.PostBody()
	if len(body) > maxVerifyBody {
		return outcomeRefused, problem.New(http.StatusRequestEntityTooLarge, "the body has at most 4096 bytes")
	}
	head := http.Header{"Accept-Encoding": {"identity"}}
	if t := r.ctx.Request.Header.ContentType(); len(t) > 0 {
		head.Set(fasthttp.HeaderContentType, string(t))
	}
	a, err := h.fetch(upstream.Request{Method: http.MethodPost, Target: r.target.key, Header: head, Body: body})
	if err == nil {
		err = failed(a)
	}
	if err != nil {
		return outcomeError, err
	}
	if a.Status >= http.StatusBadRequest {
		clientError(a)
	}
	resp := &r.ctx.Response
	writeFields(resp, everyAnswer)
	resp.SetStatusCode(a.Status)
	resp.Header.SetContentType(strings.Clone(a.Header.Get(fasthttp.HeaderContentType)))
	resp.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	send(r.ctx, a.Body)
	return outcomePassed, nil
}
