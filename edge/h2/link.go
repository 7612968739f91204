package h2

import (
	"errors"
	"io"
	"net"
	"sync"
)

const linkBuffer = 16 << 10

// A Link is a connection below TLS. It reads ahead into a buffer that it has only while there is something in it, gives TLS one record at a
// time, so that it can tell whether another whole one is there, and gathers what TLS writes until it is told to send.
type Link struct {
	net.Conn
	socket socket
	tls    bool
	in     *[]byte // pooled; nil: nothing is buffered
	r, w   int
	header int // bytes given out of a record's header
	length int // of the record, as far as the header says
	left   int // bytes to come of the record

	mu      sync.Mutex // TLS may answer a change of keys while others write
	corked  bool
	waiting *[]byte // to be written; pooled
}

var linkBuffers = sync.Pool{New: func() any { b := make([]byte, linkBuffer); return &b }}

// NewLink makes a Link of a connection of which some bytes may have been read already. tls: what comes are TLS records.
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

// NetConn is the connection beneath.
func (l *Link) NetConn() net.Conn { return l.Conn }

// Read gives out what is buffered, of a TLS connection no more than one record.
func (l *Link) Read(p []byte) (int, error) {
	if err := l.Wait(); err != nil {
		return 0, err
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

// record is how much of b is given out: of a header, or of what belongs to it (RFC 8446, section 5.1).
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

// Wait returns when there is something to read. Until then no buffer is held.
func (l *Link) Wait() error {
	if l.in != nil {
		return nil
	}
	return l.socket.fill(l)
}

// Ready reports whether something can be read without waiting: of a TLS connection, a whole record.
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

// take is a buffer to read into.
func (l *Link) take() []byte {
	l.in = linkBuffers.Get().(*[]byte)
	return *l.in
}

// filled is what reading into the buffer came to.
func (l *Link) filled(n int, err error) error {
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

// Write sends p, or keeps it for Uncork.
func (l *Link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.corked {
		if l.waiting == nil {
			l.waiting = outBuffers.take()
		}
		*l.waiting = append(*l.waiting, p...)
		return len(p), nil
	}
	return l.socket.write(l, p)
}

// CloseWrite says that nothing more is sent.
func (l *Link) CloseWrite() error {
	half, ok := l.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// cork keeps what is written until uncork.
func (l *Link) cork() {
	l.mu.Lock()
	l.corked = true
	l.mu.Unlock()
}

// uncork sends what was written since cork.
func (l *Link) uncork() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.corked = false
	if l.waiting == nil {
		return nil
	}
	_, err := l.socket.write(l, *l.waiting)
	outBuffers.give(l.waiting)
	l.waiting = nil
	return err
}
