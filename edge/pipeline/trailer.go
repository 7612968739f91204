package pipeline

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/upstream"
)

// AcceptsTrailer reports whether a client takes trailer fields (RFC 9110, section 10.1.4).
func AcceptsTrailer(h http.Header) bool {
	for _, line := range h["Te"] {
		for coding := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.Trim(coding, " \t"), "trailers") {
				return true
			}
		}
	}
	return false
}

// HeaderOf returns lines of fields as a header.
func HeaderOf(lines []byte) http.Header {
	h := http.Header{}
	for name, value := range exchange.FieldsIn(lines) {
		h.Add(string(name), string(value))
	}
	return h
}

// TrailerOf returns the trailer fields of an origin's response.
func TrailerOf(a *upstream.Response) *collapse.Trailer {
	return &collapse.Trailer{Announced: a.Announced, Lines: func() []byte { return LinesOf(a.Trailer()) }}
}

// takesTrailer reports whether the client gets trailer fields. Streams have a place for them. In
// HTTP/1.1 they follow chunks, and a client that does not name them in TE may not understand them.
func (r *Request) takesTrailer() bool {
	if r.Protocol != exchange.H1 {
		return true
	}
	return r.Ctx.Request.Header.IsHTTP11() && AcceptsTrailer(http.Header{"Te": exchange.Texts(r.Lines("TE"))})
}

// undescribed returns trailer fields without those that describe the bytes of a body, which now has
// a content coding.
func undescribed(t *collapse.Trailer) *collapse.Trailer {
	if t == nil {
		return nil
	}
	return &collapse.Trailer{Announced: t.Announced, Lines: func() []byte {
		h := HeaderOf(t.Lines())
		for name := range h {
			if compress.Describes(name) {
				delete(h, name)
			}
		}
		return LinesOf(h)
	}}
}

// followByTrailer makes a whole body one that is streamed, if trailer fields follow it. They belong
// to the body as the origin sent it.
func (f *Response) followByTrailer(r *Request, p representation) {
	status := r.Ctx.Response.StatusCode()
	stored := p.coding != entry.Identity && p.plan == nil
	if f.Stream != nil || stored || !r.takesTrailer() || len(f.Trailer.Lines()) == 0 {
		return
	}
	bodyless := r.Ctx.IsHead() || status == http.StatusNoContent || status == http.StatusNotModified
	if bodyless || status != f.Entry.Status {
		return
	}
	f.Stream, f.Length = io.NopCloser(bytes.NewReader(p.body)), int64(len(p.body))
	if r.Protocol == exchange.H1 {
		f.Length = -1
	}
}

// sendTrailer sends the trailer fields after a body that is streamed.
func (r *Request) sendTrailer(f Response) {
	if f.Trailer == nil || r.Protocol == exchange.H1 && f.Length >= 0 || !r.takesTrailer() {
		return
	}
	r.Response.Trailer = f.Trailer.Lines
	if r.Protocol == exchange.H1 {
		h := &r.Ctx.Response.Header
		r.Stream.ends = func() { setTrailer(h, f.Trailer.Lines()) }
	}
}

// setTrailer hands trailer fields to fasthttp's server, which has sent the header fields and writes
// them next. Lines of one name are joined (RFC 9110, section 5.3), because the server writes one.
func setTrailer(h *fasthttp.ResponseHeader, lines []byte) {
	h.SetTrailerBytes(nil) // forgets those that were announced
	for name, values := range HeaderOf(lines) {
		if h.AddTrailer(name) == nil {
			h.Set(name, strings.Join(values, ", "))
		}
	}
}
