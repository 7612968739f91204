package upstream

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/wire"
	"github.com/iconedge/iconedge/internal/tier"
)

// A quick exchange is a lean one on an idle connection, whose response is plain and arrives with
// its body. It needs no context and no timer of its own, because the connection keeps those of the
// exchange before (wire.Conn). Whatever else happens, Do continues from there.

// A firstTry is the first try of a request, by a quick exchange.
type firstTry struct {
	origin *origin
	resp   *http.Response // with its whole body; nil: err, or rest
	err    error
	rest   *leanRest
	try    *leanTry
}

// A leanRest is a response that is unusual, or whose body has not arrived yet.
type leanRest struct {
	try  *leanTry
	head wire.Head
	form wire.Form
}

// quick makes the first try. It returns nil if it has sent nothing.
func (c *Client) quick(ctx context.Context, r Request, began time.Time) *firstTry {
	if r.Patience != nil || r.check || r.Upload != nil || c.ours == "" && c.leans != always {
		return nil
	}
	o, probe := c.chooseOrigin(r.key(), anyOrigin, began)
	if o == nil {
		return nil
	}
	var conn *wire.Conn
	if !probe && c.isLean(o, r) {
		conn = o.takeQuick(ctx)
	}
	if conn == nil {
		o.record(probe, inconclusive, nil, began)
		return nil
	}
	x := &leanTry{client: c, origin: o, conn: conn, takesKnown: r.TakesKnown, passes: r.Interim,
		attempt: &attempt{head: head{exact: r.StrictLength}}}
	x.atLeast = min(c.firstByte/4, checkTimeout/2)
	due, late := began.Add(c.firstByte), errNoHead
	if half := (&route{safe: true}).headTimeout(c, o, c.firstByte); half > 0 {
		due, late = began.Add(half), errLate
	}
	host := or(r.Host, or(c.host, o.host()))
	request, header := c.quickRequest(conn.Out[:0], o, r, host)
	conn.Out = request
	conn.Begin(due)
	h, form, err := x.exchange(request)
	inTime := conn.End()
	t := &firstTry{origin: o, try: x}
	describe := func() {
		_, query, _ := strings.Cut(r.Target, "?")
		to := context.WithValue(ctx, destinationMark{}, destination{origin: o, host: host})
		x.req = (&http.Request{Method: r.Method, URL: &url.URL{RawQuery: query}, Header: header}).WithContext(to)
	}
	if x.known == nil { // otherwise it is a 200
		describe()
	}
	if err == nil && inTime && (form != wire.Plain || h.Length > int64(len(conn.Received))) {
		if x.known != nil {
			h, _, form = wire.Parse(x.received)
			x.known = nil
			describe()
		}
		t.rest = &leanRest{x, h, form} // with its slot
		return t
	}
	var cause error
	switch {
	case !inTime:
		cause, err = late, late
	case err != nil:
		cause = context.Cause(ctx)
	default:
		x.stop = func() bool { return true }
		x.end = func(because error) { cause = because }
		t.resp, err = x.plain(h)
	}
	o.leaveQuick()
	v := success
	if err != nil {
		x.drop()
		v, t.err = x.fail(cause, err)
	}
	o.record(false, v, t.err, time.Now())
	return t
}

// quickResponse returns the response of a quick exchange.
func (c *Client) quickResponse(t *firstTry, requestTime time.Time) *Response {
	if k := t.try.known; k != nil {
		return &Response{Host: t.origin.name(), Status: t.resp.StatusCode, Header: k.Header,
			Length: t.resp.ContentLength, Body: t.resp.Body,
			RequestTime: requestTime, ResponseTime: time.Now(), Known: k, Values: t.try.values, Trailer: noTrailer}
	}
	a := c.newResponse(t.resp, requestTime)
	if t.try.unknown != "" {
		c.known.Add(t.try.unknown, a.Header)
	}
	return a
}

func noTrailer() http.Header { return http.Header{} }

// takeQuick takes an idle connection and a slot; nil: one of them is not there.
func (o *origin) takeQuick(ctx context.Context) *wire.Conn {
	select {
	case o.slots.short <- struct{}{}:
	default:
		return nil
	}
	o.active.Add(1)
	conn := o.idle.Take(o.moved.Load())
	if conn != nil && !conn.Follow(ctx) {
		conn.Close()
		conn = nil
	}
	if conn == nil {
		o.leaveQuick()
	}
	return conn
}

// leaveQuick gives the slot of takeQuick back.
func (o *origin) leaveQuick() {
	<-o.slots.short
	o.active.Add(-1)
}

// resume continues the first try. The response then ends with ctx.
func (c *Client) resume(ctx context.Context, r Request, t *firstTry) (*http.Response, error) {
	if t.rest == nil {
		return t.resp, t.err
	}
	x, o := t.rest.try, t.origin
	slot := &lease{slots: o.slots, held: o.slots.short, ended: func() { o.active.Add(-1) }}
	ctx, x.end = context.WithCancelCause(context.WithValue(ctx, destinationMark{}, destinationOf(x.req.Context())))
	x.req = x.req.WithContext(ctx)
	if half := (&route{safe: true}).headTimeout(c, o, c.firstByte); half > 0 {
		late := time.AfterFunc(half-time.Since(x.got), func() { x.end(errLate) })
		defer late.Stop()
	}
	var resp *http.Response
	err := net.ErrClosed
	if x.conn.Unfollow() {
		x.watch(ctx)
		resp, err = x.answer(t.rest.head, t.rest.form)
	}
	v := success
	if err != nil {
		x.drop()
		slot.release()
		v, err = x.fail(context.Cause(ctx), err)
	} else {
		slot.until(resp)
	}
	o.record(false, v, err, time.Now())
	return resp, err
}

// quickFields are the field lines of requests on the edge's own routes, from Host on.
type quickFields struct{ host, accept, secret, lines string }

// quickRequest appends a request to b, and returns its fields too.
func (c *Client) quickRequest(b []byte, o *origin, r Request, host string) ([]byte, http.Header) {
	accept := r.Header["Accept-Encoding"]
	if len(r.Header) != 1 || len(accept) != 1 || r.Forwarded.Peer.IsValid() {
		header := c.requestHeader(r)
		return append(b, leanRequest(o.prefix()+r.Target, host, header)...), header
	}
	secret := ""
	if r.SendTierSecret {
		secret = c.secret()
	}
	known := c.quickFields.Load()
	if known == nil || known.host != host || known.accept != accept[0] || known.secret != secret {
		header := c.requestHeader(r)
		_, lines, _ := strings.Cut(string(leanRequest("/", host, header)), "/")
		known = &quickFields{host, accept[0], secret, lines}
		c.quickFields.Store(known)
	}
	b = append(append(append(b, "GET "...), o.prefix()...), r.Target...)
	return append(b, known.lines...), r.Header
}

// A Known is the fields that a response shares with others of its origin, and Values the rest.
type (
	Known  = wire.Known
	Values = wire.Values
)

// Fill makes Header that of the whole response, if it is the one of Known.
func (a *Response) Fill() {
	if a.Known != nil {
		a.Header, a.Known = a.Known.Whole(a.Values), nil
	}
}

// parse parses the head of a response. If the caller takes known heads, it looks for it among them
// first.
func (x *leanTry) parse(p []byte) (wire.Head, int, wire.Form) {
	if !x.takesKnown {
		return wire.Parse(p)
	}
	var room [2 << 10]byte
	lines, values, n, ok := wire.Split(room[:0], p)
	if ok {
		if k := x.client.known.Of(lines); k != nil {
			x.known, x.values = k, values
			return wire.Head{Status: "200 OK", Code: http.StatusOK, Length: values.Length}, n, wire.Plain
		}
	}
	h, n, form := wire.Parse(p)
	if ok && form == wire.Plain && !h.Close && len(h.Header[x.client.ours]) > 0 {
		if len(h.Header["Age"]) == 0 && len(h.Header[tier.FieldWanted]) == 0 {
			x.unknown = string(lines)
		}
	}
	return h, n, form
}
