package upstream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/tier"
)

// An Answer is what an origin said, but for its body, which still comes.
type Answer struct {
	Host         string        // of the origin that said it, with its port if that is named
	Status       int           // 200 to 599
	Header       http.Header   // without hop-by-hop fields; Content-Length as the origin sent it, which for a HEAD is the only sign of it
	Length       int64         // of Body, as declared; -1: unknown
	Endless      bool          // Body ends where the connection does: one that was cut may look whole (RFC 9112, section 8)
	Body         io.ReadCloser // to be closed; errors are as Do's, and io.EOF means that the answer is whole
	RequestTime  time.Time     // when it was asked for: before the first try
	ResponseTime time.Time     // when its header fields had come
}

// newAnswer passes on what may be. Any 1xx is gone by then, as net/http drops them: one answer may be for many who wait for it, or
// for nobody yet, and no request of ours expects a 100 or a change of protocol (RFC 9110, section 15.2). Trailer fields are dropped, never merged into the header fields (RFC 9110, section 6.5.1):
// net/http keeps them apart, and that is where they stay.
func (c *Client) newAnswer(resp *http.Response, asked time.Time) *Answer {
	a := &Answer{Host: resp.Request.URL.Host, Status: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength, Body: resp.Body, RequestTime: asked, ResponseTime: time.Now()}
	a.Endless = resp.Body != http.NoBody && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
	dropHopByHop(a.Header)
	a.Header.Del(tier.Field) // should an origin repeat what it was asked with
	add(a.Header, "Via", fmt.Sprintf("1.%d %s", resp.ProtoMinor, c.name))
	if resp.Body == http.NoBody {
		a.Length = 0 // for a HEAD net/http says how long a GET's would be
	}
	switch a.Status {
	case http.StatusNoContent:
		a.Header.Del("Content-Length") // RFC 9110, section 8.6
	case http.StatusResetContent: // it has no body, whatever comes (RFC 9110, section 15.3.6)
		a.Body.Close()
		a.Body, a.Length, a.Endless = http.NoBody, 0, false
		a.Header.Set("Content-Length", "0")
	}
	return a
}

// Whole reads the body, of max bytes or fewer, and closes it. One that is longer is a problem that wraps ErrTooLarge, and one that takes longer
// than a read may, and as much again for each MiB, one that wraps ErrTimeout: somebody waits for the end of it.
func (a *Answer) Whole(max int64) ([]byte, error) {
	defer a.Body.Close() // before its end: the connection is not used again
	if b, ok := a.Body.(*body); ok {
		b.waited = time.Now()
	}
	if a.Length > max {
		return nil, problemOf(ErrTooLarge)
	}
	var buf bytes.Buffer
	if a.Length > 0 && a.Length <= 1<<20 {
		buf.Grow(int(a.Length) + bytes.MinRead) // what is longer grows as it comes: a number is no body
	}
	if _, err := buf.ReadFrom(io.LimitReader(a.Body, max+1)); err != nil {
		return nil, problemOf(err)
	}
	if int64(buf.Len()) > max {
		return nil, problemOf(ErrTooLarge)
	}
	return buf.Bytes(), nil
}

// A body is an answer's while it comes. It ends the exchange at its end, at an error and when it is closed.
type body struct {
	from    io.ReadCloser
	waited  time.Time // since when its end has been waited for; zero: it has not
	came    int64     // bytes
	client  *Client
	ctx     context.Context // the exchange's
	cancel  context.CancelCauseFunc
	idle    *time.Timer // runs during a Read
	err     error       // of the last Read
	dropped atomic.Bool
}

func (c *Client) newBody(from io.ReadCloser, ctx context.Context, cancel context.CancelCauseFunc) *body {
	b := &body{from: from, client: c, ctx: ctx, cancel: cancel}
	b.idle = time.AfterFunc(c.idle, func() { cancel(errIdle) })
	b.idle.Stop()
	return b
}

// Read does not return io.EOF unless the body has come as its framing says: that net/http sees to. One that the end of the
// connection ends was cut off if we ended that.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.idle.Reset(b.patience())
	n, err := b.from.Read(p)
	b.idle.Stop()
	if b.came += int64(n); err == nil {
		return n, nil
	}
	cause := context.Cause(b.ctx)
	b.cancel(nil)
	switch {
	case b.dropped.Load():
		b.err = http.ErrBodyReadAfterClose
	case cause != nil:
		b.err = b.client.failed(fmt.Errorf("reading the body: %w", cause))
	case err != io.EOF:
		b.err = b.client.failed(fmt.Errorf("reading the body: %w", err))
	default:
		b.err = io.EOF
	}
	return n, b.err
}

// patience is how long the next read may take.
func (b *body) patience() time.Duration {
	if b.waited.IsZero() {
		return b.client.idle
	}
	all := b.client.idle * time.Duration(1+b.came>>20)
	return min(b.client.idle, time.Until(b.waited.Add(all)))
}

// Close ends the exchange. Before the end of the body it closes the connection too: what would still come is nobody's.
func (b *body) Close() error {
	b.dropped.Store(true)
	err := b.from.Close()
	b.cancel(nil)
	return err
}
