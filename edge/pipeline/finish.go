package pipeline

import (
	"cmp"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/represent"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

func (h *Writer) represent(r *Request, e *cache.Entry) representation {
	if c := r.Target.Color; c != "" && e.Status == http.StatusOK {
		// A recoloured icon is sent unencoded, whatever Accept-Encoding says, because each response
		// is recoloured anew.
		if icon.IsMonochrome(e.Monochrome) {
			id := e.Identity()
			return representation{body: id.Body, etag: entry.Suffixed(id.ETag, string(c[1:])), color: c}
		}
		p := h.coded(r, e)
		p.fixed = r.Target.Form == routes.FormSVG || r.Target.Form == routes.FormPaint
		return p
	}
	return h.coded(r, e)
}

// coded returns the representation in the coding that the client gets. Brotli is made in the
// background, so that no client waits for it; until then clients get gzip.
func (h *Writer) coded(r *Request, e *cache.Entry) (p representation) {
	accept := Field(r.Ctx, fasthttp.HeaderAcceptEncoding)
	// The first request for a search has no difference made, because clients can invent searches.
	if r.Dictionary == nil || e.Hits.Load() == 0 || !h.difference(r, e, asked(r), &p) {
		p = h.chosen(e, accept)
	}
	if held := Field(r.Ctx, fasthttp.HeaderIfNoneMatch); held != "" {
		p.etag = heldTag(e, held, accept, p.etag)
	}
	return p
}

// chosen returns the representation in the best stored coding that the client accepts.
func (h *Writer) chosen(e *cache.Entry, accept string) representation {
	v, coding := e.Choose(accept)
	if coding != entry.Brotli && accept != "" && e.Hits.Load() >= represent.BrotliHits &&
		entry.Select(accept, cachepolicy.Brotli, cachepolicy.Gzip) == entry.Brotli {
		h.compressor.WantSmaller(e, entry.Brotli)
	}
	return representation{body: v.Body, etag: v.ETag, coding: coding}
}

// heldTag returns the entity tag of the representation of e that a client has, if its If-None-Match
// names one that it accepts: the client then gets a 304 with that tag, also if another coding was
// made since (RFC 9110, section 15.4.5). Otherwise it returns chosen.
func heldTag(e *cache.Entry, ifNoneMatch, accept, chosen string) string {
	names := func(etag string) bool { return cachepolicy.NotModified(etag, time.Time{}, ifNoneMatch, "") }
	if names(chosen) {
		return chosen
	}
	for c, v := range e.Variants {
		if v != nil && (entry.Coding(c) == entry.Identity || cachepolicy.Accepts(accept, entry.Coding(c).String())) && names(v.ETag) {
			return v.ETag
		}
	}
	return cmp.Or(compress.HeldDelta(ifNoneMatch, e.Validator), chosen)
}

// negotiated returns the representation of a forwarded response. Stored text has codings, once they
// are made; the first hits have them made. Text without one is coded while it is sent. A range is
// one of the identity body.
func (h *Writer) negotiated(r *Request, f Response) representation {
	e, id := f.Entry, f.Entry.Identity()
	p := representation{body: id.Body, etag: id.ETag}
	a, mode := asked(r), r.compresses()
	if a.Codable(e, mode != config.CompressOff) && !r.isForeign() {
		h.encode(r, f, a, &p)
	}
	if !f.Relayed && a.IfNoneMatch != "" && e.Status == http.StatusOK {
		p.etag = compress.Held(a.IfNoneMatch, a.AcceptEncoding, e.Validator, p.etag)
	}
	return p
}

// encode chooses the coding in which the client gets a response that may have one.
func (h *Writer) encode(r *Request, f Response, a *represent.Asked, p *representation) {
	e, makes := f.Entry, true
	if f.Stream == nil && !f.Relayed {
		if r.Dictionary != nil && h.difference(r, e, a, p) {
			return
		}
		got, wanted := compress.Choose(e, a.AcceptEncoding)
		var want entry.Coding
		if p.coding, p.whole, want = a.Negotiate(e, got, wanted); want != entry.Identity && e.Hits.Load() > 0 {
			h.compressor.Want(e, want)
		}
		if p.coding != entry.Identity {
			p.body, p.etag = e.Variant(p.coding).Body, compress.Tag(e.Validator, p.coding)
			return
		}
		makes = want != entry.Identity && (e.ID == 0 || h.compressor.Makes(e, want))
	}
	if makes && r.compresses() == config.CompressAll {
		h.plan(r, f, a, p)
	}
}

// asked returns the fields by which a client asks for a form or a part of a forwarded response.
func asked(r *Request) *represent.Asked {
	h := &r.Ctx.Request.Header
	a := &represent.Asked{AcceptEncoding: Field(r.Ctx, fasthttp.HeaderAcceptEncoding),
		IfNoneMatch:     Field(r.Ctx, fasthttp.HeaderIfNoneMatch),
		IfModifiedSince: string(h.Peek(fasthttp.HeaderIfModifiedSince))}
	if r.Ctx.IsGet() {
		a.Range, a.IfRange = string(h.Peek(fasthttp.HeaderRange)), string(h.Peek(fasthttp.HeaderIfRange))
	}
	if v := Field(r.Ctx, fasthttp.HeaderCacheControl); v != "" { // RFC 9111, section 5.2.1.6
		a.NoTransform = cachepolicy.ParseCacheControl(v).NoTransform
	}
	return a
}

// Finish writes an entry as the response to a request, according to its conditions, range, colour
// and coding. Forwarded responses keep the form that the origin gave them.
func (h *Writer) Finish(r *Request, f Response) {
	e := f.Entry
	var p representation
	if r.Forwarded {
		p = h.negotiated(r, f)
	} else {
		p = h.represent(r, e)
	}
	status := e.Status
	if status == http.StatusOK && !f.Relayed {
		status = Conditional(r, p.etag, e)
	}
	if status == http.StatusPreconditionFailed && e.Status != status {
		f.Close()
		h.Fail(r, problem.New(status, "the current representation does not satisfy If-Match or If-Unmodified-Since"))
		return
	}
	r.Ctx.Response.SetStatusCode(status)
	t := respond.Head{Bodyless: status == http.StatusNotModified && e.Status != status, Length: -1}
	if p.plan != nil {
		if t.Bodyless {
			p.plan.Drop()
		} else {
			f.send(r, &p)
		}
	}
	t.ETag, t.Coding, t.Delta = []byte(p.etag), p.coding, p.delta
	if f.Trailer != nil {
		f.followByTrailer(r, p)
	}
	if t.Bodyless {
		f.Close()
	} else if err := h.finishBody(r, f, p, &t); err != nil {
		h.Fail(r, problem.From(err))
		return
	}
	h.writeHead(r, f, &t)
}

// finishBody sets the body of a response, and the part of its head that depends on the body.
func (h *Writer) finishBody(r *Request, f Response, p representation, t *respond.Head) error {
	switch {
	case f.Stream != nil && f.Length < 0 && !r.Ctx.Request.Header.IsHTTP11() && !r.Ctx.IsHead():
		return gather(r, f)
	case f.Stream != nil:
		if f.Part != "" {
			r.Ctx.Response.SetStatusCode(http.StatusPartialContent)
			t.ContentRange = []byte(f.Part)
		}
		sendStream(r, f)
	case f.Entry.IsObject(): // the response to a HEAD
		r.Ctx.Response.SkipBody = true
		r.Ctx.Response.Header.SetContentLength(int(f.Entry.Object.Length))
	case f.Relayed:
		Send(r, p.body)
	default:
		return h.sendForm(r, f.Entry, p, t)
	}
	return nil
}

// writeHead completes the head of a response with an entry, and writes it.
func (h *Writer) writeHead(r *Request, f Response, t *respond.Head) {
	e, out := f.Entry, &r.Response
	// A purge may have arrived while the response was on its way.
	if t.Aged = f.Aged || e.Freshness().SoftPurged; t.Aged {
		t.Age = AgeToSend(e, r.Now)
	}
	t.Status = r.Status
	if r.Tier && !r.Forwarded {
		t.Monochrome, t.Release = e.Monochrome, r.releaseOf(f)
	}
	if !r.Forwarded {
		t.Count = &r.Count
	}
	out.Reset()
	w := respond.Writer{Entry: e, Date: e.Date, Forwarded: r.Forwarded, Coded: r.Forwarded && (t.Coding != entry.Identity || t.Delta != "")}
	if len(w.Date) == 0 {
		w.Date = h.clock.Of(r.Now)
	}
	out.Lines = w.Append(out.Lines, t)
	if t.Delta != "" {
		respond.VaryByDictionary(out)
	}
	if r.Forwarded {
		respond.SetLimit(&r.Response, &r.Count)
	}
	if r.Response.Trailer != nil && len(f.Trailer.Announced) > 0 {
		out.Add(fasthttp.HeaderTrailer, strings.Join(f.Trailer.Announced, ", "))
	}
}

// sendForm sets the representation's body: coded, coloured, or a part of it.
func (h *Writer) sendForm(r *Request, e *cache.Entry, p representation, t *respond.Head) error {
	t.Fixed = p.fixed
	body := p.colored(r.Target.Form)
	if p.coding == entry.Identity && p.delta == "" && e.Status == http.StatusOK {
		t.Ranges = !r.Forwarded
		if p.whole {
			Send(r, body)
			return nil
		}
		var err error
		if body, err = partOf(r, e, body, p.etag, t); err != nil {
			return err
		}
	}
	Send(r, body)
	return nil
}

// Conditional evaluates the preconditions of a request and returns 200, 304 or 412. On our own
// routes it evaluates If-Match too, because the edge is their origin: a recoloured icon has an
// entity tag that no origin knows.
func Conditional(r *Request, etag string, e *cache.Entry) int {
	h := &r.Ctx.Request.Header
	c := cachepolicy.Conditions{IfNoneMatch: Field(r.Ctx, fasthttp.HeaderIfNoneMatch),
		IfModifiedSince: string(h.Peek(fasthttp.HeaderIfModifiedSince))}
	if r.Forwarded {
		return represent.Conditional(e, c, etag, r.Now)
	}
	c.IfMatch, c.IfUnmodifiedSince = Field(r.Ctx, fasthttp.HeaderIfMatch), string(h.Peek(fasthttp.HeaderIfUnmodifiedSince))
	return cachepolicy.Precondition(http.MethodGet, etag, e.LastModified, c)
}

// partOf returns the requested range of an identity body, or all of it. The error is a 416, if the
// range lies outside the body.
func partOf(r *Request, e *cache.Entry, body []byte, etag string, t *respond.Head) ([]byte, error) {
	off, n, field, err := RequestedPart(r, e, int64(len(body)), etag)
	if err != nil {
		return nil, err
	}
	if field != "" {
		r.Ctx.Response.SetStatusCode(http.StatusPartialContent)
		t.ContentRange = []byte(field)
	}
	return body[off : off+n], nil
}

// RequestedPart returns the span of an identity body of so many bytes that a client asks for, and
// its Content-Range; empty: the client gets the whole body. The error is a 416.
func RequestedPart(r *Request, e *cache.Entry, size int64, etag string) (off, n int64, field string, err error) {
	h := &r.Ctx.Request.Header
	a := represent.Asked{}
	if lines := h.PeekAll(fasthttp.HeaderRange); len(lines) == 1 && r.Ctx.IsGet() {
		a.Range, a.IfRange = string(lines[0]), string(h.Peek(fasthttp.HeaderIfRange))
	}
	off, n, what := a.Part(e, size, etag, r.Now)
	switch what {
	case cachepolicy.RangePart:
		field = string(represent.AppendContentRange(nil, off, n, size))
	case cachepolicy.RangeUnsatisfiable:
		return 0, 0, "", problem.New(http.StatusRequestedRangeNotSatisfiable, "the range lies outside the body").
			With(fasthttp.HeaderContentRange, "bytes */"+strconv.FormatInt(size, 10))
	}
	return off, n, field, nil
}

// sendStream sends a body while it arrives from the origin.
func sendStream(r *Request, f Response) {
	if r.Ctx.IsHead() {
		f.Close()
		r.Ctx.Response.SkipBody = true
		if f.Length >= 0 {
			r.Ctx.Response.Header.SetContentLength(int(f.Length))
		}
		return
	}
	r.Conn.ResponseLength(f.Length)
	r.Ctx.Response.ImmediateHeaderFlush = true
	r.Stream = &countedStream{ReadCloser: f.Stream}
	if _, stored := f.Stream.(*objects.Reader); !stored { // that one is for a single goroutine
		r.Response.Abandon = func() { f.Stream.Close() }
	}
	r.Ctx.SetBodyStream(r.Stream, int(f.Length))
	r.sendTrailer(f)
}

// gather reads the whole of a body of unknown length before it sends it, for a client of HTTP/1.0,
// which does not understand chunks. If the end of the connection marked the end of the body, the
// client could not recognise an incomplete one (RFC 9112, sections 6.1 and 8).
func gather(r *Request, f Response) error {
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f.Stream, exchange.MaxForwarded+1))
	if err == nil && len(body) > exchange.MaxForwarded {
		err = problem.New(http.StatusHTTPVersionNotSupported, "the response is too long for HTTP/1.0")
	}
	if err == nil {
		Send(r, body)
	}
	return err
}

// releaseOf returns the release for which a response is current: the one that this edge knew before
// the lookup, because it had by then dropped the entries that this release changed. A response that
// was stored for moments, because it names another release, belongs to the release that it names.
func (r *Request) releaseOf(f Response) string {
	e := f.Entry
	if r.Known == "" || e.Release == "" || StoredBriefly(e) {
		return e.Release
	}
	return r.Known
}
