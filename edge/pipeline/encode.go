package pipeline

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/represent"
)

// isForeign reports whether the client gets no coding, because a page of another site may have
// caused its request, which has credentials.
func (r *Request) isForeign() bool {
	h := &r.Ctx.Request.Header
	if len(h.Peek(fasthttp.HeaderCookie)) == 0 && len(h.Peek(fasthttp.HeaderAuthorization)) == 0 {
		return false
	}
	c := represent.Cause{FetchSite: string(h.Peek("Sec-Fetch-Site")), Origin: string(h.Peek(fasthttp.HeaderOrigin)),
		Referer: string(h.Peek(fasthttp.HeaderReferer))}
	return c.IsForeign(r.Public.Host, r.Status.Hit)
}

// difference gives the client the difference between the stored response and the dictionary that it
// has, if that is made. A part of a response is one of its identity.
func (h *Writer) difference(r *Request, e *cache.Entry, a *represent.Asked, p *representation) bool {
	fields := &r.Ctx.Request.Header
	cause := dictionaries.Cause{Site: string(fields.Peek("Sec-Fetch-Site")), Mode: string(fields.Peek("Sec-Fetch-Mode")),
		Origin: string(fields.Peek(fasthttp.HeaderOrigin))}
	allowed := dictionaries.AllowedOrigin(e)
	if !r.Forwarded && len(r.Site.ResponseEdits()) == 0 { // which may remove the field
		allowed = "*"
	}
	c, ok := cause.Choose(e, a, allowed)
	if !ok {
		return false
	}
	body := h.Dictionaries.Delta(r.Dictionary, e, c)
	if body == nil {
		return false
	}
	p.body, p.delta, p.etag = body, c.String(), compress.DeltaTag(e.Validator, c.String(), r.Dictionary.Sum())
	return true
}

// MayHaveCoded reports whether a client whose If-Range is a date may have the beginning of a
// response in a content coding. A part of the body as it is would not fit.
func (r *Request) MayHaveCoded(e *cache.Entry, ifRange string) bool {
	if ifRange == "" || strings.HasSuffix(ifRange, `"`) || r.compresses() != config.CompressAll {
		return false
	}
	a := asked(r)
	return a.Codable(e, true) && compress.Sends(a.AcceptEncoding)
}

// plan has a response coded while it is sent, if the client accepts a coding and the edge is not
// busy.
func (h *Writer) plan(r *Request, f Response, a *represent.Asked, p *representation) {
	e, form := f.Entry, compress.Whole
	if f.Part != "" || e.IsObject() {
		return
	}
	switch _, object := f.Stream.(*objects.Reader); {
	case object: // its other parts have no coding
		return
	case f.Trailer != nil && slices.ContainsFunc(f.Trailer.Announced, compress.Describes):
		return
	case f.Stream != nil && compress.Lasts(string(e.ContentType)):
		form = compress.Lasting
	case f.Stream != nil, len(p.body) > compress.MaxWhole:
		form = compress.Arriving
	}
	if form != compress.Whole && !r.Ctx.Request.Header.IsHTTP11() {
		return // a client of HTTP/1.0 gets bodies of known length alone
	}
	if p.plan = h.compressor.Sender.Plan(a.AcceptEncoding, form); p.plan == nil {
		return
	}
	// In the response to another method the tag is none of its body.
	if r.Ctx.IsGet() || r.Ctx.IsHead() {
		p.etag = compress.SentTag(e.Validator, p.plan.Coding())
	}
}

// send has the body of a response coded, as planned: at once, or while it is sent. A body that gets
// no shorter stays as it is.
func (f *Response) send(r *Request, p *representation) {
	switch {
	case r.Ctx.IsHead(): // the length of the body is not known
		p.plan.Drop()
		f.Close()
		f.Stream, f.Length = http.NoBody, -1
	case f.Stream != nil:
		f.Stream, f.Length = p.plan.Stream(f.Stream), -1
	case len(p.body) > compress.MaxWhole:
		f.Stream, f.Length = p.plan.Stream(io.NopCloser(bytes.NewReader(p.body))), -1
	default:
		body, ok := p.plan.Whole(p.body)
		if !ok {
			p.plan, p.etag = nil, f.Entry.Identity().ETag
			return
		}
		p.body = body
	}
	p.coding, f.Trailer = p.plan.Coding(), undescribed(f.Trailer)
}
