package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// A representation is the form in which one client receives an entry.
type representation struct {
	body   []byte
	etag   string
	coding entry.Coding
	color  icon.Color // the colour to put in; empty: none
	fixed  bool       // the client asked for a colour, but the icon has its own
	whole  bool       // no part of the body is sent, whatever the Range
}

func (h *Proxy) represent(r *request, e *cache.Entry) representation {
	if c := r.target.Color; c != "" && e.Status == http.StatusOK {
		// A recoloured icon is sent unencoded, whatever Accept-Encoding says, because each response
		// is recoloured anew.
		if e.Monochrome == "?1" {
			id := e.Identity()
			return representation{body: id.Body, etag: entry.Suffixed(id.ETag, string(c[1:])), color: c}
		}
		p := h.coded(r, e)
		p.fixed = r.target.Form == routes.FormSVG
		return p
	}
	return h.coded(r, e)
}

// coded returns the representation in the coding that the client gets. Brotli is made in the
// background, so that no client waits for it; until then clients get gzip.
func (h *Proxy) coded(r *request, e *cache.Entry) representation {
	accept := joined(r.ctx, fasthttp.HeaderAcceptEncoding)
	v, coding := e.Choose(accept)
	if coding != entry.Brotli && accept != "" && e.Hits.Load() >= hit.BrotliHits && entry.Select(accept, cachepolicy.Brotli, cachepolicy.Gzip) == entry.Brotli {
		h.compressor.WantSmaller(e, entry.Brotli)
	}
	p := representation{body: v.Body, etag: v.ETag, coding: coding}
	if held := joined(r.ctx, fasthttp.HeaderIfNoneMatch); held != "" {
		p.etag = heldTag(e, held, accept, v.ETag)
	}
	return p
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
	return chosen
}

// negotiated returns the representation of a forwarded response. Stored text has codings, once they
// are made; the first hits have them made. A range is one of the identity body.
func (h *Proxy) negotiated(r *request, f found) representation {
	e, id := f.entry, f.entry.Identity()
	p := representation{body: id.Body, etag: id.ETag}
	if f.relayed {
		return p
	}
	a := asked(r)
	if f.stream == nil && a.Codable(e, r.compresses()) {
		got, wanted := compress.Choose(e, a.AcceptEncoding)
		var want entry.Coding
		if p.coding, p.whole, want = a.Negotiate(e, got, wanted); want != entry.Identity && e.Hits.Load() > 0 {
			h.compressor.Want(e, want)
		}
		if p.coding != entry.Identity {
			p.body, p.etag = e.Variant(p.coding).Body, compress.Tag(e.Validator, p.coding)
		}
	}
	if a.IfNoneMatch != "" && e.Status == http.StatusOK {
		p.etag = compress.Held(a.IfNoneMatch, a.AcceptEncoding, e.Validator, p.etag)
	}
	return p
}

// asked returns the fields by which a client asks for a form or a part of a forwarded response.
func asked(r *request) *hit.Asked {
	h := &r.ctx.Request.Header
	a := &hit.Asked{AcceptEncoding: joined(r.ctx, fasthttp.HeaderAcceptEncoding), IfNoneMatch: joined(r.ctx, fasthttp.HeaderIfNoneMatch),
		IfModifiedSince: string(h.Peek(fasthttp.HeaderIfModifiedSince))}
	if r.ctx.IsGet() {
		a.Range, a.IfRange = string(h.Peek(fasthttp.HeaderRange)), string(h.Peek(fasthttp.HeaderIfRange))
	}
	if v := joined(r.ctx, fasthttp.HeaderCacheControl); v != "" { // RFC 9111, section 5.2.1.6
		a.NoTransform = cachepolicy.ParseCacheControl(v).NoTransform
	}
	return a
}

// colored returns the body with the colour in it.
func (p *representation) colored(f routes.Form) []byte {
	if p.color == "" {
		return p.body
	}
	if f == routes.FormJSON {
		return icon.RecolourAnswer(p.body, p.color)
	}
	return icon.Recolour(p.body, p.color)
}

// finish writes an entry as the response to a request, according to its conditions, range, colour
// and coding. Forwarded responses keep the form that the origin gave them.
func (h *Proxy) finish(r *request, f found) {
	e := f.entry
	var p representation
	if r.forwarded {
		p = h.negotiated(r, f)
	} else {
		p = h.represent(r, e)
	}
	status := e.Status
	if status == http.StatusOK && !f.relayed {
		status = conditional(r, p.etag, e)
	}
	if status == http.StatusPreconditionFailed && e.Status != status {
		f.close()
		h.fail(r, problem.New(status, "the current representation does not satisfy If-Match or If-Unmodified-Since"))
		return
	}
	r.ctx.Response.SetStatusCode(status)
	t := respond.Head{Bodyless: status == http.StatusNotModified && e.Status != status, Length: -1, ETag: []byte(p.etag)}
	if f.trailer != nil {
		f.followByTrailer(r, p)
	}
	if t.Bodyless {
		f.close()
	} else if err := h.finishBody(r, f, p, &t); err != nil {
		h.fail(r, problem.From(err))
		return
	}
	h.writeHead(r, f, &t)
}

// finishBody sets the body of a response, and the part of its head that depends on the body.
func (h *Proxy) finishBody(r *request, f found, p representation, t *respond.Head) error {
	switch {
	case f.stream != nil && f.length < 0 && !r.ctx.Request.Header.IsHTTP11() && !r.ctx.IsHead():
		return gather(r, f)
	case f.stream != nil:
		if f.part != "" {
			r.ctx.Response.SetStatusCode(http.StatusPartialContent)
			t.ContentRange = []byte(f.part)
		}
		stream(r, f)
	case f.entry.IsObject(): // the response to a HEAD
		r.ctx.Response.SkipBody = true
		r.ctx.Response.Header.SetContentLength(int(f.entry.Object.Length))
	case f.relayed:
		send(r, p.body)
	default:
		return h.body(r, f.entry, p, t)
	}
	return nil
}

// writeHead completes the head of a response with an entry, and writes it.
func (h *Proxy) writeHead(r *request, f found, t *respond.Head) {
	e, out := f.entry, &r.Response
	// A purge may have arrived while the response was on its way.
	if t.Aged = f.aged || e.Freshness().SoftPurged; t.Aged {
		t.Age = ageToSend(e, r.now)
	}
	t.Status = r.status
	if r.Tier && !r.forwarded {
		t.Monochrome, t.Release = e.Monochrome, r.releaseOf(f)
	}
	if !r.forwarded {
		t.Count = &r.count
	}
	out.Reset()
	w := respond.Writer{Entry: e, Date: e.Date, Forwarded: r.forwarded, Coded: r.forwarded && t.Coding != entry.Identity}
	if len(w.Date) == 0 {
		w.Date = h.clock.date(r.now)
	}
	out.Lines = w.Append(out.Lines, t)
	if r.forwarded {
		respond.SetLimit(&r.Response, &r.count)
	}
	if r.Response.Trailer != nil && len(f.trailer.Announced) > 0 {
		out.Add(fasthttp.HeaderTrailer, strings.Join(f.trailer.Announced, ", "))
	}
}

// ageToSend returns the Age to send with an entry. If its freshness lifetime was ended here, by a
// soft purge or because it is stored for moments only, the Age must make it stale to downstream
// caches too. Otherwise they would keep it for as long as its fields permit.
func ageToSend(e *cache.Entry, now time.Time) time.Duration {
	p := e.Freshness()
	if p.SoftPurged = p.SoftPurged || storedBriefly(e); !p.SoftPurged {
		return p.AgeAt(now)
	}
	h := header(e)
	h.Set("Date", string(e.Date)) // Expires is relative to Date
	return p.AgeToSend(h, now)
}

// body sets the representation's body: coded, coloured, or a part of it.
func (h *Proxy) body(r *request, e *cache.Entry, p representation, t *respond.Head) error {
	t.Fixed, t.Coding = p.fixed, p.coding
	body := p.colored(r.target.Form)
	if p.coding == entry.Identity && e.Status == http.StatusOK {
		t.Ranges = !r.forwarded
		if p.whole {
			send(r, notNil(body))
			return nil
		}
		var err error
		if body, err = part(r, e, body, p.etag, t); err != nil {
			return err
		}
	}
	send(r, body)
	return nil
}

// close closes the stream of the body, if there is one.
func (f found) close() {
	if f.stream != nil {
		f.stream.Close()
	}
}

// conditional evaluates the preconditions of a request and returns 200, 304 or 412. On our own
// routes it evaluates If-Match too, because the edge is their origin: a recoloured icon has an
// entity tag that no origin knows.
func conditional(r *request, etag string, e *cache.Entry) int {
	h := &r.ctx.Request.Header
	c := cachepolicy.Conditions{IfNoneMatch: joined(r.ctx, fasthttp.HeaderIfNoneMatch), IfModifiedSince: string(h.Peek(fasthttp.HeaderIfModifiedSince))}
	if r.forwarded {
		return hit.Conditional(e, c, etag, r.now)
	}
	c.IfMatch, c.IfUnmodifiedSince = joined(r.ctx, fasthttp.HeaderIfMatch), string(h.Peek(fasthttp.HeaderIfUnmodifiedSince))
	return cachepolicy.Precondition(http.MethodGet, etag, e.LastModified, c)
}

// send sets the body of a response without a copy, because entries never change.
func send(r *request, body []byte) {
	ctx := r.ctx
	ctx.Response.SetBodyRaw(body)
	r.Conn.ResponseLength(int64(len(body)))
	if len(body) == 0 {
		ctx.Response.Header.SetContentLength(0) // otherwise a response to HEAD would lack it
	}
}

// part returns the requested range of an identity body, or all of it. The error is a 416, if the
// range lies outside the body.
func part(r *request, e *cache.Entry, body []byte, etag string, t *respond.Head) ([]byte, error) {
	asked := r.ctx.Request.Header.Peek(fasthttp.HeaderRange)
	if len(asked) == 0 || !r.ctx.IsGet() {
		return notNil(body), nil
	}
	if !r.joins(e, etag) {
		return notNil(body), nil
	}
	size := int64(len(body))
	off, n, what := cachepolicy.ParseRange(string(asked), size)
	switch what {
	case cachepolicy.RangePart:
		r.ctx.Response.SetStatusCode(http.StatusPartialContent)
		t.ContentRange = hit.AppendContentRange(nil, off, n, size)
		return body[off : off+n], nil
	case cachepolicy.RangeUnsatisfiable:
		return nil, problem.New(http.StatusRequestedRangeNotSatisfiable, "the range lies outside the body").
			With(fasthttp.HeaderContentRange, "bytes */"+strconv.FormatInt(size, 10))
	}
	return notNil(body), nil
}

// joins reports whether a part of the representation with this entity tag fits the part that the
// client has, by its If-Range.
func (r *request) joins(e *cache.Entry, etag string) bool {
	return hit.Joins(e, string(r.ctx.Request.Header.Peek(fasthttp.HeaderIfRange)), etag, r.now)
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func contentRange(off, n, size int64) string {
	return string(hit.AppendContentRange(nil, off, n, size))
}

// joined returns the value of a field, with several lines joined (RFC 9110, section 5.3).
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

// stream sends a body while it arrives from the origin.
func stream(r *request, f found) {
	if r.ctx.IsHead() {
		f.close()
		r.ctx.Response.SkipBody = true
		if f.length >= 0 {
			r.ctx.Response.Header.SetContentLength(int(f.length))
		}
		return
	}
	r.Conn.ResponseLength(f.length)
	r.ctx.Response.ImmediateHeaderFlush = true
	r.stream = &countedStream{ReadCloser: f.stream}
	if _, stored := f.stream.(*objects.Reader); !stored { // that one is for a single goroutine
		r.Response.Abandon = func() { f.stream.Close() }
	}
	r.ctx.SetBodyStream(r.stream, int(f.length))
	r.sendTrailer(f)
}

// A countedStream is a body that counts the bytes sent, because its length is known only at the
// end.
type countedStream struct {
	io.ReadCloser
	sent int
	ends func()          // called at the end of the body; nil: nothing is
	to   *observe.Tally  // counts the bytes on Close; nil: nothing does
	tell func(bytes int) // called on Close; nil: nothing is
}

func (s *countedStream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.sent += n
	if err == io.EOF && s.ends != nil {
		s.ends()
	}
	return n, err
}

// WriteTo copies the body to w, and flushes w after each part, if w has a buffer. fasthttp's server
// would collect the parts of a body of known length.
func (s *countedStream) WriteTo(w io.Writer) (written int64, err error) {
	part := parts.Get().(*[32 << 10]byte)
	defer parts.Put(part)
	buffered, _ := w.(interface{ Flush() error })
	for {
		n, end := s.Read(part[:])
		if n > 0 {
			if n, err = w.Write(part[:n]); err == nil && buffered != nil {
				err = buffered.Flush()
			}
			written += int64(n)
		}
		switch {
		case err != nil:
			return written, err
		case end == io.EOF:
			return written, nil
		case end != nil:
			return written, end
		}
	}
}

var parts = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Close reports the bytes sent, whether the response was complete or not. Only the first call does.
func (s *countedStream) Close() error {
	if s.to != nil {
		s.to.Send(s.sent)
		s.to = nil
	}
	if s.tell != nil {
		s.tell(s.sent)
		s.tell = nil
	}
	return s.ReadCloser.Close()
}

// bodyLength returns the length of the body that will be sent. It is 0 for a stream.
func bodyLength(r *request) int {
	ctx := r.ctx
	if r.Bodyless || ctx.IsHead() || ctx.Response.SkipBody || ctx.Response.IsBodyStream() {
		return 0
	}
	return len(ctx.Response.Body())
}

// gather reads the whole of a body of unknown length before it sends it, for a client of HTTP/1.0,
// which does not understand chunks. If the end of the connection marked the end of the body, the
// client could not recognise an incomplete one (RFC 9112, sections 6.1 and 8).
func gather(r *request, f found) error {
	defer f.close()
	body, err := io.ReadAll(io.LimitReader(f.stream, exchange.MaxForwarded+1))
	if err == nil && len(body) > exchange.MaxForwarded {
		err = problem.New(http.StatusHTTPVersionNotSupported, "the response is too long for HTTP/1.0")
	}
	if err == nil {
		send(r, body)
	}
	return err
}
