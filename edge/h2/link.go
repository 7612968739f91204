package h2

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/net/http2"
)

const linkBuffer = 16 << 10

// A Link is the connection below TLS. It reads ahead into a buffer, which it has only while there
// is something in it, and passes TLS one record at a time, so that it knows whether another whole
// record is buffered. It can gather the writes of TLS (cork).
//
// On an event loop no call waits: Read returns ErrWait, also at the end of a turn, and Write keeps
// the bytes that there is no room for.
type Link struct {
	net.Conn
	socket socket
	loop   linkLoop
	tls    bool
	in     *[]byte // pooled; nil: nothing is buffered
	r, w   int
	header int // bytes of a record's header passed on
	length int // of the record, according to the header so far
	left   int // bytes of the record not passed on yet
	parts  parts

	mu      sync.Mutex // TLS may reply to a key update while another goroutine writes
	corked  bool
	pending *[]byte // to be written; pooled
}

var linkBuffers = sync.Pool{New: func() any { b := make([]byte, linkBuffer); return &b }}

// NewLink returns a Link of a connection of which some bytes may have been read already. tls says
// that the bytes are TLS records.
func NewLink(c net.Conn, tls bool, already []byte) *Link {
	l := &Link{Conn: c, tls: tls}
	if len(already) > 0 {
		if len(already) > linkBuffer {
			l.in = &already
		} else {
			copy(l.take(), already)
		}
		l.w = len(already)
	}
	l.socket.init(c)
	return l
}

// NetConn returns the underlying connection.
func (l *Link) NetConn() net.Conn { return l.Conn }

// Read returns buffered bytes, of TLS no more than one record.
func (l *Link) Read(p []byte) (int, error) {
	begins := l.header == 0 && l.left == 0
	if begins && l.loop.on.Load() && l.parts.turn >= turnParts {
		return 0, ErrWait
	}
	if err := l.Wait(); err != nil {
		return 0, err
	}
	if begins {
		l.parts.turn++
		l.parts.all++
	}
	b := (*l.in)[l.r:l.w]
	if l.tls {
		b = b[:l.record(b, len(p))]
	}
	n := copy(p, b)
	if l.r += n; l.r == l.w {
		l.release()
	}
	return n, nil
}

// record returns how many bytes of b to pass on: bytes of a header, or of the record after it (RFC
// 8446, section 5.1).
func (l *Link) record(b []byte, most int) int {
	if l.left > 0 {
		n := min(l.left, len(b), most)
		l.left -= n
		return n
	}
	n := min(recordHeader-l.header, len(b), most)
	for i, c := range b[:n] {
		if l.header+i >= recordHeader-2 {
			l.length = l.length<<8 | int(c)
		}
	}
	if l.header += n; l.header == recordHeader {
		l.header, l.left, l.length = 0, l.length, 0
	}
	return n
}

const recordHeader = 5

// parts counts the parts in which a link passes bytes on: the records of TLS, or without TLS the
// reads.
type parts struct {
	turn    int    // since the last event, on an event loop
	all     uint64 // ever
	useless int    // records without data, in excess of those with data
}

const (
	// turnParts bounds the parts of a turn. A record may have a single byte, or none and change the
	// keys, which costs much more: without a limit, a client that sends faster than the loop reads
	// would have it alone.
	turnParts = 64
	// maxUseless is the number of records without data that a client may send, besides one for each
	// record with data. Clients change their keys after millions of records.
	maxUseless = 100
)

// ReadOver reads from a connection over l, such as one of TLS. It fails if most records of the
// client have no data, like those that change keys.
func (l *Link) ReadOver(over io.Reader, p []byte) (int, error) {
	before := l.parts.all
	n, err := over.Read(p)
	if !l.tls {
		return n, err
	}
	l.parts.useless += int(l.parts.all - before)
	if n > 0 { // one of them had data, and earns another one
		l.parts.useless = max(0, l.parts.useless-2)
	}
	if l.parts.useless > maxUseless {
		return 0, connectionError(http2.ErrCodeEnhanceYourCalm, "too many TLS records without data")
	}
	return n, err
}

// Wait waits until there is something to read. Until then it holds no buffer.
func (l *Link) Wait() error {
	if l.in != nil {
		return nil
	}
	if l.loop.on.Load() {
		return l.fillNow()
	}
	return l.socket.fill(l)
}

// Ready reports whether a read would return at once, on a TLS connection with a whole record.
func (l *Link) Ready() bool {
	n := l.w - l.r
	if !l.tls || n == 0 {
		return n > 0
	}
	if n < recordHeader || l.header > 0 || l.left > 0 {
		return false
	}
	b := (*l.in)[l.r:l.w]
	return n >= recordHeader+int(b[3])<<8+int(b[4])
}

func (l *Link) release() {
	if len(*l.in) == linkBuffer {
		linkBuffers.Put(l.in)
	}
	l.in, l.r, l.w = nil, 0, 0
}

// take returns a buffer to read into.
func (l *Link) take() []byte {
	l.in = linkBuffers.Get().(*[]byte)
	return *l.in
}

// readDone records the result of reading into the buffer.
func (l *Link) readDone(n int, err error) error {
	if n > 0 {
		l.r, l.w = 0, n
		return nil
	}
	l.release()
	if err == nil {
		err = io.EOF
	}
	return err
}

// Write sends p, or gathers it for uncork.
func (l *Link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.corked || l.pending != nil:
		l.gather(p)
		if l.corked {
			return len(p), nil
		}
		return len(p), l.sendPending()
	case l.loop.on.Load():
		return len(p), l.sendNow(p)
	}
	return l.socket.write(l, p)
}

// gather appends p to the bytes to be written.
func (l *Link) gather(p []byte) {
	if l.pending == nil {
		l.pending = outBuffers.take()
	}
	*l.pending = append(*l.pending, p...)
}

// CloseWrite closes the sending direction.
func (l *Link) CloseWrite() error {
	half, ok := l.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// WriteOver writes p to a connection over l, such as one of TLS, and then sends all that this has
// written to l.
func (l *Link) WriteOver(over io.Writer, p []byte) (int, error) {
	l.cork()
	n, err := over.Write(p)
	if sent := l.uncork(); err == nil {
		err = sent
	}
	return n, err
}

// cork gathers writes until uncork.
func (l *Link) cork() {
	l.mu.Lock()
	l.corked = true
	l.mu.Unlock()
}

// uncork sends the gathered writes.
func (l *Link) uncork() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.corked = false
	return l.sendPending()
}

// sendPending sends the gathered bytes.
func (l *Link) sendPending() (err error) {
	if l.pending == nil {
		return nil
	}
	if l.loop.on.Load() {
		return l.sendPendingNow()
	}
	_, err = l.socket.write(l, *l.pending)
	l.drop()
	return err
}

// drop frees the gathered bytes.
func (l *Link) drop() {
	outBuffers.give(l.pending)
	l.pending = nil
}

// A LoopSocket is the socket of a connection on an event loop. Its methods return syscall.EAGAIN
// where they would have to wait.
type LoopSocket interface {
	TryRead(p []byte) (int, error)
	TryWrite(p []byte) (int, error)
}

// A linkLoop is the state of a Link that may be on an event loop. Only the reader of the Link uses
// dry and ending.
type linkLoop struct {
	socket LoopSocket
	on     atomic.Bool
	dry    bool // nothing can be read until the next event
	ending bool // the peer may have sent its last byte, which no other event announces
}

// ErrWait is the error of a Read that would have to wait for an event or, if the link is not dry,
// for the next turn. crypto/tls goes on where it was with the next Read, because the error is
// temporary.
var ErrWait error = waitError{}

type waitError struct{}

func (waitError) Error() string   { return "nothing to read before the next event" }
func (waitError) Timeout() bool   { return true }
func (waitError) Temporary() bool { return true }

// OnLoop records the socket of a connection that an event loop may serve. It must be called before
// the first Read.
func (l *Link) OnLoop(s LoopSocket) { l.loop.socket = s }

// TryOnly makes calls return where they would wait (true), or wait (false). Only the reader of the
// Link may call it. It returns the mode before.
func (l *Link) TryOnly(on bool) (before bool) {
	if before = l.loop.on.Swap(on); before != on {
		l.loop.dry, l.loop.ending, l.parts.turn = false, false, 0
	}
	return before
}

// Event records an event of the socket. The end of the stream may follow the bytes of an event that
// is ending. The turn of the connection begins.
func (l *Link) Event(readable, ending bool) {
	l.parts.turn = 0
	if readable {
		l.loop.dry = false
	}
	l.loop.ending = l.loop.ending || ending
}

// Dry reports whether nothing can be read until the next event, neither from the socket nor from
// the buffer.
func (l *Link) Dry() bool { return l.in == nil && l.loop.dry }

// fillNow reads the bytes that have arrived.
func (l *Link) fillNow() error {
	if l.loop.dry {
		return ErrWait
	}
	b := l.take()
	n, err := l.loop.socket.TryRead(b)
	if err == syscall.EAGAIN {
		l.release()
		l.loop.dry, l.loop.ending = true, false
		return ErrWait
	}
	if err != nil && err != io.EOF {
		n = 0
	}
	l.loop.dry = err == nil && n < len(b) && !l.loop.ending
	return l.readDone(n, err)
}

// sendNow sends as much of p as there is room for, and keeps the rest.
func (l *Link) sendNow(p []byte) error {
	n, err := l.loop.socket.TryWrite(p)
	if err == syscall.EAGAIN {
		l.gather(p[n:])
		return nil
	}
	return err
}

// sendPendingNow sends as much as there is room for of the bytes that are kept.
func (l *Link) sendPendingNow() error {
	n, err := l.loop.socket.TryWrite(*l.pending)
	if err == syscall.EAGAIN {
		*l.pending = (*l.pending)[:copy(*l.pending, (*l.pending)[n:])]
		return nil
	}
	l.drop()
	return err
}

// Flush sends the bytes that are kept. It returns syscall.EAGAIN if some are left.
func (l *Link) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending == nil {
		return nil
	}
	err := l.sendPending()
	if err == nil && l.pending != nil {
		err = syscall.EAGAIN
	}
	return err
}

// kept returns the number of bytes that are kept because there was no room for them.
func (l *Link) kept() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending == nil {
		return 0
	}
	return len(*l.pending)
}

// Unsent reports whether bytes are kept for which there was no room.
func (l *Link) Unsent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending != nil
}
