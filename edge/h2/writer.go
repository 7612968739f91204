package h2

import (
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// A Writer writes one response for a Handler. Its methods fail once the stream has ended.
type Writer struct {
	c        *Conn
	s        *stream
	Tunnel   *Tunnel // the stream as a tunnel, for an extended CONNECT; nil: it is none
	bodyless bool    // the response to a HEAD
	ended    bool
}

// Interim sends the header block of a 1xx response, which begins with its status.
func (w *Writer) Interim(block []byte) error {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := w.failed(); err != nil || w.s.headersSent {
		return err
	}
	c.sendHeaders(w.s.id, block, 0)
	return c.flush()
}

// sendContinue sends the 100 that the client of a stream waits for before it sends the body.
func (c *Conn) sendContinue(stream uint32) {
	c.sendHeaders(stream, AppendStatus(nil, http.StatusContinue), 0)
}

// Header sends the header block of the response, made with AppendStatus and AppendField. end means
// that there is no body.
func (w *Writer) Header(block []byte, end bool) error {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := w.failed(); err != nil {
		return err
	}
	end = end || w.bodyless
	flags := http2.Flags(0)
	if end {
		flags = http2.FlagHeadersEndStream
	}
	c.sendHeaders(w.s.id, block, flags)
	w.s.headersSent = true
	w.s.began = time.Now()
	c.srv.config.Bodies.Answered(&w.s.share)
	c.flood.earn(creditPerResponse)
	if end {
		return w.end()
	}
	return nil
}

// sendHeaders appends a header block of a stream, in as many frames as it needs.
func (c *Conn) sendHeaders(stream uint32, block []byte, flags http2.Flags) {
	if c.encoder.shrunk {
		block = append(c.encoder.begin(nil), block...)
		c.encoder.begun()
	}
	kind := http2.FrameHeaders
	for len(block) > maxFrame {
		c.out.append(appendFrame(nil, kind, flags, stream, block[:maxFrame]...))
		kind, flags, block = http2.FrameContinuation, 0, block[maxFrame:]
	}
	c.out.append(appendFrame(nil, kind, flags|http2.FlagHeadersEndHeaders, stream, block...))
}

// Write sends a part of the body as the windows allow. The client gets it when Flush or End is
// called, or when much is waiting.
func (w *Writer) Write(p []byte) (int, error) {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	written := 0
	for written < len(p) {
		if err := w.failed(); err != nil {
			return written, err
		}
		n := c.sender.allows(w.s, len(p)-written)
		closed := n <= 0
		if c.backedUp() {
			n = min(n, w.s.turn)
			w.s.turn -= max(n, 0)
		}
		if n <= 0 {
			if err := w.wait(closed); err != nil {
				return written, err
			}
			continue
		}
		if n == min(maxFrame, len(p)-written) {
			c.flood.earn(creditPerPart)
		}
		c.sendData(w.s, p[written:written+n], false)
		if written += n; c.out.size() > maxBatch {
			if err := c.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// wait waits until a window opens, or until the client takes more, without holding the lock. Only
// the wait for a closed window counts against the time of the response: the client may be taking
// other responses, and the bytes on their way have the time of the connection.
func (w *Writer) wait(closed bool) error {
	if err := w.c.flush(); err != nil {
		return err
	}
	if err := w.c.srv.config.Bodies.Unread(&w.s.share); err != nil {
		w.c.sendReset(w.s.id, http2.ErrCodeEnhanceYourCalm)
		w.c.remove(w.s)
		return err
	}
	if closed {
		w.s.waits.begin(time.Now())
	}
	w.c.mu.Unlock()
	defer w.resume()
	select {
	case <-w.s.open:
		return nil
	case <-w.s.gone:
		return errClosed
	}
}

// resume ends the wait for a window.
func (w *Writer) resume() {
	w.c.mu.Lock()
	w.s.waits.end(time.Now())
	w.c.srv.config.Bodies.Answered(&w.s.share)
}

// Flush sends waiting frames.
func (w *Writer) Flush() error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	return w.c.flush()
}

// Trailer ends the response with a block of trailer fields, if there are any (RFC 9113, section
// 8.1).
func (w *Writer) Trailer(block []byte) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if err := w.failed(); err != nil || len(block) == 0 {
		return err
	}
	w.c.sendHeaders(w.s.id, block, http2.FlagHeadersEndStream)
	return w.end()
}

// End ends the response and sends it.
func (w *Writer) End() error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if err := w.failed(); err != nil {
		return err
	}
	w.c.out.append(appendFrame(nil, http2.FrameData, http2.FlagDataEndStream, w.s.id))
	return w.end()
}

// Gone returns a channel that is closed when the stream has ended.
func (w *Writer) Gone() <-chan struct{} { return w.s.gone }

// end ends the stream. If the client is still sending its request, a reset stops it (RFC 9113,
// section 8.1).
func (w *Writer) end() error {
	c := w.c
	w.ended = true
	switch {
	case w.s.whole:
	case w.s.upload != nil:
		c.resetLater(w.s)
	default:
		c.sendReset(w.s.id, http2.ErrCodeNo)
	}
	c.use.last = time.Now()
	c.remove(w.s)
	err := c.flush()
	c.publishState() // after the flush, because an idle connection may be closed
	if c.phase.draining && c.streams.lastAllowed < maxWindow && len(c.streams.open) == 0 {
		c.interrupt()
	}
	return err
}

// resetLater drops what the client still sends on a stream, and resets it when the client has had
// time to read the response: some clients drop a response that a reset follows at once.
func (c *Conn) resetLater(s *stream) {
	s.takers = takers{} // drops the buffer
	c.streams.resets.add(s.id, s)
	time.AfterFunc(resetAfter, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.phase.dead == nil && !s.whole {
			c.sendReset(s.id, http2.ErrCodeNo)
			c.flush()
		}
	})
}

const resetAfter = 100 * time.Millisecond

// finish ends a response that the handler has not ended.
func (w *Writer) finish(well bool) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.ended || w.failed() != nil {
		return
	}
	w.c.sendReset(w.s.id, http2.ErrCodeInternal)
	w.s.whole = true
	w.end()
}

func (w *Writer) failed() error {
	switch {
	case w.c.phase.dead != nil:
		return w.c.phase.dead
	case w.ended:
		return errClosed
	}
	select {
	case <-w.s.gone:
		return errClosed
	default:
		return nil
	}
}
