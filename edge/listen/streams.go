package listen

import (
	"bytes"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
)

// Handle answers a request of an HTTP/2 stream that the hit path does not. The request takes the
// same pipeline as those of other protocols.
func (s *Server) Handle(w *h2.Writer, q *h2.Request) {
	ctx := NewContext(q)
	x := NewExchange(ctx, q, exchange.H2)
	x.Conn = exchange.Stream{Ended: w.Gone()}
	x.Interims.Send = func(i exchange.Interim) { w.Interim(blockOf(i.Status, exchange.FieldsIn(i.Lines))) }
	s.ServeStream(ctx, x, q.Refuse)
	defer ctx.Response.CloseBodyStream()
	if run := x.Response.Tunnel; run != nil {
		tunnelH2(w, &x.Response, run)
		return
	}
	a := replyOf(ctx, &x.Response)
	head := blockOf(a.status, a.fields)
	trailer, abandon := x.Response.Trailer, x.Response.Abandon
	x.Response.Release()
	if w.Header(head, a.bodyless) != nil || a.bodyless {
		return
	}
	if a.flush && w.Flush() != nil { // the body may begin much later
		return
	}
	if abandon != nil {
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-ended:
			case <-w.Gone():
				abandon()
			}
		}()
	}
	if a.copy(w, w.Flush) == nil {
		// Closing the body counts and logs the response, before the client can see its end and
		// leave.
		ctx.Response.CloseBodyStream()
		if trailer != nil {
			w.Trailer(trailerOf(trailer()))
		}
		w.End()
	}
}

// tunnelH2 opens a tunnel on a stream. The 101 of HTTP/1.1 is a 200 (RFC 8441, section 5).
func tunnelH2(w *h2.Writer, out *exchange.Response, run func(exchange.TunnelEnd)) {
	block := blockOf(http.StatusOK, exchange.FieldsIn(out.Lines))
	out.Release()
	err := w.Header(block, false)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		run(nil)
		return
	}
	run(w.TunnelEnd())
}

// blockOf returns a header block of HTTP/2.
func blockOf(status int, fields iter.Seq2[[]byte, []byte]) []byte {
	block := h2.AppendStatus(nil, status)
	for name, value := range fields {
		block = h2.AppendField(block, name, value)
	}
	return block
}

// trailerOf returns the header block of trailer fields; nil: there are none.
func trailerOf(lines []byte) (block []byte) {
	for name, value := range exchange.FieldsIn(lines) {
		block = h2.AppendField(block, name, value)
	}
	return block
}

// ServeStream answers the request of a stream. If refuse is not 0, the stream's protocol has
// refused the request, and that is the status of the response.
func (s *Server) ServeStream(ctx *fasthttp.RequestCtx, x *exchange.Request, refuse int) {
	if refuse != 0 {
		s.ServeRefused(ctx, x, refuse)
		return
	}
	s.ServeRequest(ctx, x)
}

// A streamConn stands for a stream's connection in fasthttp's context, which requires one.
type streamConn struct {
	net.Conn // nil: never read or written
	client   net.TCPAddr
}

func (c *streamConn) RemoteAddr() net.Addr { return &c.client }
func (c *streamConn) LocalAddr() net.Addr  { return &net.TCPAddr{} }

var upgrades = [][]byte{[]byte("upgrade")}

// NewExchange returns the exchange of a stream's request, with the current time as its arrival.
func NewExchange(ctx *fasthttp.RequestCtx, q *h2.Request, p exchange.Protocol) *exchange.Request {
	x := &exchange.Request{
		Protocol: p, Secure: q.Secure, Peer: q.Client, Arrived: time.Now(), Tier: q.Tier, Ambiguous: !oneHost(q),
		Upgrade: exchange.Upgrades(upgrades, [][]byte{[]byte(q.Protocol)}),
		Fields:  fieldsOf(q), Lines: ctx.Request.Header.PeekAll, Body: func() []byte { return q.Body }, Conn: exchange.Stream{},
	}
	if len(q.Trailer) > 0 {
		x.Trailer = func() []byte { return linesOf(q.Trailer) }
	}
	if u := q.Upload; u != nil {
		x.Trailer = func() []byte { return linesOf(u.Trailer()) }
		x.Upload = &exchange.Upload{Reader: u, Length: u.Length, Expects: u.Expects, Whole: u.Whole, Relax: u.Relax}
		x.Body = func() []byte { return beginning(u) }
	}
	return x
}

// linesOf returns fields as lines of HTTP/1.1.
func linesOf(fields []h2.Field) []byte {
	var out exchange.Response
	for _, f := range fields {
		out.Add(string(f.Name), string(f.Value))
	}
	return out.Lines
}

// NewContext returns a context with the request as fasthttp's HTTP/1.1 server would have parsed it.
func NewContext(q *h2.Request) *fasthttp.RequestCtx {
	ctx := &fasthttp.RequestCtx{}
	ctx.Init2(&streamConn{client: net.TCPAddr{IP: q.Client.AsSlice()}}, nil, true)
	r := &ctx.Request
	r.Header.SetMethod(q.Method)
	r.SetRequestURI(q.Path)
	r.Header.SetHost(q.Authority)
	for name, value := range fieldsOf(q) {
		if string(name) != "host" {
			r.Header.AddBytesKV(name, value)
		} else if q.Authority == "" {
			r.Header.SetHostBytes(value)
		}
	}
	if len(q.Body) > 0 {
		r.SetBodyRaw(q.Body)
		r.Header.SetContentLength(len(q.Body))
	}
	ctx.Response.Header.SetNoDefaultContentType(true)
	return ctx
}

// fieldsOf iterates over the fields of a stream's request. It joins Cookie fields, because a client
// may split them (RFC 9113, section 8.2.3).
func fieldsOf(q *h2.Request) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		var cookies [][]byte
		for _, f := range q.Fields {
			if string(f.Name) == "cookie" {
				cookies = append(cookies, f.Value)
			} else if !yield(f.Name, f.Value) {
				return
			}
		}
		if len(cookies) > 0 {
			yield([]byte("cookie"), bytes.Join(cookies, []byte("; ")))
		}
	}
}

// oneHost reports whether a stream's request names one host: it has at most one Host, which agrees
// with :authority if both are present (RFC 9113, section 8.3.1; RFC 9114, section 4.3.1).
func oneHost(q *h2.Request) bool {
	hosts := 0
	for _, f := range q.Fields {
		if string(f.Name) != "host" {
			continue
		}
		if hosts++; hosts > 1 || q.Authority != "" && !sameHost(string(f.Value), q.Authority, q.Secure) {
			return false
		}
	}
	return true
}

// sameHost compares two authorities, ignoring case and the default port of their scheme (RFC 3986,
// section 6.2.3).
func sameHost(a, b string, secure bool) bool {
	port := ":80"
	if secure {
		port = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(a, port), strings.TrimSuffix(b, port))
}

// A reply is the response of a context, for protocols that frame bodies themselves.
type reply struct {
	status   int
	bodyless bool // no body follows
	body     []byte
	stream   io.Reader // replaces body; nil: none
	flush    bool      // flush after each write
	fields   func(yield func(name, value []byte) bool)
}

// replyOf reads the response with the fields out from a context. Its Content-Length is that of
// fasthttp's HTTP/1.1 server: for a HEAD it is the length that the body of a GET would have.
func replyOf(ctx *fasthttp.RequestCtx, out *exchange.Response) reply {
	resp := &ctx.Response
	a := reply{status: resp.StatusCode(), stream: resp.BodyStream(), flush: resp.ImmediateHeaderFlush}
	if a.stream == nil {
		a.body = resp.Body()
	}
	without := a.status == http.StatusNoContent || a.status == http.StatusNotModified
	length := resp.Header.ContentLength()
	if a.stream == nil && (len(a.body) > 0 || !ctx.IsHead() || length < 0) {
		length = len(a.body)
	}
	a.bodyless = without || ctx.IsHead() || resp.SkipBody || a.stream == nil && len(a.body) == 0
	a.fields = func(yield func(name, value []byte) bool) {
		for name, value := range exchange.FieldsIn(out.Lines) {
			if hopByHop[string(name)] {
				continue
			}
			if !yield(name, value) {
				return
			}
		}
		if !without && length >= 0 {
			yield([]byte(fasthttp.HeaderContentLength), fasthttp.AppendUint(nil, length))
		}
	}
	return a
}

// hopByHop are the connection-specific fields of HTTP/1.1, which HTTP/2 and HTTP/3 forbid (RFC
// 9113, section 8.2.2; RFC 9114, section 4.2).
var hopByHop = map[string]bool{"Connection": true, "Keep-Alive": true, "Transfer-Encoding": true, "Upgrade": true, "Trailer": true}

// copy writes the body to w.
func (a *reply) copy(w io.Writer, flush func() error) error {
	if a.stream == nil {
		_, err := w.Write(a.body)
		return err
	}
	if a.flush {
		w = flushing{w, flush}
	}
	_, err := io.Copy(w, a.stream)
	return err
}

// A flushing writer flushes after each write.
type flushing struct {
	io.Writer
	flush func() error
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err != nil {
		return n, err
	}
	return n, f.flush()
}
