package quic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// An amplification is sent by a client that never proves its address. The edge may send it three
// times as many bytes (RFC 9000, section 8.1).
type amplification struct {
	name string
	send func(c *raw) [][]byte
}

var amplifications = []amplification{
	{"ClientHello", helloAnd()},
	{"ClientHello, ten times", func(c *raw) (all [][]byte) {
		b := c.packet(initial, c.hello())
		for range 10 {
			all = append(all, b)
		}
		return all
	}},
	{"half a ClientHello", func(c *raw) [][]byte {
		return [][]byte{c.packet(initial, crypto(0, c.spaces[initial].outgoing[:100]))}
	}},
	{"ClientHello of 64 kB, announced", only(crypto(0, []byte{1, 0, 0xff, 0xff, 3, 3}))},
	{"PING", only([]byte{1})},
	{"ClientHello and frames that are not allowed", helloAnd(on(0, 0, get, true))},
	{"ClientHello without a common protocol", nil},
	{"another version", version(0x1a2a3a4a, 1200)},
	{"short headers", func(*raw) (all [][]byte) {
		for n := 21; n < 1200; n += 40 {
			all = append(all, append([]byte{0x41}, random(n)...))
		}
		return all
	}},
}

// do counts the bytes that come until the edge is silent for longer than it waits to send again the
// first few times.
func (a amplification) do(_ context.Context, e *edge) error {
	c, err := newRaw(e.address, attackers)
	if err != nil {
		return err
	}
	defer c.Close()
	protocol := "h3"
	if a.send == nil {
		a.send, protocol = helloAnd(), "h2"
	}
	if err := c.begin(clientTLS(protocol), parameters(c.from)); err != nil {
		return err
	}
	for _, b := range a.send(c) {
		if err := c.write(b); err != nil {
			return err
		}
	}
	for b := make([]byte, 64<<10); ; {
		c.socket.SetReadDeadline(time.Now().Add(patience))
		n, err := c.socket.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return err
		}
		c.got += n
	}
	// quic-go sends a whole packet while it has sent less than three times as much, so the last one
	// may go beyond.
	if c.got > 3*c.sent+maxPacket {
		return fmt.Errorf("%d bytes for %d", c.got, c.sent)
	}
	return nil
}

const maxPacket = 1452

// Whatever a client sends that has not proved its address, it gets at most three times as much.
func TestAmplification(t *testing.T) {
	e := startEdge(t)
	other := newClient(t, e)
	var wg sync.WaitGroup
	for _, a := range amplifications {
		wg.Go(func() {
			if err := a.do(t.Context(), e); err != nil {
				t.Errorf("%s: %v", a.name, err)
			}
		})
	}
	wg.Wait()
	other.served(t)
}

// floodOfHandshakes begins handshakes that nobody completes until one is answered by Retry. It
// returns the client that gets the Retry, and the Retry.
func floodOfHandshakes(e *edge) (*raw, []byte, error) {
	const most = 100_000
	for range most {
		c, err := newRaw(e.address, attackers)
		if err != nil {
			return nil, nil, err
		}
		if err := c.begin(clientTLS("h3"), parameters(c.from)); err != nil {
			return nil, nil, err
		}
		c.write(c.packet(initial, c.hello()))
		// Only the first packet matters: a Retry, or the beginning of a handshake.
		c.socket.SetReadDeadline(time.Now().Add(patience))
		b := make([]byte, 2000)
		n, err := c.socket.Read(b)
		if err != nil {
			c.Close()
			continue
		}
		if h, err := parseLong(b[:n]); err == nil && h.first>>4&3 == typeRetry {
			if n > c.sent {
				return nil, nil, fmt.Errorf("a Retry has %d bytes, for %d", n, c.sent)
			}
			return c, b[:n], nil
		}
		c.Close()
	}
	return nil, nil, errors.New("no handshake is answered by Retry")
}

// While many handshakes are left, the edge has clients prove their addresses first, by a token that
// no other address can use.
func TestRetry(t *testing.T) {
	e := startEdge(t, "--max-connections", "200")
	other := newClient(t, e)
	c, retry, err := floodOfHandshakes(e)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	other.served(t)

	t.Run("token of another address", func(t *testing.T) {
		thief, err := newRaw(e.address, neighbour)
		if err != nil {
			t.Fatal(err)
		}
		defer thief.Close()
		h, err := parseLong(retry)
		if err != nil {
			t.Fatal(err)
		}
		thief.to, thief.token = h.from, h.rest[:len(h.rest)-16]
		thief.spaces[initial].send, thief.spaces[initial].receive = initialKeys(thief.to)
		if err := thief.begin(clientTLS("h3"), parameters(thief.from)); err != nil {
			t.Fatal(err)
		}
		if err := closed(thief.shake(), closes("INVALID_TOKEN")); err != nil {
			t.Error(err)
		}
	})
	t.Run("token of nobody", func(t *testing.T) {
		forger, err := newRaw(e.address, attackers)
		if err != nil {
			t.Fatal(err)
		}
		defer forger.Close()
		forger.token = random(60)
		if err := forger.begin(clientTLS("h3"), parameters(forger.from)); err != nil {
			t.Fatal(err)
		}
		// It counts as none (section 8.1.3): the edge may ask for the proof again.
		var refused *closure
		if err := forger.shake(); err != nil && (!errors.As(err, &refused) ||
			refused.name() != "INVALID_TOKEN" && refused.name() != "CONNECTION_REFUSED") {
			t.Error(err)
		}
	})
	t.Run("client with a token", func(t *testing.T) {
		if err := c.datagram(retry); err != nil {
			t.Fatal(err)
		}
		if err := c.until(func() bool { return c.finished }); err != nil {
			t.Fatal(err)
		}
		if c.retried != 1 {
			t.Errorf("%d Retry packets", c.retried)
		}
	})
	other.served(t)
}
