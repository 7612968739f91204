package upstream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/internal/tier"
)

// An Response is an origin's response. Its body is still being received.
type Response struct {
	Host         string        // of the origin, with its port if the URL has one
	Status       int           // 200 to 999
	Header       http.Header   // without hop-by-hop fields; Content-Length as the origin sent it
	Length       int64         // of Body, as declared; -1: unknown
	UntilClose   bool          // Body ends with the connection, and may be truncated
	Switched     *Switched     // the connection after a 101, which has no Body; nil: no 101
	Body         io.ReadCloser // must be closed; io.EOF means that it is complete
	RequestTime  time.Time     // before the first try
	ResponseTime time.Time     // when the header fields had arrived

	// Known has the fields that the response shares with others, and Values the rest; nil: Header
	// has all.
	Known  *Known
	Values Values

	// Announced are the names of the trailer fields that may follow, as far as the origin announces
	// them.
	Announced []string
	// Trailer returns the trailer fields that may be passed on, after Body has returned io.EOF.
	Trailer func() http.Header
}

// newResponse makes a Response of the fields that may be passed on. net/http has dropped any 1xx
// response but 101 already: a response may be shared by many clients or belong to none, and no
// request of ours expects a 100 (RFC 9110, section 15.2). Trailer fields stay apart
// and are never merged into the header fields (RFC 9110, section 6.5.1); net/http stores them
// separately.
func (c *Client) newResponse(resp *http.Response, requestTime time.Time) *Response {
	if endsWithHead(resp) {
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	a := &Response{Host: destinationOf(resp.Request.Context()).origin.name(), Status: resp.StatusCode,
		Header: resp.Header, Length: resp.ContentLength, Body: resp.Body,
		RequestTime: requestTime, ResponseTime: time.Now()}
	a.Announced = a.announced(resp.Trailer)
	a.Trailer = func() http.Header { return passableTrailer(resp.Trailer) }
	a.UntilClose = resp.ProtoMajor == 1 && resp.Body != http.NoBody && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
	upgrade := resp.Header.Get("Upgrade")
	dropHopByHop(a.Header)
	if a.Status == http.StatusSwitchingProtocols {
		a.switchTo(upgrade, resp.Body)
	}
	a.Header.Del(tier.Field) // an origin may echo the fields of the request
	version := "2"
	if resp.ProtoMajor == 1 {
		version = fmt.Sprintf("1.%d", resp.ProtoMinor)
	}
	add(a.Header, "Via", version+" "+c.name)
	if resp.Body == http.NoBody {
		a.Length = 0 // for a HEAD, ContentLength is that of the response to a GET
	}
	switch a.Status {
	case http.StatusNoContent:
		a.Header.Del("Content-Length") // RFC 9110, section 8.6
	case http.StatusResetContent: // never has a body (RFC 9110, section 15.3.6)
		a.Body.Close()
		a.Body, a.Length, a.UntilClose = http.NoBody, 0, false
		a.Header.Set("Content-Length", "0")
	}
	return a
}

// announced returns the names of trailer fields that may be passed on and that are no header fields
// too.
func (a *Response) announced(trailer http.Header) (names []string) {
	for name := range trailer {
		if mayTrail(name) && a.Header[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// passableTrailer returns the trailer fields that may be passed on.
func passableTrailer(h http.Header) http.Header {
	passed := http.Header{}
	for name, lines := range h {
		if mayTrail(name) && len(lines) > 0 && cleanLines(lines) {
			passed[name] = lines
		}
	}
	return passed
}

// Whole reads the body, of at most max bytes, and closes it. If the body is longer, the error is a
// problem that wraps ErrTooLarge. A caller waits for the end of the body, so it may take only as
// long as one read, and as much again for each MiB; otherwise the error is a problem that wraps
// ErrTimeout.
func (a *Response) Whole(max int64) ([]byte, error) {
	defer a.Body.Close() // before its end this closes the connection
	if b, ok := a.Body.(*receivedBody); ok && int64(len(b.content)) <= max && !b.closed.Load() && len(b.left) == len(b.content) {
		return b.content, nil
	}
	if b, ok := a.Body.(*body); ok {
		b.waitingSince = time.Now()
	}
	if a.Length > max {
		return nil, problemOf(ErrTooLarge)
	}
	var buf bytes.Buffer
	if a.Length > 0 && a.Length <= 1<<20 {
		// For a longer body it grows with the bytes received.
		buf.Grow(int(a.Length) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(a.Body, max+1)); err != nil {
		return nil, problemOf(err)
	}
	if int64(buf.Len()) > max {
		return nil, problemOf(ErrTooLarge)
	}
	return buf.Bytes(), nil
}

// HasArrived reports whether all of the body has been received, so that Whole does not wait.
func (a *Response) HasArrived() bool {
	_, received := a.Body.(*receivedBody)
	return received || a.Body == http.NoBody
}

// A body is the body of an Answer. It ends the exchange at its end, at an error and when it is
// closed.
type body struct {
	from         io.ReadCloser
	origin, path string    // for the log
	waitingSince time.Time // since when a caller waits for the end; zero: none does
	received     int64     // bytes
	client       *Client
	ctx          context.Context // of the exchange
	cancel       context.CancelCauseFunc
	idle         *time.Timer // runs during a Read
	idleFor      time.Duration
	err          error       // of the last Read
	closed       atomic.Bool // Close was called
}

func (c *Client) newBody(from io.ReadCloser, ctx context.Context, cancel context.CancelCauseFunc, idle time.Duration) *body {
	b := &body{from: from, client: c, ctx: ctx, cancel: cancel, idleFor: idle}
	b.idle = time.AfterFunc(idle, func() { cancel(errIdle) })
	b.idle.Stop()
	return b
}

// Read returns io.EOF only if the body is complete according to its framing, which net/http checks.
// A body that ends with the connection is incomplete if the edge closed the connection.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.idle.Reset(b.patience())
	n, err := b.from.Read(p)
	b.idle.Stop()
	if b.received += int64(n); err == nil {
		return n, nil
	}
	cause := context.Cause(b.ctx)
	b.cancel(nil)
	switch {
	case b.closed.Load():
		b.err = http.ErrBodyReadAfterClose
	case cause != nil:
		b.err = b.broken(cause)
	case err != io.EOF:
		b.err = b.broken(err)
	default:
		b.err = io.EOF
	}
	return n, b.err
}

// broken converts the error of a body to a problem, counts it and logs it, unless the caller went
// away.
func (b *body) broken(err error) error {
	p := problemOf(fmt.Errorf("reading the body: %w", err))
	if b.client.count(p, err) {
		b.client.stats.broken.Add(1)
		b.client.log.Warn("response of the origin broken off", "origin", b.origin, "path", b.path, "bytes", b.received, "err", p.Err)
	}
	return p
}

// patience returns how long the next read may take.
func (b *body) patience() time.Duration {
	if b.waitingSince.IsZero() {
		return b.idleFor
	}
	all := b.idleFor * time.Duration(1+b.received>>20)
	return min(b.idleFor, time.Until(b.waitingSince.Add(all)))
}

// Close ends the exchange. Before the end of the body it closes the connection too, because the
// remaining bytes are not wanted.
func (b *body) Close() error {
	b.closed.Store(true)
	err := b.from.Close()
	b.cancel(nil)
	return err
}

// A WholeResponse is a Response whose body has been read.
type WholeResponse struct {
	*Response
	Content []byte // the body
}

// A Switched is the connection to an origin that has switched to another protocol (RFC 9110,
// section 15.2.2). It belongs to one client alone. Bytes that the origin sent together with the 101
// are read first.
type Switched struct {
	io.ReadWriteCloser
	Protocol string // as the origin named it
}

// CloseWrite ends the direction to the origin, and leaves the other one open.
func (s *Switched) CloseWrite() error {
	return s.ReadWriteCloser.(interface{ CloseWrite() error }).CloseWrite()
}

// switches reports whether a 101 switches to a protocol that the request names. Any other 101 is
// malformed: the bytes behind it would be of a protocol that the client does not speak.
func switches(resp *http.Response, req *http.Request) bool {
	return exchange.Switches(strings.Join(req.Header["Upgrade"], ", "), strings.Join(resp.Header["Upgrade"], ", "))
}

// switchTo makes a the response of an origin that has switched to a protocol. Such a response has
// no body, and its framing fields mean nothing (RFC 9110, section 8.6).
func (a *Response) switchTo(protocol string, conn io.ReadCloser) {
	a.Switched = &Switched{conn.(io.ReadWriteCloser), protocol}
	a.Body, a.Length, a.UntilClose = http.NoBody, 0, false
	a.Header.Del("Content-Length")
}
