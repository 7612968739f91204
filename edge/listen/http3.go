package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe" // for newRawServerConn

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/internal/certs"
)

// A quicServer speaks HTTP/3 (RFC 9114).
type quicServer struct {
	server    *Server
	http      *http3.Server // reads requests from the streams that it is given
	transport *quic.Transport
	listener  *quic.Listener
	door      *quicDoor
	busy      *busy

	mu      sync.Mutex // held while a context ends, and while serving grows
	serving sync.WaitGroup
	drains  context.Context // ends when no further requests are accepted
	drain   context.CancelFunc
	ends    context.Context // ends when all connections are closed
	end     context.CancelFunc
}

const (
	// streamWindow and connWindow are how many bytes a client may send before the edge has read
	// them, on a stream and on all streams of a connection: as many as the requests of a page have,
	// and no more than a client sends in its first round trip, unless the fields of one request may
	// have more, of which the edge reads nothing before it has all. While the edge reads a body as
	// fast as it arrives, quic-go lets the windows grow up to the others.
	streamWindow     = 32 << 10
	connWindow       = 48 << 10
	mostStreamWindow = 4 << 20
	mostConnWindow   = 6 << 20
	// mostRejected is how many requests in a row the edge rejects on a connection before it closes
	// the connection. Browsers send rejected requests again over HTTP/2, and all further ones. But
	// they lose those that they begin as the connection ends, or after GOAWAY, so it is more than
	// a page has.
	mostRejected = 1000
)

// newQUIC listens for HTTP/3 on a socket. It does not allow 0-RTT, because an attacker could replay
// a client's requests, which count against that client's limits.
func newQUIC(serve *Server, socket net.PacketConn, config *tls.Config) (*quicServer, error) {
	limits := serve.options.Capacity
	s := &quicServer{
		server: serve,
		door:   newQUICDoor(serve.conns, limits),
		busy:   &busy{Handler: newStreams(serve, exchange.H3)},
	}
	s.http = &http3.Server{Handler: s.busy, MaxHeaderBytes: int(limits.MaxHeader)}
	s.drains, s.drain = context.WithCancel(context.Background())
	s.ends, s.end = context.WithCancel(context.Background())
	s.transport = &quic.Transport{Conn: socket, VerifySourceAddress: s.door.verify, ConnContext: s.door.admit}
	larger := max(0, limits.MaxHeader-exchange.MaxHead)
	var err error
	s.listener, err = s.transport.Listen(http3.ConfigureTLSConfig(config), &quic.Config{
		Allow0RTT:            false,
		HandshakeIdleTimeout: limits.HandshakeTimeout,
		MaxIdleTimeout:       limits.IdleTimeout,
		// Streams and tunnels may pause; expire closes unused connections.
		KeepAlivePeriod:       limits.IdleTimeout / 2,
		MaxIncomingStreams:    h2.MaxStreams,
		MaxIncomingUniStreams: mostUniStreams,
		// Every path carries so many bytes, and quic-go finds out how many more (RFC 9000, section
		// 14.1). Its default of 1280 does not pass a link of IPv6 with an MTU of 1280, which VPNs
		// have, and no handshake would complete.
		InitialPacketSize:              1200,
		InitialStreamReceiveWindow:     uint64(streamWindow + larger),
		InitialConnectionReceiveWindow: uint64(connWindow + larger),
		MaxStreamReceiveWindow:         mostStreamWindow,
		MaxConnectionReceiveWindow:     mostConnWindow,
		AllowConnectionWindowIncrease:  s.widen,
	})
	if err != nil {
		return nil, err
	}
	serve.socks.Offer.follow(s.door.isStrained)
	return s, nil
}

// widen reports whether the receive window of a connection may grow by a number of bytes, and
// charges its client with them until the connection ends. quic-go calls it on one goroutine for
// each connection, which has ended when the connection's context has.
func (s *quicServer) widen(c *quic.Conn, by uint64) bool {
	share, charge := &quicConnOf(c.Context()).share, s.door.charge
	first := share.grown == 0
	if !charge.grow(share, int64(by)) {
		return false
	}
	if first {
		context.AfterFunc(c.Context(), func() { charge.narrow(share) })
	}
	return true
}

// acceptors is the number of goroutines that accept connections. quic-go refuses connections while
// 32 others wait to be accepted. A single goroutine would accept them too late, because in a crowd
// it waits for its turn while many handshakes end. A goroutine for each handshake would make each
// handshake take more memory.
const acceptors = 64

// Serve serves connections until Shutdown or Close is called.
func (s *quicServer) Serve() error {
	ended := make(chan error, acceptors)
	for range acceptors {
		go func() { ended <- s.acceptAll() }()
	}
	for range acceptors {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}

// acceptAll accepts connections until the server drains.
func (s *quicServer) acceptAll() error {
	for {
		switch err := s.accept(); {
		case s.drains.Err() != nil || errors.Is(err, quic.ErrServerClosed):
			return nil
		case err != nil:
			return err
		}
	}
}

// accept accepts a connection and starts to serve it, unless there is no room for it.
func (s *quicServer) accept() error {
	c, err := s.listener.Accept(s.drains)
	if err != nil {
		return err
	}
	if q := quicConnOf(c.Context()); !s.door.enter(q, c) {
		q.refuse()
	} else if !s.run(func() { s.serve(q) }) {
		q.end()
	}
	return nil
}

// run starts a goroutine that Close waits for, unless the server drains.
func (s *quicServer) run(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drains.Err() != nil {
		return false
	}
	s.serving.Go(f)
	return true
}

// newRawServerConn begins HTTP/3 on a connection and returns its control stream too, which GOAWAY
// needs. The exported method returns only the connection, and the exported Server accepts all
// streams itself: before a head has arrived nothing could count or refuse them.
//
//go:linkname newRawServerConn github.com/quic-go/quic-go/http3.(*Server).newRawServerConn
func newRawServerConn(*http3.Server, *quic.Conn) (*http3.RawServerConn, *quic.SendStream, error)

// serve answers the requests of a connection until it ends.
func (s *quicServer) serve(q *quicConn) {
	conn, control, err := newRawServerConn(s.http, q.Conn)
	if err != nil { // the connection has ended
		return
	}
	hits := s.hitsOf(q)
	q.hits = hits
	var running sync.WaitGroup
	defer running.Wait()
	unis := &uniStreams{conn: q.Conn, handle: hits.Unidirectional}
	unis.begin()
	var next quic.StreamID
	for rejected := 0; ; {
		stream, err := q.AcceptStream(s.drains)
		if err != nil {
			break
		}
		next = stream.StreamID() + 4
		later, done := hits.Answer(stream)
		if done {
			continue
		}
		share := &bodies.Share{Client: q.client}
		if !s.door.charge.stream(share) {
			s.door.conns.rejected.Add(1)
			s.door.reviewStreams(q.client)
			if rejected++; rejected == mostRejected {
				q.refuse()
			}
			reject(stream)
			continue
		}
		rejected = 0
		running.Go(func() {
			defer s.door.releaseStream(share)
			if later != nil && later() || !hits.Begin(stream) {
				return
			}
			defer hits.Hold(stream)()
			conn.HandleRequestStream(stream)
			hits.Ended(context.Cause(stream.Context()))
		})
	}
	// May wait for the client; fails if the connection has ended.
	running.Go(func() { control.Write(goAway(next)) })
	for {
		stream, err := q.AcceptStream(s.ends)
		if err != nil {
			q.end()
			return
		}
		reject(stream)
	}
}

// goAway returns a frame that refuses requests from a stream on (RFC 9114, section 7.2.6).
func goAway(from quic.StreamID) []byte {
	id := quicvarint.Append(nil, uint64(from))
	return append([]byte{0x07, byte(len(id))}, id...)
}

// reject tells the client that its request was not processed, so it may send it again (RFC 9114,
// section 4.1.1).
func reject(stream *quic.Stream) {
	stream.CancelRead(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
	stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
}

// Shutdown announces to clients that no further requests are accepted (GOAWAY, RFC 9114, section
// 5.2), and waits for the requests in flight. It does not wait until clients close their
// connections.
func (s *quicServer) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.drain()
	s.mu.Unlock()
	waits, done := context.WithCancel(ctx)
	go func() { s.serving.Wait(); done() }()
	s.busy.quiet(waits)
	return errors.Join(ctx.Err(), s.Close())
}

// Close closes all connections at once.
func (s *quicServer) Close() error {
	s.mu.Lock()
	s.drain()
	s.mu.Unlock()
	s.end()
	err := s.listener.Close() // ends accept
	s.serving.Wait()
	return errors.Join(err, s.transport.Close())
}

// streams answers the requests of servers with net/http's interfaces, by the same steps as all
// others.
type streams struct {
	server   *Server
	protocol exchange.Protocol
	maxBody  int
	room     *bodies.Budget
	receive  time.Duration // for each MiB of a request
	send     time.Duration // for each MiB of a response
}

func newStreams(serve *Server, p exchange.Protocol) streams {
	return streams{server: serve, protocol: p, maxBody: serve.options.MaxBody, room: serve.conns.limits.Bodies,
		receive: serve.options.Capacity.RequestTimeout, send: serve.options.Capacity.AnswerTimeout}
}

func (s streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := quicConnOf(r.Context())
	conn.readBody(r)
	q := requestOf(r)
	owner := s.server.conns.owner(q.Client)
	share, held := bodies.Share{Client: owner, Whole: r.ContentLength == 0}, bodies.Share{Client: owner}
	defer s.room.Release(&share)
	defer s.room.Release(&held)
	if s.room.ReserveShare(&share, h2.HandlerCosts+int64(q.Size())) != nil {
		rejectRequest(w)
		return
	}
	if q.Protocol != "" {
		r.Body = http.NoBody // its DATA are the tunnel's
	} else if upload := s.uploadOf(w, r); upload != nil {
		if s.room.Reserve(&held, uploadCosts) != nil {
			q.Refuse = http.StatusServiceUnavailable
		}
		upload.arrived = func() { s.room.Arrived(&held) }
		s.answer(w, r, q, upload, &share)
		return
	}
	most := s.maxBody
	if n := r.ContentLength; n >= 0 { // the declared length is enough; read tries one byte more
		most = int(min(int64(most), n))
	}
	conn.count(0, 1)
	body, err := newMinRate(w, s.receive).read(r.Body, most+1, func(length int64) error { return s.room.Body(&held, length) })
	conn.count(0, -1)
	q.Trailer = appendFields(nil, r.Trailer)
	switch q.Body = body; {
	case errors.Is(err, os.ErrDeadlineExceeded):
		q.Refuse = http.StatusRequestTimeout
	case errors.Is(err, bodies.ErrOverloaded):
		q.Refuse = http.StatusServiceUnavailable
	case err != nil:
		panic(http.ErrAbortHandler)
	case len(body) > s.maxBody:
		q.Refuse = http.StatusRequestEntityTooLarge
	}
	s.answer(w, r, q, nil, &share)
}

// rejectRequest tells the client that its request was not processed, so it may send it again (RFC
// 9114, section 4.1.1).
func rejectRequest(w http.ResponseWriter) {
	streamer, ok := w.(http3.HTTPStreamer)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	stream, err := streamer.HTTPStream()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	stream.CancelRead(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
	stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
}

// An unreadCounter counts a request among those whose clients do not take the response, while a
// write waits.
type unreadCounter struct {
	io.Writer
	room  *bodies.Budget
	share *bodies.Share
}

func (u unreadCounter) Write(p []byte) (int, error) {
	if err := u.room.Unread(u.share); err != nil {
		return 0, err
	}
	defer u.room.Answered(u.share)
	return u.Writer.Write(p)
}

// answer answers a request, which holds share. upload is its body if that still arrives; nil: q has
// the body.
func (s streams) answer(w http.ResponseWriter, r *http.Request, q *h2.Request, upload *upload, share *bodies.Share) {
	ctx := NewContext(q)
	x := NewExchange(ctx, q, s.protocol)
	x.Conn = exchange.Stream{Ended: r.Context().Done()}
	x.Interims.Send = func(i exchange.Interim) { sendInterim(w, i) }
	if upload != nil {
		x.Interims.Send = func(i exchange.Interim) { upload.interim(w, i) }
		x.Upload = &exchange.Upload{Reader: upload, Length: upload.length, Expects: upload.expects,
			Whole: upload.whole.Load, Relax: upload.relax}
		x.Body = func() []byte { return beginning(upload) }
		x.Trailer = func() []byte { return linesOf(appendFields(nil, r.Trailer)) }
		defer upload.finish()
	}
	s.server.ServeStream(ctx, x, q.Refuse)
	defer ctx.Response.CloseBodyStream()
	s.room.Answered(share)
	if run := x.Response.Tunnel; run != nil {
		tunnelH3(w, &x.Response, run)
		return
	}
	a := replyOf(ctx, &x.Response)
	if upload != nil {
		upload.answer()
	}
	w.Header()["Content-Type"] = nil // otherwise the server would guess one
	for name, value := range a.fields {
		w.Header().Add(string(name), string(value))
	}
	trailer, abandon := x.Response.Trailer, x.Response.Abandon
	x.Response.Release()
	w.WriteHeader(a.status)
	if a.bodyless {
		return
	}
	flush := http.NewResponseController(w).Flush
	if a.flush && flush() != nil { // the body may begin much later
		panic(http.ErrAbortHandler)
	}
	// Otherwise the origin may be the slow side.
	if conn := quicConnOf(r.Context()); a.stream == nil {
		conn.count(0, 1)
		defer conn.count(0, -1)
	}
	if abandon != nil {
		defer context.AfterFunc(r.Context(), abandon)()
	}
	if a.copy(unreadCounter{newMinRate(w, s.send), s.room, share}, flush) != nil {
		panic(http.ErrAbortHandler) // so that the client sees that the response is incomplete
	}
	if trailer != nil {
		for name, value := range exchange.FieldsIn(trailer()) {
			w.Header().Add(http.TrailerPrefix+string(name), string(value))
		}
	}
}

// sendInterim sends an interim response. Its fields are none of the response's.
func sendInterim(w http.ResponseWriter, i exchange.Interim) {
	for name, value := range exchange.FieldsIn(i.Lines) {
		w.Header().Add(string(name), string(value))
	}
	w.WriteHeader(i.Status)
	clear(w.Header())
}

// tunnelH3 opens a tunnel on a stream of HTTP/3 (RFC 9220).
func tunnelH3(w http.ResponseWriter, out *exchange.Response, run func(exchange.TunnelEnd)) {
	w.Header()["Content-Type"] = nil
	for name, value := range exchange.FieldsIn(out.Lines) {
		w.Header().Add(string(name), string(value))
	}
	out.Release()
	w.WriteHeader(http.StatusOK)
	streamer, ok := w.(http3.HTTPStreamer)
	if !ok {
		run(nil)
		return
	}
	stream, err := streamer.HTTPStream()
	if err != nil {
		run(nil)
		return
	}
	run(&quicTunnel{Stream: stream})
}

// A quicTunnel is the end of a tunnel at a client of HTTP/3.
type quicTunnel struct {
	*http3.Stream
	ended atomic.Bool // the direction to the client
}

// CloseWrite ends the direction to the client.
func (t *quicTunnel) CloseWrite() error {
	t.ended.Store(true)
	return t.Stream.Close()
}

// Close ends both directions. A direction that has not ended is reset.
func (t *quicTunnel) Close() error {
	t.CancelRead(quic.StreamErrorCode(http3.ErrCodeConnectError))
	if !t.ended.Load() { // a reset would take back bytes that are on their way
		t.CancelWrite(quic.StreamErrorCode(http3.ErrCodeConnectError))
	}
	return nil
}

// uploadCosts is the number of bytes that the body of a request takes while it is forwarded.
const uploadCosts = 64 << 10

// An upload is the body of a request while it arrives. Only one goroutine at a time reads it.
type upload struct {
	length  int64 // as announced; -1: unknown
	expects bool  // the client waits for a 100

	from    io.Reader
	rate    *minRate
	conn    *quicConn // nil: not over QUIC
	ask     func()    // sends a 100; nil: the server does so itself
	whole   atomic.Bool
	arrived func()        // makes room for other bodies when this one has been read
	mu      sync.Mutex    // held while a 100 is written
	begun   bool          // the response has begun
	pause   time.Duration // that the client may make; 0: it has a time for the whole body
	closed  bool          // the handler has returned, so the body must not be read
}

// uploadOf returns the body of a request if the handler reads it while it arrives, else nil. A
// request of unknown length that usually has no body has none if its stream ends at once.
func (s streams) uploadOf(w http.ResponseWriter, r *http.Request) *upload {
	u := &upload{length: r.ContentLength, expects: strings.EqualFold(r.Header.Get("Expect"), "100-continue"),
		from: r.Body, rate: newMinRate(w, s.receive), conn: quicConnOf(r.Context()), arrived: func() {}}
	switch {
	case !s.server.options.Uploads || u.length == 0:
		return nil
	case u.length > 0 && u.length <= int64(s.maxBody) && !u.expects:
		return nil
	case u.length < 0 && !u.expects && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		first := make([]byte, 1)
		if _, err := io.ReadFull(u, first); err != nil {
			r.Body = io.NopCloser(failed{err})
			return nil
		}
		u.from = io.MultiReader(bytes.NewReader(first), r.Body)
	}
	if u.expects && s.protocol == exchange.H3 {
		u.ask = func() { w.WriteHeader(http.StatusContinue) }
	}
	return u
}

// A failed reader has failed.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// Read sends the 100 that the client waits for, and reads a part of the body. Only the time in
// which the edge waits for the client counts, and only until the response has begun.
func (u *upload) Read(p []byte) (int, error) {
	now := time.Now()
	if err := u.begin(now); err != nil {
		return 0, err
	}
	u.conn.count(0, 1)
	n, err := u.from.Read(p)
	u.conn.count(0, -1)
	u.rate.moved, u.rate.waited = u.rate.moved+int64(n), u.rate.waited+time.Since(now)
	if err == io.EOF {
		u.arrived()
		u.whole.Store(true)
	}
	return n, err
}

// begin prepares a Read.
func (u *upload) begin(now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return http.ErrBodyReadAfterClose
	}
	if u.begun {
		return nil
	}
	if u.ask != nil {
		u.ask()
		u.ask = nil
	}
	if u.pause > 0 {
		return u.rate.control.SetReadDeadline(now.Add(u.pause))
	}
	return u.rate.control.SetReadDeadline(u.rate.due(now))
}

// interim sends an interim response, which must not mix with a 100.
func (u *upload) interim(w http.ResponseWriter, i exchange.Interim) {
	u.mu.Lock()
	defer u.mu.Unlock()
	sendInterim(w, i)
}

// answer records that the response begins: the client may then take any time.
func (u *upload) answer() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begun = true
	u.rate.control.SetReadDeadline(time.Time{}) // if it fails, so does the next Read
}

// relax lets the client pause for a time between two parts.
func (u *upload) relax(pause time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pause = pause
}

// finish records that the handler returns.
func (u *upload) finish() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}

// requestOf returns a request of net/http in the form that a stream of HTTP/2 has.
func requestOf(r *http.Request) *h2.Request {
	q := &h2.Request{Method: r.Method, Secure: r.TLS != nil, Tier: certs.Shown(r.TLS), Authority: r.Host,
		Path: r.RequestURI, Client: netip.IPv4Unspecified()}
	if r.Method == http.MethodConnect && r.ProtoMajor == 3 && !strings.HasPrefix(r.Proto, "HTTP/") {
		q.Protocol = r.Proto // RFC 9220
	}
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		q.Client = peer.Addr().Unmap()
	}
	q.Fields = appendFields(nil, r.Header)
	for name := range r.Trailer { // its names have been taken from the header fields
		q.Fields = append(q.Fields, h2.Field{Name: []byte("trailer"), Value: []byte(name)})
	}
	return q
}

// appendFields appends fields of net/http in the form that a stream of HTTP/2 has.
func appendFields(list []h2.Field, h http.Header) []h2.Field {
	for name, values := range h {
		for _, v := range values {
			list = append(list, h2.Field{Name: []byte(strings.ToLower(name)), Value: []byte(v)})
		}
	}
	return list
}
