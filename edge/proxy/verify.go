package proxy

import (
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

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
		a.Content = clientError(a.Response, a.Content)
	}
	r.ctx.Response.SetStatusCode(a.Status)
	out := &r.Response
	if media := a.Header.Get(fasthttp.HeaderContentType); media != "" {
		out.Add(fasthttp.HeaderContentType, media)
	}
	addFields(out, everyAnswer)
	h.writeDate(r)
	if accept := a.Header.Get(fasthttp.HeaderAccept); accept != "" { // RFC 9110, section 12.5.1
		out.Add(fasthttp.HeaderAccept, accept)
	}
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	writeLimit(r)
	send(r, a.Content)
	return exchange.Passed, nil
}
