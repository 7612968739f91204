package listen

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h1"
)

// ServeH1 handles the requests of the HTTP/1.1 server.
func (s *Server) ServeH1(ctx *fasthttp.RequestCtx) {
	x := s.exchangeH1(ctx)
	s.ServeRequest(ctx, x)
	if x.Response.Tunnel != nil {
		tunnelH1(ctx, &x.Response)
		return
	}
	endUpload(ctx)
	writeH1(&ctx.Response.Header, &x.Response)
}

// serveUnreadable handles a request that the HTTP/1.1 server could not parse because of err.
func (s *Server) serveUnreadable(ctx *fasthttp.RequestCtx, err error) {
	x := s.exchangeH1(ctx)
	s.ServeUnreadable(ctx, x, err)
	writeH1(&ctx.Response.Header, &x.Response)
}

// writeH1 hands the fields of a response to fasthttp's server. fasthttp drops a Date, because it
// writes the present time itself. Therefore writeH1 adds it under another name, and then changes
// that name in place. The other name is not valid, so that no field of an origin has it.
func writeH1(h *fasthttp.ResponseHeader, out *exchange.Response) {
	h.DisableNormalizing() // it would change the case of names
	for name, value := range exchange.FieldsIn(out.Lines) {
		if string(name) == fasthttp.HeaderDate {
			name = dateInWaiting
		}
		h.AddBytesKV(name, value)
	}
	out.Release()
	for name := range h.All() {
		if string(name) == string(dateInWaiting) {
			copy(name, fasthttp.HeaderDate)
			return
		}
	}
}

var dateInWaiting = []byte("D te") // of the length of Date

// exchangeH1 returns the exchange of an HTTP/1.1 request, so that no other code inspects the
// connection.
func (s *Server) exchangeH1(ctx *fasthttp.RequestCtx) *exchange.Request {
	x := &exchange.Request{Peer: exchange.Address(ctx.RemoteAddr()), Arrived: ctx.Time(),
		Fields: ctx.Request.Header.AllInOrder(), Lines: ctx.Request.Header.PeekAll,
		Body: func() []byte { return takeBody(ctx) }, Conn: exchange.Stream{}}
	if x.Arrived.IsZero() { // the request could not be read
		x.Arrived = time.Now()
	}
	c, ok := ctx.Conn().(*lingeringConn)
	if !ok {
		return x
	}
	x.Secure, x.Tier = c.link != nil, c.tier
	x.Malformed, x.Bodyless = !c.strict(), c.bodyless()
	if x.Conn = (connH1{c, s.conns}); c.http1() != nil {
		x.LongTarget, x.Fetched = c.http1().LongTarget(), c.http1().Fetched()
		takeUpload(x, c.http1().Upload())
		if ctx.Request.Header.IsHTTP11() {
			x.Interims.Send = func(i exchange.Interim) { writeInterim(c.http1(), i) }
		}
		if upgrade := ctx.Request.Header.PeekAll(fasthttp.HeaderUpgrade); len(upgrade) > 0 &&
			ctx.Request.Header.IsHTTP11() && !ctx.Request.Header.IsConnect() && c.http1().Whole() {
			upgrade = slices.Clone(upgrade) // the next PeekAll overwrites it
			x.Upgrade = exchange.Upgrades(ctx.Request.Header.PeekAll(fasthttp.HeaderConnection), upgrade)
		}
	}
	return x
}

// takeUpload makes u the body of a request; nil: the server has read the body.
func takeUpload(x *exchange.Request, u *h1.Upload) {
	if u == nil {
		return
	}
	x.Trailer = u.Trailer
	if body, ok := u.Complete(); ok {
		x.Body = func() []byte { return body }
		return
	}
	x.Upload = &exchange.Upload{Reader: u, Length: u.Length(), Expects: u.Expects(), Whole: u.Whole}
	x.Body = func() []byte { return beginning(u) }
}

// beginning returns a body if it is short, else a part that shows that it is not.
func beginning(r io.Reader) []byte {
	b, _ := io.ReadAll(io.LimitReader(r, exchange.MaxBody+1)) // half a body is as malformed as none
	return b
}

// endUpload closes the connection after the response, if bytes of the request may follow.
func endUpload(ctx *fasthttp.RequestCtx) {
	if c, ok := ctx.Conn().(*lingeringConn); ok && c.http1() != nil && c.http1().Answer() {
		ctx.SetConnectionClose()
		c.refuse()
	}
}

// writeInterim writes an interim response past the server, which knows none. The server has nothing
// unsent, because it gets one request at a time. An error shows when the response is written.
func writeInterim(c *h1.Conn, i exchange.Interim) {
	head := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", i.Status, http.StatusText(i.Status))
	c.Interim(append(append(head, i.Lines...), "\r\n"...))
}

// tunnelH1 takes the connection from the server, sends the head of a 101, and gives the connection
// to the tunnel. The server's own memory of the request is free from then on.
func tunnelH1(ctx *fasthttp.RequestCtx, out *exchange.Response) {
	head := slices.Concat([]byte("HTTP/1.1 101 Switching Protocols\r\n"), out.Lines, []byte("\r\n"))
	run := out.Tunnel
	out.Release()
	c := ctx.Conn().(*lingeringConn)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {
		go func() {
			beneath, early := c.http1().Detach()
			if _, err := beneath.Write(head); err != nil {
				c.Close()
				run(nil)
				return
			}
			run(&tunnelConn{c, beneath, early})
		}()
	})
}

// A tunnelConn is the end of a tunnel at a client of HTTP/1.1.
type tunnelConn struct {
	c *lingeringConn
	net.Conn
	early []byte // read before the 101
}

func (t *tunnelConn) Read(p []byte) (int, error) {
	if len(t.early) == 0 {
		return t.Conn.Read(p)
	}
	n := copy(p, t.early)
	if t.early = t.early[n:]; len(t.early) == 0 {
		t.early = nil
	}
	return n, nil
}

// CloseWrite ends the direction to the client.
func (t *tunnelConn) CloseWrite() error { return t.c.http1().CloseWrite() }

// Close closes the connection. The client still gets the bytes that were written before.
func (t *tunnelConn) Close() error {
	now := time.Now()
	t.Conn.SetDeadline(now.Add(lingerFor)) // ends reads and writes that wait
	t.c.http1().Finish(now)
	return t.c.Close()
}

// takeBody returns the body of a request and takes it from ctx. Otherwise the connection would
// retain the memory of a long body while it is idle.
func takeBody(ctx *fasthttp.RequestCtx) []byte {
	if body := ctx.PostBody(); len(body) <= exchange.MaxBody {
		return bytes.Clone(body)
	}
	return ctx.Request.SwapBody(nil)
}

// connH1 is the connection that carries an HTTP/1.1 request.
type connH1 struct {
	c     *lingeringConn
	conns *conns
}

func (c connH1) Serve(now time.Time) {
	if p := c.c.http1(); p != nil {
		p.Serve(now)
	}
}

func (c connH1) ResponseLength(length int64) {
	if p := c.c.http1(); p != nil {
		p.ResponseLength(length)
	}
}

func (c connH1) ClientGone() bool {
	p := c.c.http1()
	return p != nil && p.ClientGone()
}

func (c connH1) CloseAfter() { c.c.refuse() }
func (c connH1) Exempt()     { c.conns.exempt(c.c) }

// workerRests is how long a goroutine without a connection waits for one. The stacks of thousands
// are memory that a client made the edge hold.
const workerRests = 2 * time.Second

// newHTTP1 returns the server of HTTP/1.1. It sets no deadlines, because its connections
// (conns.go) enforce those for whole requests and responses. A slow client occupies a connection
// for a bounded time, and nothing else.
func newHTTP1(s *Server) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                      s.ServeH1,
		ErrorHandler:                 s.serveUnreadable,
		HeaderReceived:               received,
		ReadBufferSize:               int(s.options.Capacity.MaxHeader),
		WriteBufferSize:              16 << 10,
		MaxRequestBodySize:           s.options.MaxBody,
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true, // writeH1 writes it
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		CloseOnShutdown:              true,
		MaxIdleWorkerDuration:        workerRests,
		KeepHijackedConns:            true, // the tunnel closes them
		SecureErrorLogMessage:        true, // the bytes of a request may contain a token
		Logger:                       serverLog{s.options.Log},
	}
}

// received removes Expect from a request in HTTP/1.0, whose client does not know a 100 (RFC 9110,
// section 10.1.1). It also removes it from a request with a long body, because the connection (h1)
// has already sent the 100.
func received(h *fasthttp.RequestHeader) (defaults fasthttp.RequestConfig) {
	if !h.IsHTTP11() || h.ContentLength() > exchange.MaxBody && strings.EqualFold(string(h.Peek(fasthttp.HeaderExpect)), "100-continue") {
		h.Del(fasthttp.HeaderExpect)
	}
	return defaults
}

type serverLog struct{ log *slog.Logger }

// Printf logs the server's messages about broken connections. Most of them are caused by clients.
func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("http server", "said", fmt.Sprintf(format, args...))
}
