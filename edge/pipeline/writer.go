package pipeline

import (
	"log/slog"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/respond"
)

// A Writer writes the responses of the pipeline.
type Writer struct {
	clock      respond.Dates
	compressor *compress.Compressor // of stored responses
	log        *slog.Logger
	// Dictionaries has the differences to stored responses; nil: none.
	Dictionaries *dictionaries.Table
	// Node is the name of this edge in Proxy-Status; empty: iconedge.
	Node string
	// Trusts reports whether a client may read the cause of an error; nil: none may.
	Trusts func(*exchange.Request) bool
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

// AddFieldsOfEveryAnswer adds respond.EveryAnswer to the response, if the site has icons.
func (r *Request) AddFieldsOfEveryAnswer() {
	if r.Site.Icons {
		respond.AddFields(&r.Response, respond.EveryAnswer)
	}
}

// Date returns the time of a request as the Date of its response (RFC 9110, section 6.6.1).
func (h *Writer) Date(r *Request) []byte { return h.clock.Of(r.Now) }

// WriteDate writes Date to the response.
func (h *Writer) WriteDate(r *Request) { r.Response.Add(fasthttp.HeaderDate, string(h.Date(r))) }
