//go:build linux

package relay

import (
	"context"
	"io"
	"net"
	"time"
)

// A lane is one direction of a connection: bytes come out in order, after a delay.
type lane struct {
	path  *Path
	ready time.Time // when the first bytes may leave
	last  time.Time // arrival of the previous bytes: nothing overtakes them
	under chan chunk
}

// A chunk is data in transit.
type chunk struct {
	bytes   []byte
	err     error // the end of the data, or the error that ended it
	arrives time.Time
}

const (
	largest = 16 << 10 // bytes of a chunk
	most    = 128      // chunks in transit; beyond that the sender waits, as with a full window
)

func newLane(path *Path, ready time.Time) *lane {
	return &lane{path: path, ready: ready, under: make(chan chunk, most)}
}

// carry moves all data from one connection to the other. An error is one that both ends must see.
func (l *lane) carry(ctx context.Context, to, from *net.TCPConn) error {
	go l.load(ctx, from)
	for c := range l.under {
		if err := l.deliver(ctx, to, c); err != nil {
			return err
		}
		if c.err != nil {
			return halfClose(to, c.err)
		}
	}
	return ctx.Err()
}

// load reads until the end, and gives every chunk its arrival time.
func (l *lane) load(ctx context.Context, from *net.TCPConn) {
	defer close(l.under)
	for {
		b := make([]byte, largest)
		n, err := from.Read(b)
		select {
		case l.under <- chunk{b[:n], err, l.arrival(n, time.Now())}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// arrival returns when n bytes that are sent now arrive.
func (l *lane) arrival(n int, now time.Time) time.Time {
	if now.Before(l.ready) {
		now = l.ready
	}
	at := now.Add(l.path.delay + l.path.pause(n))
	if at.Before(l.last) {
		at = l.last
	}
	l.last = at
	return at
}

// deliver writes a chunk at its arrival time.
func (l *lane) deliver(ctx context.Context, to io.Writer, c chunk) error {
	wait := time.NewTimer(time.Until(c.arrives))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := l.path.quiet(ctx); err != nil {
		return err
	}
	_, err := to.Write(c.bytes)
	return err
}
