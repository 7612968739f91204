package quic

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// many is how often a flood does what it does.
func many(n int) int {
	if os.Getenv(measures) != "" {
		return 10 * n
	}
	return n
}

// A flood is something that is allowed, far too often, on one connection. The edge may close the
// connection; others must not notice.
type flood struct {
	name, section string
	config        *quic.Config // of the client
	do            func(ctx context.Context, a *attacker, e *edge) error
	raw           func(c *raw) error // instead of do
}

// tiny is a client that takes only a kilobyte, and never more.
var tiny = &quic.Config{InitialStreamReceiveWindow: 1 << 10, MaxStreamReceiveWindow: 1 << 10,
	InitialConnectionReceiveWindow: 1 << 10, MaxConnectionReceiveWindow: 1 << 10}

// often opens streams in a row, waiting for room.
func often(n int, use func(a *attacker, s *quic.Stream) error) func(context.Context, *attacker, *edge) error {
	return func(ctx context.Context, a *attacker, _ *edge) error {
		for range many(n) {
			s, err := a.conn.OpenStreamSync(ctx)
			if err != nil {
				return err
			}
			if err := use(a, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// abandoned sends a request and resets it at once, in one direction or in both.
func abandoned(bytes []byte, both bool) func(*attacker, *quic.Stream) error {
	const code = quic.StreamErrorCode(http3.ErrCodeRequestCanceled)
	return func(_ *attacker, s *quic.Stream) error {
		if _, err := s.Write(bytes); err != nil {
			return err
		}
		if s.CancelRead(code); both {
			s.CancelWrite(code)
			return nil
		}
		return s.Close()
	}
}

// poured sends the same bytes on a stream again and again.
func poured(stream string, first, again []byte, n int) func(context.Context, *attacker, *edge) error {
	return func(_ context.Context, a *attacker, _ *edge) error {
		if err := a.send(piece{stream, first, stays}); err != nil {
			return err
		}
		for range many(n) {
			if err := a.send(piece{stream, again, stays}); err != nil {
				return err
			}
		}
		return nil
	}
}

// held opens as many streams as it may, with these bytes on each, as far as the edge takes them. It
// stays until the edge has answered somebody else.
func held(bytes []byte, end bool) func(context.Context, *attacker, *edge) error {
	return func(ctx context.Context, a *attacker, e *edge) error {
		for range streamLimit {
			s, err := a.conn.OpenStream()
			if err != nil {
				break // the edge has fewer places left
			}
			s.SetWriteDeadline(time.Now().Add(time.Millisecond))
			if _, err := s.Write(bytes); errors.Is(err, os.ErrDeadlineExceeded) {
				break
			} else if err != nil {
				return err
			}
			if end {
				s.Close()
			}
		}
		later, err := newAttacker(ctx, e, nil)
		if err != nil {
			return err
		}
		defer later.leave()
		later.request()
		return nil
	}
}

// frameByFrame sends frames in packets of their own, and reads now and then.
func frameByFrame(n int, frame func(c *raw, i int) []byte) func(*raw) error {
	return func(c *raw) error {
		for i := range many(n) {
			if err := c.send(application, frame(c, i)); err != nil {
				return err
			}
			if i%32 == 31 {
				if err := c.receive(time.Millisecond); c.closed != nil {
					return nil
				} else if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					return err
				}
			}
		}
		return nil
	}
}

var floods = []flood{
	{name: "hits reset at once", section: "RFC 9114, 10.5", do: often(2000, abandoned(get, true))},
	{name: "hits of 60 kB reset at once", section: "RFC 9114, 10.5", do: often(2000, abandoned(request("GET", "/medium"), true))},
	{name: "cold requests reset at once (as with HTTP/2's rapid reset)", section: "RFC 9114, 10.5",
		do: often(2000, abandoned(request("GET", "/stuck/reset"), true))},
	{name: "uploads reset at once", section: "RFC 9114, 10.5", do: often(2000, abandoned(join(post, begun(frameData, 1000, 'a')), true))},
	{name: "STOP_SENDING of responses", section: "RFC 9114, 10.5", do: often(2000, abandoned(request("GET", "/large"), false))},
	{name: "half requests reset at once", section: "RFC 9114, 10.5", do: often(2000, abandoned(get[:10], true))},
	{name: "requests that are malformed", section: "RFC 9114, 10.5", do: often(1000, func(_ *attacker, s *quic.Stream) error {
		_, err := s.Write(headers(":x: y"))
		s.Close() // fails if the edge has reset it already
		return err
	})},
	{name: "unidirectional streams, opened and closed", section: "RFC 9114, 6.2.3",
		do: func(ctx context.Context, a *attacker, _ *edge) error {
			for range many(1000) {
				s, err := a.conn.OpenUniStreamSync(ctx)
				if err != nil {
					return err
				}
				s.Write([]byte{0x21, 'a'})
				s.Close()
			}
			return nil
		}},
	{name: "unidirectional streams that stay", section: "RFC 9114, 6.2", do: func(_ context.Context, a *attacker, _ *edge) error {
		for {
			s, err := a.conn.OpenUniStream()
			if err != nil {
				return nil
			}
			if _, err := s.Write([]byte{0x40}); err != nil {
				return err
			}
		}
	}},
	{name: "reserved frames on the control stream", section: "RFC 9114, 10.5",
		do: poured("control", nil, slices.Repeat(frame(frameGrease), 100), 200)},
	{name: "PRIORITY_UPDATE", section: "RFC 9218, 11", do: poured("control", nil, slices.Repeat(priorityUpdate(0, "u=1, i"), 100), 200)},
	{name: "MAX_PUSH_ID", section: "RFC 9114, 10.5", do: poured("control", nil, slices.Repeat(frame(frameMaxPushID, 7), 100), 200)},
	{name: "GOAWAY", section: "RFC 9114, 10.5", do: poured("control", nil, slices.Repeat(frame(frameGoAway, 0), 100), 200)},
	{name: "cancellations on the decoder stream", section: "RFC 9204, 7",
		do: poured("decoder", nil, slices.Repeat([]byte{0x44}, 100), 200)},
	{name: "reserved frames before a request", section: "RFC 9114, 10.5",
		do: poured("request", nil, slices.Repeat(frame(frameGrease), 100), 200)},
	{name: "DATA frames of no bytes", section: "RFC 9114, 10.5", do: poured("request", post, slices.Repeat(data(""), 100), 200)},
	{name: "DATA frames of a byte", section: "RFC 9114, 10.5", do: poured("request", post, slices.Repeat(data("a"), 100), 200)},
	{name: "half field sections of 15 kB on every stream", section: "RFC 9114, 10.5.1",
		do: held(append(ints(frameHeaders, 16_000), make([]byte, 15_000)...), false)},
	{name: "bodies that never come, on every stream", section: "RFC 9114, 10.5", do: held(join(post, begun(frameData, 1<<20, 'a')), false)},
	{name: "cold requests on every stream", section: "RFC 9114, 10.5", do: held(request("GET", "/stuck/held"), true)},
	{name: "responses of 4 MB on every stream, windows of 1 kB that never grow", section: "RFC 9000, 21.7",
		config: tiny, do: held(request("GET", "/large"), true)},
	{name: "hits in a row, none read", section: "RFC 9000, 21.7", config: tiny,
		do: often(streamLimit/10, func(_ *attacker, s *quic.Stream) error {
			_, err := s.Write(request("GET", "/medium"))
			return errors.Join(err, s.Close())
		})},
	{name: "field sections that are refused", section: "RFC 9114, 4.2.2", do: often(200, func(_ *attacker, s *quic.Stream) error {
		_, err := s.Write(request("GET", "/hot", "x: "+strings.Repeat("y", 20_000)))
		s.Close()
		if errors.As(err, new(*quic.StreamError)) {
			err = nil
		}
		return err
	})},

	{name: "PING", section: "RFC 9000, 21.9", raw: frameByFrame(2000, func(*raw, int) []byte { return []byte{1} })},
	{name: "PATH_CHALLENGE", section: "RFC 9000, 21.9",
		raw: frameByFrame(2000, func(*raw, int) []byte { return slices.Repeat(append([]byte{0x1a}, "12345678"...), 100) })},
	{name: "connection IDs that are retired at once", section: "RFC 9000, 5.1.2", raw: frameByFrame(1000, func(_ *raw, i int) []byte {
		return newID(uint64(i+1), uint64(i+1), []byte{1, 2, 3, 4, 5, 6, byte(i >> 8), byte(i)})
	})},
	{name: "MAX_DATA, MAX_STREAMS and *_BLOCKED", section: "RFC 9000, 21.9", raw: frameByFrame(1000, func(_ *raw, i int) []byte {
		return slices.Repeat(join(ints(0x10, uint64(i)), ints(0x12, uint64(i)), ints(0x14, 1), ints(0x16, 1)), 50)
	})},
	{name: "stream in pieces with gaps", section: "RFC 9000, 21.6", raw: frameByFrame(1500, func(_ *raw, i int) []byte {
		var b []byte
		for j := range 20 {
			b = append(b, on(0, uint64(2*(20*i+j)%streamRoom), []byte("a"), false)...)
		}
		return b
	})},
	{name: "CRYPTO in pieces with gaps", section: "RFC 9000, 21.6",
		raw: frameByFrame(1000, func(_ *raw, i int) []byte { return crypto(uint64(2*i+1), []byte("a")) })},
	{name: "acknowledgements of many ranges", section: "RFC 9000, 21.9", raw: frameByFrame(500, func(c *raw, i int) []byte {
		return slices.Repeat(ints(0x02, c.spaces[application].numbers[0], 0, 0, 0), 200)
	})},
	{name: "packets with long gaps between their numbers", section: "RFC 9000, 13.2.3", raw: frameByFrame(2000, func(c *raw, i int) []byte {
		c.spaces[application].next += 2
		return []byte{1}
	})},
}

// once carries out a flood on a connection of its own.
func (f flood) once(ctx context.Context, e *edge) error {
	if f.raw != nil {
		c, err := connected(e)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := f.raw(c); err != nil {
			return err
		}
		c.send(application, ints(0x1d, 0x100, 0))
		return nil
	}
	config := f.config
	if config != nil {
		config = config.Clone()
	}
	a, err := newAttacker(ctx, e, config)
	if err != nil {
		return err
	}
	defer a.leave()
	if err := a.send(piece{"control", settings(), stays}); err != nil {
		return err
	}
	err = f.do(ctx, a, e)
	if a.conn.Context().Err() != nil { // the edge has closed it
		return nil
	}
	return err
}

// datagrams sends so many datagrams that belong to nothing.
func datagrams(n int, b func(i int) []byte) func(context.Context, *edge) error {
	return func(_ context.Context, e *edge) error {
		to, err := net.ResolveUDPAddr("udp", e.address)
		if err != nil {
			return err
		}
		socket, err := net.DialUDP("udp", &net.UDPAddr{IP: attackers}, to)
		if err != nil {
			return err
		}
		defer socket.Close()
		for i := range many(n) {
			socket.Write(b(i))
			if i%64 == 63 {
				time.Sleep(time.Millisecond) // the kernel would drop most of them otherwise
			}
		}
		return nil
	}
}

// begunHandshake returns the first datagram of a handshake that nobody completes.
func begunHandshake(int) []byte {
	c := newRawOver(nil)
	if err := c.begin(clientTLS("h3"), parameters(c.from)); err != nil {
		panic(err)
	}
	return c.packet(initial, c.hello())
}

// Floods take bounded memory, and other clients get their responses meanwhile.
func TestFloods(t *testing.T) {
	const requires = "bounded memory; the connection may be closed"
	var list []abuse
	for _, f := range floods {
		list = append(list, abuse{f.name, f.section, requires, f.once})
	}
	list = append(list,
		abuse{"handshakes begun and left", "RFC 9000, 8.1", "Retry, then no answer", datagrams(500, begunHandshake)},
		abuse{"random datagrams", "RFC 9000, 21.9", "no answer", datagrams(5000, func(int) []byte { return random(1200) })},
		abuse{"unknown versions", "RFC 9000, 21.9", "no more bytes than came",
			datagrams(5000, func(int) []byte { return version(0x1a2a3a4a, 1200)(newRawOver(nil))[0] })},
	)
	carryOut(t, startEdge(t), list)
}
