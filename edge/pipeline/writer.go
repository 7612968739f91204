package pipeline

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/respond"
)

// A Writer writes the responses of the pipeline.
type Writer struct {
	clock      dateClock
	compressor *compress.Compressor // of stored responses
	log        *slog.Logger
}

// NewWriter returns a writer. compressor makes content codings of stored responses.
func NewWriter(compressor *compress.Compressor, log *slog.Logger) *Writer {
	return &Writer{compressor: compressor, log: log}
}

// Send sets the body of a response without a copy, because entries never change.
func Send(r *Request, body []byte) {
	ctx := r.Ctx
	if body == nil {
		body = []byte{} // nil is no body for fasthttp, but that of the buffer
	}
	ctx.Response.SetBodyRaw(body)
	r.Conn.ResponseLength(int64(len(body)))
	if len(body) == 0 {
		ctx.Response.Header.SetContentLength(0) // otherwise a response to HEAD would lack it
	}
}

// BodyLength returns the length of the body that will be sent. It is 0 for a stream.
func BodyLength(r *Request) int {
	ctx := r.Ctx
	if r.Bodyless || ctx.IsHead() || ctx.Response.SkipBody || ctx.Response.IsBodyStream() {
		return 0
	}
	return len(ctx.Response.Body())
}

// AddFields adds fields to a response.
func AddFields(out *exchange.Response, fields []cache.Field) {
	for _, f := range fields {
		out.Add(string(f.Name), string(f.Value))
	}
}

// AddFieldsOfEveryAnswer adds respond.EveryAnswer to the response, if the site has icons.
func (r *Request) AddFieldsOfEveryAnswer() {
	if r.Site.Icons {
		AddFields(&r.Response, respond.EveryAnswer)
	}
}

// A dateClock returns a time as a Date field, formatted once a second.
type dateClock struct{ last atomic.Pointer[tick] }

type tick struct {
	second int64
	date   []byte
}

func (c *dateClock) date(now time.Time) []byte {
	if t := c.last.Load(); t != nil && t.second == now.Unix() {
		return t.date
	}
	t := &tick{now.Unix(), fasthttp.AppendHTTPDate(nil, now)}
	c.last.Store(t)
	return t.date
}

// WriteDate writes the present time as the Date of a response (RFC 9110, section 6.6.1).
func (h *Writer) WriteDate(r *Request) {
	r.Response.Add(fasthttp.HeaderDate, string(h.clock.date(r.Now)))
}

// writeCacheStatus reports the use of this cache in Cache-Status (RFC 9211), if the request used
// it.
func writeCacheStatus(r *Request) {
	if r.Status.Hit || r.Status.Forward != "" {
		var buf [96]byte
		r.Response.Add("Cache-Status", string(cachepolicy.AppendCacheStatus(buf[:0], r.Status)))
	}
}
