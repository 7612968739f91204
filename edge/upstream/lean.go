package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/wire"
)

// A lean exchange is a GET over HTTP/1.1 without TLS. It costs a fraction of one by net/http's
// Transport, which has two goroutines for each connection, because one goroutine writes the request
// and reads the response. It has the same protections: package wire parses only responses about
// whose end there is no doubt, and any other goes, with the bytes received so far, through conn and
// net/http's ReadResponse, and ends its connection. An origin that has sent such a response gets no
// lean exchanges for a while (unusualFor), so that its connections last.

// unusualFor is the time for which an origin gets no lean exchanges after an unusual response.
const unusualFor = 10 * time.Second

// A leaning says which requests go by lean exchanges. Tests set it.
type leaning uint8

const (
	byOrigin leaning = iota // those to origins without unusual responses
	always
	never
)

// isLean reports whether a request goes to o by a lean exchange.
func (c *Client) isLean(o *origin, r Request) bool {
	if r.Method != http.MethodGet || len(r.Body) > 0 || r.Upload != nil || r.Upgrade != "" || r.TakesTrailer {
		return false
	}
	if o.http2() || o.scheme() != "http" {
		return false
	}
	if c.leans != byOrigin {
		return c.leans == always
	}
	return time.Now().UnixNano()-o.unusual.Load() >= int64(unusualFor)
}

// A leanTry is one try of a request by a lean exchange.
type leanTry struct {
	*attempt
	client      *Client
	origin      *origin
	req         *http.Request // without a body, for net/http's functions and checkHead
	conn        *wire.Conn
	stop        func() bool // ends the watch over the context
	sent, begun bool        // bytes were written, bytes of a response were read

	passes func(Interim) // see Request.Interim

	takesKnown bool   // see Request
	received   []byte // the head of the response, until the next read
	known      *Known // that head; nil: another one
	values     Values // of that
	unknown    string // the shared lines of a head that may become known
}

// tryLean is the part of try that sends the request. With fresh it uses a new connection.
func (c *Client) tryLean(ctx context.Context, o *origin, r Request, header http.Header, fresh bool) (*http.Response, outcome, error) {
	d := destination{origin: o, host: or(r.Host, or(c.host, o.host()))}
	ctx, end := context.WithCancelCause(context.WithValue(ctx, destinationMark{}, d))
	_, query, _ := strings.Cut(r.Target, "?")
	x := &leanTry{client: c, origin: o, req: (&http.Request{Method: r.Method, URL: &url.URL{RawQuery: query},
		Header: header}).WithContext(ctx),
		attempt: &attempt{end: end, head: head{exact: r.StrictLength}}, passes: r.Interim}
	x.atLeast = min(c.patience(r).FirstByte/4, checkTimeout/2)
	resp, err := x.send(ctx, leanRequest(o.prefix()+r.Target, d.host, header), fresh)
	if err == nil {
		return resp, success, nil
	}
	x.drop()
	v, err := x.fail(context.Cause(ctx), err)
	return nil, v, err
}

// fail returns why there is no response, and whether the origin has failed; see attempt.classify.
// cause is why the exchange was ended; nil: it was not.
func (x *leanTry) fail(cause, err error) (outcome, error) {
	switch {
	case errors.Is(cause, ErrTimeout) && x.hadTime():
		return failure, cause
	case errors.Is(cause, ErrResponse):
		return success, cause
	case cause != nil && !errors.Is(cause, errLost):
		return inconclusive, cause
	case !x.sent:
		return failure, fmt.Errorf("%w: %w", errUnsent, err)
	case !x.begun:
		return failure, fmt.Errorf("%w: %w", errLost, err)
	}
	return success, err
}

// send sends the request, and returns the response as soon as its header fields have arrived.
func (x *leanTry) send(ctx context.Context, request []byte, fresh bool) (*http.Response, error) {
	if err := x.connect(ctx, fresh); err != nil {
		return nil, err
	}
	x.watch(ctx)
	h, form, err := x.exchange(request)
	if err != nil {
		return nil, err
	}
	return x.answer(h, form)
}

// answer returns the response after its head.
func (x *leanTry) answer(h wire.Head, form wire.Form) (*http.Response, error) {
	if form == wire.Unusual {
		return x.unusual()
	}
	return x.plain(h)
}

// exchange sends the request, and returns the head of a plain response. The bytes of an unusual one
// remain.
func (x *leanTry) exchange(request []byte) (wire.Head, wire.Form, error) {
	x.attempt.got = time.Now()
	n, err := x.conn.Write(request)
	if x.sent = n > 0; err != nil {
		return wire.Head{}, wire.Incomplete, err
	}
	for {
		n, err := x.conn.Fill()
		x.begun = x.begun || n > 0
		if h, size, form := x.parse(x.conn.Received); n > 0 && form != wire.Incomplete {
			x.received, x.conn.Received = x.conn.Received, x.conn.Received[size:]
			return h, form, nil
		}
		if err != nil {
			return wire.Head{}, wire.Incomplete, err
		}
	}
}

// connect takes an idle connection, or makes a new one.
func (x *leanTry) connect(ctx context.Context, fresh bool) error {
	generation := x.origin.moved.Load()
	if !fresh {
		if x.conn = x.origin.idle.Take(generation); x.conn != nil && x.conn.Unfollow() {
			return nil
		}
	}
	raw, err := x.client.connect(ctx, x.client.dial)
	if err != nil {
		return err
	}
	x.conn = wire.NewConn(&countedConn{Conn: raw, closed: sync.OnceFunc(func() { x.client.stats.open.Add(-1) })}, raw, generation)
	return nil
}

// watch closes the connection when ctx ends, so that nothing waits for it any more.
func (x *leanTry) watch(ctx context.Context) {
	conn := x.conn.Conn
	x.stop = context.AfterFunc(ctx, func() { conn.Close() })
}

// drop closes the connection, if there is one.
func (x *leanTry) drop() {
	if x.conn == nil {
		return
	}
	if x.stop != nil {
		x.stop()
	}
	x.conn.Close()
}

// done ends the use of the connection after a whole response. It may serve again unless there is
// any doubt.
func (x *leanTry) done(again bool) {
	if x.stop() && again && len(x.conn.Received) == 0 {
		x.origin.idle.Put(x.conn, time.Now())
		return
	}
	x.conn.Close()
}

// surplus returns an error if bytes have arrived that follow a body of which so many are missing,
// and that do not look like another response: the length is wrong, and would cut off the body.
func (x *leanTry) surplus(missing int64) error {
	if more := x.conn.Received[min(missing, int64(len(x.conn.Received))):]; len(more) > 0 && x.head.exact && !beginsAnswer(more) {
		return errExcess
	}
	return nil
}

// plain returns a plain response.
func (x *leanTry) plain(h wire.Head) (*http.Response, error) {
	resp := &http.Response{Status: h.Status, StatusCode: h.Code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h.Header, ContentLength: h.Length, Request: x.req, Body: http.NoBody}
	if err := x.surplus(h.Length); err != nil && !h.Bodyless {
		x.end(err)
		return nil, err
	}
	if err := checkStatus(resp, x.req, false); err != nil { // package wire has checked the fields
		x.end(err)
		return nil, err
	}
	// After a 412 nginx closes the connection without announcing that.
	again := !h.Close && h.Code != http.StatusPreconditionFailed
	switch have := int64(len(x.conn.Received)); {
	case h.Length > have:
		resp.Body = &leanBody{try: x, missing: h.Length, again: again}
		return resp, nil
	case h.Length > 0:
		body := bytes.Clone(x.conn.Received[:h.Length]) // the next exchange uses the buffer
		x.conn.Received = x.conn.Received[h.Length:]
		resp.Body = &receivedBody{content: body, left: body}
	}
	x.done(again)
	return resp, nil
}

// A receivedBody is a body of which all has been received.
type receivedBody struct {
	content, left []byte
	closed        atomic.Bool
}

func (b *receivedBody) Read(p []byte) (int, error) {
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case len(b.left) == 0:
		return 0, io.EOF
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

func (b *receivedBody) Close() error {
	b.closed.Store(true)
	return nil
}

// A leanBody is a body that is still being received.
type leanBody struct {
	try     *leanTry
	missing int64 // bytes
	again   bool  // the connection may serve again
	closing sync.Once
	closed  atomic.Bool
	err     error
}

// Read returns the last bytes only when it has seen that no others follow them.
func (b *leanBody) Read(p []byte) (int, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	}
	c := b.try.conn
	if len(c.Received) == 0 && len(p) > 0 {
		if n, err := c.Fill(); n == 0 && err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, b.ends(err)
		}
	}
	if err := b.try.surplus(b.missing); err != nil {
		b.try.end(err)
		return 0, b.ends(err)
	}
	n := copy(p[:min(int64(len(p)), b.missing)], c.Received)
	c.Received = c.Received[n:]
	if b.missing -= int64(n); b.missing > 0 {
		return n, nil
	}
	return n, b.ends(io.EOF)
}

// ends ends the exchange.
func (b *leanBody) ends(err error) error {
	b.err = err
	b.closing.Do(func() { b.try.done(err == io.EOF && b.again) })
	return err
}

// Close closes the connection, unless the body was read to its end.
func (b *leanBody) Close() error {
	b.closed.Store(true)
	b.closing.Do(b.try.drop)
	return nil
}

// unusual reads the response as the Transport does, from the bytes received so far on.
func (x *leanTry) unusual() (*http.Response, error) {
	x.origin.unusual.Store(time.Now().UnixNano())
	conn := newConn(&replayed{x.conn, x.conn.Received}, func() {})
	conn.serving, conn.requestStarted, conn.wrote = x.attempt, true, true
	from := &limitedReader{from: conn, left: maxHead}
	reader, pass := bufio.NewReader(from), interimsTo(x.passes)
	for {
		resp, err := http.ReadResponse(reader, x.req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			if x.passes == nil {
				continue
			}
			if err := pass(resp.StatusCode, resp.Header); err != nil {
				x.end(err)
				return nil, err
			}
			continue
		}
		from.left = math.MaxInt64
		if err := checkHead(resp, x.req, false); err != nil {
			x.end(err)
			return nil, err
		}
		x.head.restore(resp.Header)
		if resp.Body == http.NoBody {
			x.drop()
		} else {
			resp.Body = &lastBody{resp.Body, x}
		}
		return resp, nil
	}
}

// A replayed connection returns the bytes that were received already before any others.
type replayed struct {
	net.Conn
	received []byte
}

func (c *replayed) Read(p []byte) (int, error) {
	if len(c.received) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.received)
	c.received = c.received[n:]
	return n, nil
}

// A limitedReader fails after a number of bytes.
type limitedReader struct {
	from io.Reader
	left int64
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", errLongHead, maxHead)
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// A lastBody is the body of the last response on a connection.
type lastBody struct {
	io.ReadCloser
	try *leanTry
}

// Close closes the connection, whether the body has been read or not.
func (b *lastBody) Close() error {
	b.try.drop()
	return nil
}

func (b *lastBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.try.drop()
	}
	return n, err
}

// leanRequest returns the bytes of a request without a body.
func leanRequest(target, host string, header http.Header) []byte {
	b := make([]byte, 0, 512)
	b = append(append(append(b, "GET "...), target...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, host...), "\r\n"...)
	var space [16]string
	names := space[:0]
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	b = appendField(b, header, "User-Agent") // first, as the Transport does
	for _, name := range names {
		if name != "User-Agent" {
			b = appendField(b, header, name)
		}
	}
	return append(b, "\r\n"...)
}

func appendField(b []byte, header http.Header, name string) []byte {
	for _, value := range header[name] {
		b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
	}
	return b
}
