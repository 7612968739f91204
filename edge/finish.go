package edge

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// A representation is what an entry looks like to one client.
type representation struct {
	body   []byte
	etag   string
	coding cache.Coding
	color  icon.Color // to be put in
	fixed  bool       // a colour was asked for, and the drawing has its own
}

func represent(r *request, e *cache.Entry) representation {
	if c := r.target.color; c != "" && e.Status == http.StatusOK {
		if e.Monochrome == "?1" { // as it is, whatever Accept-Encoding says: colours are made one by one
			id := e.Identity()
			return representation{body: id.Body, etag: cache.Suffixed(id.ETag, string(c[1:])), color: c}
		}
		v, coding := e.Choose(joined(r.ctx, fasthttp.HeaderAcceptEncoding))
		return representation{body: v.Body, etag: v.ETag, coding: coding, fixed: r.target.form == formDrawing}
	}
	v, coding := e.Choose(joined(r.ctx, fasthttp.HeaderAcceptEncoding))
	return representation{body: v.Body, etag: v.ETag, coding: coding}
}

// colored is the body with the colour in it.
func (p *representation) colored(f form) []byte {
	if p.color == "" {
		return p.body
	}
	if f == formAnswer {
		return icon.RecolourAnswer(p.body, p.color)
	}
	return icon.Recolour(p.body, p.color)
}

// finish writes an entry as the answer to a request: its conditions, its range, its colour, its coding.
func (h *handler) finish(r *request, e *cache.Entry, aged bool) {
	resp := &r.ctx.Response
	p := represent(r, e)
	writeFields(resp, everyAnswer)
	writeFields(resp, e.Fields)
	write(resp, varies)
	if p.etag != "" {
		resp.Header.SetCanonical(nameETag, []byte(p.etag))
	}
	if aged {
		var buf [20]byte
		resp.Header.SetCanonical(nameAge, strconv.AppendInt(buf[:0], int64(e.Policy.AgeAt(r.now)/time.Second), 10))
	}
	writeCacheStatus(r)
	resp.SetStatusCode(e.Status)
	if e.Status == http.StatusOK {
		switch conditional(r.ctx, p.etag, e.LastModified) {
		case http.StatusNotModified:
			resp.SetStatusCode(http.StatusNotModified)
			return
		case http.StatusPreconditionFailed:
			h.fail(r, problem.New(http.StatusPreconditionFailed, "what is here now is not what If-Match or If-Unmodified-Since asks for"))
			return
		}
	}
	writeFields(resp, e.Missing)
	if p.fixed {
		write(resp, notRecolored)
	}
	if len(e.ContentType) > 0 {
		resp.Header.SetContentTypeBytes(e.ContentType)
	}
	body := p.colored(r.target.form)
	switch {
	case p.coding != cache.Identity:
		resp.Header.SetContentEncoding(p.coding.String())
	case e.Status == http.StatusOK:
		write(resp, acceptsRange)
		if body = h.part(r, e, body, p.etag); body == nil {
			return
		}
	}
	send(r.ctx, body)
}

// conditional is what the preconditions of a request come to: 200, 304 or 412. These routes are the edge's own, so that it has a
// say about If-Match as well: a coloured drawing has a tag that no origin knows.
func conditional(ctx *fasthttp.RequestCtx, etag string, modified time.Time) int {
	h := &ctx.Request.Header
	return cachepolicy.Precondition(http.MethodGet, etag, modified, cachepolicy.Conditions{
		IfMatch:           joined(ctx, fasthttp.HeaderIfMatch),
		IfNoneMatch:       joined(ctx, fasthttp.HeaderIfNoneMatch),
		IfModifiedSince:   string(h.Peek(fasthttp.HeaderIfModifiedSince)),
		IfUnmodifiedSince: string(h.Peek(fasthttp.HeaderIfUnmodifiedSince)),
	})
}

var nameETag, nameAge = []byte("ETag"), []byte("Age")

// send gives an answer its body, which is not copied: entries are never changed.
func send(ctx *fasthttp.RequestCtx, body []byte) {
	ctx.Response.SetBodyRaw(body)
	if len(body) == 0 {
		ctx.Response.Header.SetContentLength(0) // or a HEAD would not have it
	}
}

// part is the range of an identity body that was asked for, or all of it. Where the range lies outside of the body it has
// answered that, and is nil.
func (h *handler) part(r *request, e *cache.Entry, body []byte, etag string) []byte {
	asked := r.ctx.Request.Header.Peek(fasthttp.HeaderRange)
	if len(asked) == 0 || !r.ctx.IsGet() {
		return notNil(body)
	}
	ifRange := string(r.ctx.Request.Header.Peek(fasthttp.HeaderIfRange))
	if !cachepolicy.IfRange(ifRange, etag, e.LastModified, r.now) {
		return notNil(body)
	}
	size := int64(len(body))
	off, n, what := cachepolicy.ParseRange(string(asked), size)
	switch what {
	case cachepolicy.RangePart:
		r.ctx.Response.SetStatusCode(http.StatusPartialContent)
		r.ctx.Response.Header.Set(fasthttp.HeaderContentRange, contentRange(off, n, size))
		return body[off : off+n]
	case cachepolicy.RangeUnsatisfiable:
		h.fail(r, problem.New(http.StatusRequestedRangeNotSatisfiable, "the range lies outside of what there is").
			With(fasthttp.HeaderContentRange, "bytes */"+strconv.FormatInt(size, 10)))
		return nil
	}
	return notNil(body)
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func contentRange(off, n, size int64) string {
	return "bytes " + strconv.FormatInt(off, 10) + "-" + strconv.FormatInt(off+n-1, 10) + "/" + strconv.FormatInt(size, 10)
}

// joined is the value of a field, several lines of it joined (RFC 9110, section 5.3).
func joined(ctx *fasthttp.RequestCtx, name string) string {
	lines := ctx.Request.Header.PeekAll(name)
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return string(lines[0])
	}
	return string(bytes.Join(lines, []byte(", ")))
}
