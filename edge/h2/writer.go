package h2

import (
	"time"

	"golang.org/x/net/http2"
)

// A Writer is where a Handler writes one answer. Its methods fail once nobody waits for it any more.
type Writer struct {
	c    *Conn
	s    *stream
	bare bool // the answer to a HEAD
	over bool
}

// Header sends the header block of the answer, made with AppendStatus and AppendField; end: there is no body.
func (w *Writer) Header(block []byte, end bool) error {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := w.failed(); err != nil {
		return err
	}
	end = end || w.bare
	if c.shrunk {
		block = append([]byte{0x20}, block...) // RFC 7541, section 4.2
		c.shrunk = false
	}
	kind, flags := http2.FrameHeaders, http2.Flags(0)
	if end {
		flags = http2.FlagHeadersEndStream
	}
	for len(block) > maxFrame {
		c.append(appendFrame(nil, kind, flags, w.s.id, block[:maxFrame]...))
		kind, flags, block = http2.FrameContinuation, 0, block[maxFrame:]
	}
	c.append(appendFrame(nil, kind, flags|http2.FlagHeadersEndHeaders, w.s.id, block...))
	w.s.answered = true
	w.s.began = time.Now()
	c.calm.earn(forAnswer)
	if end {
		return w.end()
	}
	return nil
}

// Write sends a part of the body, when the windows let it. It reaches the client when Flush or End is called, or when much waits.
func (w *Writer) Write(p []byte) (int, error) {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	written := 0
	for written < len(p) {
		if err := w.failed(); err != nil {
			return written, err
		}
		n := int(min(int64(len(p)-written), maxFrame, c.window, w.s.window))
		if n <= 0 {
			if err := w.wait(); err != nil {
				return written, err
			}
			continue
		}
		c.sendData(w.s, p[written:written+n], false)
		if written += n; c.unsent() > outAtOnce {
			if err := c.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// wait waits for a window, without holding the connection.
func (w *Writer) wait() error {
	if err := w.c.flush(); err != nil {
		return err
	}
	w.c.mu.Unlock()
	defer w.c.mu.Lock()
	select {
	case <-w.s.open:
		return nil
	case <-w.s.gone:
		return errClosed
	}
}

// Flush sends what waits.
func (w *Writer) Flush() error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	return w.c.flush()
}

// End ends the answer, and sends it.
func (w *Writer) End() error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if err := w.failed(); err != nil {
		return err
	}
	w.c.append(appendFrame(nil, http2.FrameData, http2.FlagDataEndStream, w.s.id))
	return w.end()
}

// Gone is closed when nobody waits for the answer any more.
func (w *Writer) Gone() <-chan struct{} { return w.s.gone }

// end is what comes after the last frame. A client that still sends is told that it need not (RFC 9113, section 8.1).
func (w *Writer) end() error {
	c := w.c
	w.over = true
	if !w.s.whole {
		c.sendReset(w.s.id, http2.ErrCodeNo)
	}
	c.used = time.Now()
	c.remove(w.s)
	err := c.flush()
	c.tell() // not before: a connection that rests can be closed
	if c.leaving && c.final < maxWindow && len(c.streams) == 0 {
		c.rw.SetReadDeadline(time.Now()) // it waits for nothing
	}
	return err
}

// finish ends what a handler left undone.
func (w *Writer) finish(well bool) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.over || w.failed() != nil {
		return
	}
	w.c.sendReset(w.s.id, http2.ErrCodeInternal)
	w.s.whole = true
	w.end()
}

func (w *Writer) failed() error {
	switch {
	case w.c.dead != nil:
		return w.c.dead
	case w.over:
		return errClosed
	}
	select {
	case <-w.s.gone:
		return errClosed
	default:
		return nil
	}
}
