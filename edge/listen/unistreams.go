package listen

import (
	"context"
	"sync"

	"github.com/quic-go/quic-go"
)

// mostUniStreams is how many unidirectional streams a client may have open: the control stream and
// the two of QPACK. Each client may open as many (RFC 9114, section 6.2).
const mostUniStreams = 3

// uniStreams passes the unidirectional streams of a client on. While all that the client may
// open are open for good, no goroutine waits for others, so that a connection at rest takes less
// memory.
type uniStreams struct {
	conn   *quic.Conn
	handle func(*quic.ReceiveStream)

	mu      sync.Mutex
	open    int
	accepts bool // a goroutine accepts streams
}

// begin starts a goroutine that accepts streams, unless there is one.
func (u *uniStreams) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.accepts {
		u.accepts = true
		go u.accept()
	}
}

// accept accepts streams until the client can open no more, or the connection ends.
func (u *uniStreams) accept() {
	for {
		stream, err := u.conn.AcceptUniStream(context.Background())
		if err != nil {
			return
		}
		full := u.enter()
		go u.serve(stream)
		if full {
			return
		}
	}
}

// enter counts a stream, and reports whether the client can open no more. The caller must then
// stop to accept them.
func (u *uniStreams) enter() (full bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open++
	full = u.open == mostUniStreams
	u.accepts = !full
	return full
}

// serve has a stream handled. That of control and those of QPACK are handled until the connection
// ends, so the client gets no others for them. A stream of unknown type ends when it is refused.
func (u *uniStreams) serve(stream *quic.ReceiveStream) {
	u.handle(stream)
	u.mu.Lock()
	u.open--
	u.mu.Unlock()
	u.begin()
}
