package edge

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
	"github.com/valyala/fasthttp"
)

// A representation is the form in which one client receives an entry.
type representation struct {
	body   []byte
	etag   string
	coding cache.Coding
	color  icon.Color // the colour to put in; empty: none
	fixed  bool       // the client asked for a colour, but the icon has its own
}

func represent(r *request, e *cache.Entry) representation {
	if c := r.target.Color; c != "" && e.Status == http.StatusOK {
		// A recoloured icon is sent unencoded, whatever Accept-Encoding says, because each response
		// is recoloured anew.
		if e.Monochrome == "?1" {
			id := e.Identity()
			return representation{body: id.Body, etag: cache.Suffixed(id.ETag, string(c[1:])), color: c}
		}
		v, coding := e.Choose(joined(r.ctx, fasthttp.HeaderAcceptEncoding))
		return representation{body: v.Body, etag: v.ETag, coding: coding, fixed: r.target.Form == routes.FormSVG}
	}
	v, coding := e.Choose(joined(r.ctx, fasthttp.HeaderAcceptEncoding))
	return representation{body: v.Body, etag: v.ETag, coding: coding}
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
// and coding. Forwarded responses keep the form that the origin gave them. The order of the fields
// is that of fastpath.go, to the byte.
func (h *handler) finish(r *request, f found) {
	e, resp := f.entry, &r.ctx.Response
	p := represent(r, e)
	status := e.Status
	if status == http.StatusOK && !f.relayed {
		status = conditional(r, p.etag, e)
	}
	if status == http.StatusPreconditionFailed && e.Status != status {
		f.close()
		h.fail(r, problem.New(status, "the current representation does not satisfy If-Match or If-Unmodified-Since"))
		return
	}
	resp.SetStatusCode(status)
	bare := status == http.StatusNotModified && e.Status != status
	h.fields(r, e, p.etag, !bare)
	if !bare {
		if len(e.ContentType) > 0 {
			resp.Header.SetContentTypeBytes(e.ContentType)
		}
		switch {
		case f.stream != nil && f.length < 0 && !r.ctx.Request.Header.IsHTTP11() && !r.ctx.IsHead():
			if err := gather(r, f); err != nil {
				h.fail(r, problem.From(err))
				return
			}
		case f.stream != nil:
			stream(r, f)
		case f.relayed:
			send(r, p.body)
		default:
			h.body(r, e, p)
		}
	} else {
		f.close()
	}
	h.writeDynamic(r, f)
}

// fields writes the fields of an entry: those that many entries share, then its own.
func (h *handler) fields(r *request, e *cache.Entry, etag string, withBody bool) {
	resp := &r.ctx.Response
	if !r.forwarded {
		writeFields(resp, everyAnswer)
		write(resp, varies)
	}
	addFields(resp, e.Fields, false)
	if withBody {
		addFields(resp, e.FieldsWithBody, false)
	}
	if etag != "" {
		resp.Header.SetCanonical(nameETag, []byte(etag))
	}
	if len(e.Date) > 0 {
		setDate(resp, e.Date)
	} else {
		setDate(resp, h.clock.date(r.now))
	}
	addFields(resp, e.Fields, true)
	if withBody {
		addFields(resp, e.FieldsWithBody, true)
	}
}

// writeDynamic writes the fields that depend on the request.
func (h *handler) writeDynamic(r *request, f found) {
	if code := r.ctx.Response.StatusCode(); code == http.StatusRequestedRangeNotSatisfiable && f.entry.Status != code {
		return // the problem's fields are written already
	}
	// A purge may have arrived while the response was on its way.
	if f.aged || f.entry.Freshness().SoftPurged {
		var buf [20]byte
		r.ctx.Response.Header.SetCanonical(nameAge, strconv.AppendInt(buf[:0], int64(ageToSend(f.entry, r.now)/time.Second), 10))
	}
	h.writeTier(r, f)
	writeCacheStatus(r)
	writeLimit(r)
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

// body writes the representation's body: coded, coloured, or a part of it.
func (h *handler) body(r *request, e *cache.Entry, p representation) {
	resp := &r.ctx.Response
	if p.fixed {
		write(resp, notRecolored)
	}
	body := p.colored(r.target.Form)
	switch {
	case p.coding != cache.Identity:
		resp.Header.SetContentEncoding(p.coding.String())
	case e.Status == http.StatusOK:
		if !r.forwarded {
			write(resp, acceptsRange)
		}
		if body = h.part(r, e, body, p.etag); body == nil {
			return
		}
	}
	send(r, body)
}

// close closes the stream of the body, if there is one.
func (f found) close() {
	if f.stream != nil {
		f.stream.Close()
	}
}

// conditional evaluates the preconditions of a request and returns 200, 304 or 412. On our own
// routes it evaluates If-Match too, because the edge is their origin: a recoloured icon has an
// entity tag that no origin knows. On forwarded paths it leaves If-Match to the origin (RFC 9111,
// section 4.3.2), and uses Date where there is no Last-Modified.
func conditional(r *request, etag string, e *cache.Entry) int {
	h := &r.ctx.Request.Header
	c := cachepolicy.Conditions{
		IfNoneMatch:     joined(r.ctx, fasthttp.HeaderIfNoneMatch),
		IfModifiedSince: string(h.Peek(fasthttp.HeaderIfModifiedSince)),
	}
	modified := e.LastModified
	if r.forwarded {
		if modified.IsZero() {
			modified, _ = cachepolicy.ParseDate(string(e.Date), r.now)
		}
	} else {
		c.IfMatch, c.IfUnmodifiedSince = joined(r.ctx, fasthttp.HeaderIfMatch), string(h.Peek(fasthttp.HeaderIfUnmodifiedSince))
	}
	return cachepolicy.Precondition(http.MethodGet, etag, modified, c)
}

var nameETag, nameAge = []byte("ETag"), []byte("Age")

// send sets the body of a response without a copy, because entries never change.
func send(r *request, body []byte) {
	ctx := r.ctx
	ctx.Response.SetBodyRaw(body)
	r.Conn.ResponseLength(int64(len(body)))
	if len(body) == 0 {
		ctx.Response.Header.SetContentLength(0) // otherwise a response to HEAD would lack it
	}
}

// part returns the requested range of an identity body, or all of it. If the range lies outside the
// body, it answers 416 and returns nil.
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
		h.fail(r, problem.New(http.StatusRequestedRangeNotSatisfiable, "the range lies outside the body").
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
