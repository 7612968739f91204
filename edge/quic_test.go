package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// silent opens a QUIC connection that sends no requests and ignores what the edge sends.
func (s *securedTest) silent(t testing.TB) *quic.Conn {
	t.Helper()
	c, err := s.dialQUIC(t, "127.0.0.1")
	must(t, err)
	return c
}

// dialQUIC opens a QUIC connection from a loopback address and keeps it alive.
func (s *securedTest) dialQUIC(t testing.TB, from string) (*quic.Conn, error) {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { socket.Close() })
	to, err := net.ResolveUDPAddr("udp", s.tls)
	if err != nil {
		return nil, err
	}
	c, err := quic.Dial(t.Context(), socket, to, http3.ConfigureTLSConfig(trusting.Clone()),
		&quic.Config{KeepAlivePeriod: time.Second, HandshakeIdleTimeout: longEnough / 4, MaxIdleTimeout: longEnough})
	if err == nil {
		t.Cleanup(func() { c.CloseWithError(0, "") })
	}
	return c, err
}

// refusedQUIC reports whether the edge refuses a connection. The client may learn of it only after
// the handshake.
func (s *securedTest) refusedQUIC(t testing.TB, from string) bool {
	t.Helper()
	before := s.listeners.Stats().Refused["client"] + s.listeners.Stats().Refused["total"]
	c, err := s.dialQUIC(t, from)
	if err != nil {
		return true
	}
	refused := func() bool {
		return s.listeners.Stats().Refused["client"]+s.listeners.Stats().Refused["total"] > before
	}
	tr := &http3.Transport{}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://edge.test/healthz", nil)
	must(t, err)
	resp, err := tr.NewClientConn(c).RoundTrip(req)
	if err != nil {
		// If the edge has accepted the connection and only its request failed, it must not keep
		// the place from the next one.
		c.CloseWithError(0, "")
		t.Logf("a request on a new connection: %v", err)
		settled(t, "the refusal is counted", refused)
		return true
	}
	resp.Body.Close()
	return false
}

// One client may have only a limited number of QUIC connections, half of all by default. Other
// clients have their own limits. A closed connection makes room, also within the limit of all.
func TestConnectionsOfQUIC(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"client":         func(c *Config) { c.MaxConnectionsPerClient = 3 },
		"half of all":    func(c *Config) { c.MaxConnections = 6 },
		"total":          func(c *Config) { c.MaxConnections, c.MaxConnectionsPerClient = 3, 3 },
		"trusted, total": func(c *Config) { c.MaxConnections, c.MaxConnectionsPerClient = 3, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecured(t, owntest.NewOrigin(), change)
			s.freeze()
			from := "127.0.0.2"
			if name == "trusted, total" {
				from = "127.0.0.1"
			}
			var mine []*quic.Conn
			for i := range 3 {
				c, err := s.dialQUIC(t, from)
				must(t, err)
				mine = append(mine, c)
				settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == int64(i+1) })
			}
			if !s.refusedQUIC(t, from) {
				t.Error("a fourth connection is not refused")
			}
			if total := strings.Contains(name, "total"); total != s.refusedQUIC(t, "127.0.0.3") {
				t.Errorf("another client is refused: %v, want %v", !total, total)
			}
			n := s.listeners.Stats()
			want := map[string]int64{"total": n.Refused["total"], "client": n.Refused["client"]}
			if !maps.Equal(n.RefusedQUIC, want) || want["total"]+want["client"] == 0 {
				t.Errorf("refused over QUIC: %v, want %v", n.RefusedQUIC, want)
			}
			mine[0].CloseWithError(0, "")
			settled(t, "a new connection is accepted again", func() bool { return !s.refusedQUIC(t, from) })
		})
	}
}

// When no more QUIC connections are allowed, the client that has most of them loses one that is
// idle.
func TestRoomOverQUIC(t *testing.T) {
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.MaxConnections, c.MaxConnectionsPerClient = 4, 3 })
	one, err := s.dialQUIC(t, "127.0.0.3") // idle longest
	must(t, err)
	settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == 1 })
	for i := range 3 {
		_, err := s.dialQUIC(t, "127.0.0.2")
		must(t, err)
		settled(t, "they are open", func() bool { return s.listeners.Stats().OverQUIC == int64(i+2) })
	}
	s.later(time.Second)
	if s.refusedQUIC(t, "127.0.0.4") {
		t.Error("idle connections keep another client out")
	}
	if one.Context().Err() != nil || s.listeners.Stats().Reclaimed != 1 {
		t.Errorf("not the client that holds most lost one: %v, %d", one.Context().Err(), s.listeners.Stats().Reclaimed)
	}
}

// Beyond the limit of all connections the edge closes those that rest, with H3_EXCESSIVE_LOAD:
// first those of the client that then has most, the oldest of them first, and none that is in use.
func TestOrderOfRoomOverQUIC(t *testing.T) {
	const most = 7
	asked, end := make(chan struct{}), make(chan struct{})
	s := newSecured(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-end }), func(c *Config) {
		c.ProxyAll, c.MaxConnections, c.MaxConnectionsPerClient, c.IdleTimeout, c.RequestTimeout = true, most, most, time.Hour, time.Hour
	})
	var open int64
	dial := func(from string) *quic.Conn {
		t.Helper()
		c, err := s.dialQUIC(t, from)
		must(t, err)
		open = min(open+1, most)
		settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == open })
		return c
	}
	const many, few, one = "127.0.0.2", "127.0.0.3", "127.0.0.4"
	conns := map[string]*quic.Conn{}
	for _, name := range []string{"few 1", "many 1, in use", "many 2", "one 1", "few 2", "many 3", "many 4"} {
		conns[name] = dial(map[byte]string{'m': many, 'f': few, 'o': one}[name[0]])
	}
	var client sync.WaitGroup
	defer client.Wait()
	defer close(end)
	client.Go(func() { // the origin does not respond
		req, err := http.NewRequestWithContext(t.Context(), "GET", "https://edge.test/slow", nil)
		if err == nil {
			_, err = (&http3.Transport{}).NewClientConn(conns["many 1, in use"]).RoundTrip(req)
		}
		if err != nil {
			t.Error(err)
		}
	})
	<-asked
	s.later(time.Second)
	for i, want := range []string{"many 2", "many 3", "few 1", "many 4"} {
		dial("127.0.1." + strconv.Itoa(i+1))
		settled(t, "one was closed", func() bool { return conns[want].Context().Err() != nil })
		var code *quic.ApplicationError
		if err := context.Cause(conns[want].Context()); !errors.As(err, &code) || !code.Remote ||
			code.ErrorCode != quic.ApplicationErrorCode(http3.ErrCodeExcessiveLoad) {
			t.Errorf("%s: closed with %v", want, err)
		}
		delete(conns, want)
		for name, c := range conns {
			if c.Context().Err() != nil {
				t.Fatalf("%s was closed too: %v", name, context.Cause(c.Context()))
			}
		}
	}
}

// While no connection rests long enough to make room, the edge refuses further ones before their
// handshake. A browser that gets its connection closed after it would lose requests.
func TestRefusedBeforeHandshakes(t *testing.T) {
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.MaxConnections, c.MaxConnectionsPerClient = 2, 2 })
	s.freeze()
	began := *s.clock.stopped.Load()
	move := func(d time.Duration) { now := began.Add(d); s.clock.stopped.Store(&now) }
	for i := range 2 {
		_, err := s.dialQUIC(t, "127.0.0."+strconv.Itoa(i+2))
		must(t, err)
		settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == int64(i+1) })
	}
	move(time.Second - 1)
	for range 2 {
		var code *quic.TransportError
		if _, err := s.dialQUIC(t, "127.0.0.4"); !errors.As(err, &code) || code.ErrorCode != quic.ConnectionRefused {
			t.Errorf("%v, want CONNECTION_REFUSED", err)
		}
	}
	// a ClientHello has several packets
	if n := s.listeners.Stats(); n.RefusedQUIC["total"] < 2 || n.Reclaimed != 0 {
		t.Errorf("refused: %v, closed to make room: %d", n.RefusedQUIC, n.Reclaimed)
	}
	move(2 * time.Second)
	_, err := s.dialQUIC(t, "127.0.0.4")
	must(t, err)
	settled(t, "one made room", func() bool { return s.listeners.Stats().Reclaimed == 1 })
}

// A QUIC connection without requests is closed after the idle timeout, even if PINGs keep it alive
// or other bytes arrive.
func TestIdleOverQUIC(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*quic.Conn) error{
		"PING": func(*quic.Conn) error { return nil },
		"half a head": func(c *quic.Conn) error {
			stream, err := c.OpenStream()
			if err == nil {
				_, err = stream.Write([]byte{0x01, 0x40})
			}
			return err
		},
		"a stream without a request": func(c *quic.Conn) error {
			stream, err := c.OpenUniStream()
			if err == nil {
				_, err = stream.Write([]byte{0x21, 0x21})
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.IdleTimeout = 300 * time.Millisecond })
			c, err := s.dialQUIC(t, "127.0.0.2")
			must(t, err)
			must(t, use(c))
			settled(t, "it is closed", func() bool { return c.Context().Err() != nil && s.listeners.Stats().OverQUIC == 0 })
		})
	}
}

// A client may open its control stream, those of QPACK, and instead of the latter any number of
// others, one after the other. The edge still learns of a stream that must not be.
func TestUniStreamsOverQUIC(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin())
	open := func(t *testing.T, c *quic.Conn, bytes ...byte) *quic.SendStream {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), longEnough)
		defer stop()
		stream, err := c.OpenUniStreamSync(ctx)
		must(t, err)
		_, err = stream.Write(bytes)
		must(t, err)
		return stream
	}
	control, settings, encoder, decoder, unknown := byte(0x00), []byte{0x04, 0x00}, byte(0x02), byte(0x03), byte(0x21)
	t.Run("the usual three", func(t *testing.T) {
		t.Parallel()
		c, err := s.dialQUIC(t, "127.0.0.2")
		must(t, err)
		open(t, c, append([]byte{control}, settings...)...)
		open(t, c, encoder)
		open(t, c, decoder)
		if _, err := c.OpenUniStream(); err == nil {
			t.Error("a fourth stream may be opened")
		}
	})
	t.Run("others", func(t *testing.T) {
		t.Parallel()
		c, err := s.dialQUIC(t, "127.0.0.2")
		must(t, err)
		open(t, c, append([]byte{control}, settings...)...)
		open(t, c, encoder)
		for range 10 {
			stream := open(t, c, unknown)
			<-stream.Context().Done() // the edge does not read it
		}
		open(t, c, encoder)
		<-c.Context().Done()
		if ended, ok := errors.AsType[*quic.ApplicationError](context.Cause(c.Context())); !ok ||
			ended.ErrorCode != quic.ApplicationErrorCode(http3.ErrCodeStreamCreationError) {
			t.Errorf("after a second encoder stream: %v", context.Cause(c.Context()))
		}
	})
}

// A client that ignores the shutdown does not keep the edge from ending.
func TestEndsWithoutSilentClients(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin())
	s.silent(t)
	settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == 1 })
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > endsAtOnce {
		t.Errorf("the edge took %v to end", took)
	}
}

// A crowd behind one address is served, however many connections it opens at once: up to nine
// tenths of the limit all of them, and of a larger one so many at least. The others are refused.
func TestCrowdOverQUIC(t *testing.T) {
	const most = 1280 // connections of one client by default
	for _, crowd := range []int{40, 100, 200, 400, 1200, 1500} {
		if crowd > 2*manyClients || testing.Short() && crowd > 100 {
			continue
		}
		t.Run(strconv.Itoa(crowd), func(t *testing.T) {
			s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.IdleTimeout = time.Hour })
			var served, refused atomic.Int64
			var all sync.WaitGroup
			for range crowd {
				all.Go(func() {
					var code *quic.TransportError
					switch err := s.comeAndStay(t, "127.0.0.2"); {
					case err == nil:
						served.Add(1)
					case errors.As(err, &code) && code.ErrorCode == quic.ConnectionRefused:
						refused.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			all.Wait()
			// A handshake that a client begins again has two places for a moment, so that a few of
			// the last connections up to the limit may be refused if more come at once.
			least := int64(min(crowd, most))
			if crowd > most {
				least -= most / 10
			}
			if served.Load() < least || served.Load() > most || served.Load()+refused.Load() != int64(crowd) {
				t.Errorf("of %d connections %d were served and %d refused, at least %d must be served", crowd,
					served.Load(), refused.Load(), least)
			}
			if n := s.listeners.Stats(); n.Rejected != 0 || (n.Refused["client"] > 0) != (crowd > most) {
				t.Errorf("%d requests were rejected, connections refused: %v", n.Rejected, n.Refused)
			}
		})
	}
}

// comeAndStay opens a QUIC connection, gets three responses over it, and leaves it open. It opens
// another one if a handshake takes too long for a slow machine.
func (s *securedTest) comeAndStay(t testing.TB, from string) error {
	var late *quic.IdleTimeoutError
	c, err := s.dialQUIC(t, from)
	for errors.As(err, &late) || errors.As(err, new(*quic.HandshakeTimeoutError)) {
		c, err = s.dialQUIC(t, from)
	}
	if err != nil {
		return err
	}
	client := (&http3.Transport{}).NewClientConn(c)
	for range 3 {
		if err := healthy(t.Context(), client); err != nil {
			return err
		}
	}
	return nil
}

// healthy asks for the health of an edge.
func healthy(ctx context.Context, client http.RoundTripper) error {
	req, err := http.NewRequestWithContext(ctx, "GET", "https://edge.test/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := client.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// Over QUIC too, each address is a client of its own, and its streams count only against its own
// share. Beyond it the edge rejects requests, so that the client may send them again, and serves
// those of other clients. Until streams have ended it tells that client to forget HTTP/3.
// It is not parallel, because it needs memory for as many streams as a client may have.
func TestStreamsOfQUIC(t *testing.T) {
	const most = 1280 // streams of one client by default
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.IdleTimeout, c.RequestTimeout = time.Hour, time.Hour })
	dial := func(from string) *quic.Conn {
		c, err := s.dialQUIC(t, from)
		must(t, err)
		return c
	}
	client := func(from string) http.RoundTripper { return (&http3.Transport{}).NewClientConn(dial(from)) }
	mine, other := client("127.0.0.2"), client("127.0.0.3")
	var hoards []*quic.Conn
	for range most / h2.MaxStreams {
		hoards = append(hoards, dial("127.0.0.2"))
	}
	var streams []*quic.Stream
	for _, c := range hoards {
		for range h2.MaxStreams {
			stream, err := c.OpenStreamSync(t.Context())
			must(t, err)
			_, err = stream.Write([]byte{0x01, 0x40}) // half a head
			must(t, err)
			streams = append(streams, stream)
		}
	}
	var code *http3.Error
	var last error
	defer func() {
		if t.Failed() {
			t.Logf("the last error: %v; %+v", last, s.listeners.Stats())
			for i, c := range hoards {
				t.Logf("connection %d has ended with %v", i, context.Cause(c.Context()))
			}
		}
	}()
	// A request before that would take the place of a stream on its way.
	settled(t, "all streams count", func() bool {
		return s.listeners.Stats().MemoryQUIC["requests"] == most*listen.QUICStreamBytes
	})
	// As many as a large page has: a browser loses those that it begins as its connection ends.
	for range 500 {
		if last = healthy(t.Context(), mine); !errors.As(last, &code) || code.ErrorCode != http3.ErrCodeRequestRejected {
			t.Fatalf("a request beyond the share: %v", last)
		}
	}
	if s.listeners.Stats().Rejected == 0 {
		t.Error("the rejected request is not counted")
	}
	must(t, healthy(t.Context(), other))
	told := func(client string) string { return s.sockets.Offer.AltSvc(netip.MustParseAddr(client)) }
	if told("127.0.0.2") != "clear" || told("127.0.0.3") != s.announces(t) {
		t.Errorf("Alt-Svc is %q for the client, %q for another", told("127.0.0.2"), told("127.0.0.3"))
	}
	hoards[0].CloseWithError(0, "")
	settled(t, "a request within the share is served", func() bool { return healthy(t.Context(), mine) == nil })
	for _, stream := range streams[h2.MaxStreams : 4*h2.MaxStreams] {
		stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
		stream.CancelRead(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
	}
	settled(t, "HTTP/3 is announced again", func() bool { return told("127.0.0.2") == s.announces(t) })
}

// An edge that drains announces it on the control stream, and names the first stream that it
// does not answer.
func TestGoAwayOverQUIC(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin())
	c := s.silent(t)
	control, err := c.AcceptUniStream(t.Context())
	must(t, err)
	go s.stop()
	got, err := io.ReadAll(control)
	var ended *quic.ApplicationError
	if !errors.As(err, &ended) || ended.ErrorCode != quic.ApplicationErrorCode(http3.ErrCodeNoError) {
		t.Errorf("the connection ends with %v", err)
	}
	if !bytes.HasSuffix(got, []byte{0x07, 1, 0}) {
		t.Errorf("the control stream has %x", got)
	}
}
