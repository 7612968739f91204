package h2

import (
	"bytes"
	"net/http"
	"slices"
	"time"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/bodies"
)

const (
	maxWaiting = 1 << 20   // bytes of ready answers that wait for their windows; beyond, answers wait on their handlers' goroutines
	maxHeld    = 16 << 20  // bytes of requests' bodies, of all streams of a connection
	maxHeads   = 256 << 10 // bytes of header fields of the requests on a connection that the client has not sent whole

	streamCosts = 1 << 10 // bytes that a stream takes besides its fields
)

// copies is how often the fields of a request lie in memory while a Handler answers it: here, where they are read, and for the origin,
// with the garbage that comes of it.
const copies = 6

// HandlerCosts are the bytes that a request takes besides its fields and body while a Handler answers it.
const HandlerCosts = 32 << 10

// A stream is one that is not done with at once: its request has a body, a handler answers it, or its answer waits for a window.
type stream struct {
	id     uint32
	window int64     // for the answer's body
	began  time.Time // its request; then its answer
	sent   int64     // bytes of the answer's body
	gone   chan struct{}
	open   chan struct{} // a window may have opened; room for one

	request *Request     // until its handler has it
	head    int          // bytes of its fields, and what the stream takes besides
	length  int64        // of its body, as announced; -1: not told
	came    int64        // bytes of it
	share   bodies.Share // of Config.Bodies: for the fields, the handler, or a ready answer that waits
	held    bodies.Share // for the body
	credit  int64        // bytes of the stream's window that may still come
	whole   bool         // the client has sent all

	body     []byte // of a ready answer, what is left
	urgency  byte   // 0 comes first (RFC 9218, section 4.1)
	ended    bool   // nothing comes after body
	answered bool   // the head of the answer was sent
}

func (s *stream) wake() {
	select {
	case s.open <- struct{}{}:
	default:
	}
}

// stop tells a handler that nobody waits any more.
func (s *stream) stop() {
	select {
	case <-s.gone:
	default:
		close(s.gone)
	}
}

// add makes a stream known.
func (c *Conn) add(id uint32) *stream {
	s := &stream{id: id, window: c.initial, began: c.now, length: -1, credit: ourWindow, urgency: defaultUrgency,
		gone: make(chan struct{}), open: make(chan struct{}, 1)}
	s.share.Client, s.held.Client = c.share.Client, c.share.Client
	if c.streams == nil {
		c.streams = map[uint32]*stream{}
	}
	c.streams[id] = s
	for _, f := range c.decoder.fields {
		if string(f.Name) == "priority" {
			s.urgency = urgency(f.Value)
		}
	}
	c.sweep()
	return s
}

const defaultUrgency = 3

// urgency reads the u of a Priority field, as far as it has to be (RFC 9218, section 4.1).
func urgency(field []byte) byte {
	for part := range bytes.SplitSeq(field, []byte(",")) {
		if part = bytes.TrimSpace(part); len(part) == 3 && part[0] == 'u' && part[1] == '=' && '0' <= part[2] && part[2] <= '7' {
			return part[2] - '0'
		}
	}
	return defaultUrgency
}

// remove ends a stream, whoever still works for it.
func (c *Conn) remove(s *stream) {
	delete(c.streams, s.id)
	if i := slices.Index(c.queue, s); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	}
	c.waiting -= len(s.body)
	s.body = nil
	c.abandon(s)
}

// abandon drops a request that no handler has yet, and tells the handler of one that has that nobody waits any more.
func (c *Conn) abandon(s *stream) {
	if s.request != nil {
		c.heads -= s.head
		c.release(s, len(s.request.Body))
		s.request = nil
	} else if s.ended {
		c.release(s, 0)
	}
	s.stop()
}

// open begins a stream whose answer is not ready.
func (c *Conn) open(id uint32, q asked, ends bool) error {
	head := c.decoder.size + streamCosts
	if len(c.streams) >= MaxStreams || c.running >= MaxStreams || !ends && c.heads+head > maxHeads {
		return c.refused(id)
	}
	s := c.add(id)
	if !ends && c.srv.config.Bodies.Take(&s.share, int64(head)) != nil {
		return c.refused(id)
	}
	c.heads += head
	s.head, s.length = head, q.length
	s.request = &Request{
		Method: string(q.method), Authority: string(q.authority), Path: string(q.path),
		Fields: cloned(c.decoder.fields[min(q.regular, len(c.decoder.fields)):]), Client: c.client, Secure: c.plain.Secure, Tier: c.plain.Tier, Chosen: c.plain.Chosen,
	}
	switch {
	case c.decoder.over:
		s.request.Refuse = http.StatusRequestHeaderFieldsTooLarge
	case q.length > int64(c.srv.config.MaxBody):
		s.request.Refuse = http.StatusRequestEntityTooLarge
	case ends:
	case q.expects:
		c.append(appendFrame(nil, http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, AppendStatus(nil, http.StatusContinue)...))
		return nil
	default:
		return nil
	}
	s.whole = ends
	return c.handle(s)
}

// refused resets a stream whose request no handler has seen: the client may send it again (RFC 9113, section 8.7). A client that goes on
// uses up what it may waste (flood.go).
func (c *Conn) refused(id uint32) error {
	c.srv.counts.refused.Add(1)
	return reset(id, http2.ErrCodeRefusedStream)
}

// cloned are fields that outlast their block, in one piece.
func cloned(fields []Field) []Field {
	n := 0
	for _, f := range fields {
		n += len(f.Name) + len(f.Value)
	}
	text, list := make([]byte, 0, n), make([]Field, len(fields))
	for i, f := range fields {
		at := len(text)
		text = append(append(text, f.Name...), f.Value...)
		middle := at + len(f.Name)
		list[i] = Field{Name: text[at:middle:middle], Value: text[middle:len(text):len(text)]}
	}
	return list
}

// data takes a part of a request's body, and lets as much more come, for as long as there is room (RFC 9113, sections 6.1 and 6.9).
func (c *Conn) data(f frame) error {
	if f.stream == 0 || f.stream > c.last && f.stream <= c.final || f.stream%2 == 0 {
		return broken(http2.ErrCodeProtocol, "DATA on an idle stream")
	}
	size := int64(len(f.payload)) // padding counts
	if err := f.unpad(); err != nil {
		return err
	}
	s := c.streams[f.stream]
	if s == nil || s.whole {
		c.giveBack(0, size)
		if s == nil && (f.stream > c.final || c.resets.has(f.stream)) {
			return nil
		}
		return reset(f.stream, http2.ErrCodeStreamClosed)
	}
	if s.credit -= size; s.credit < 0 {
		return reset(f.stream, http2.ErrCodeFlowControl)
	}
	s.came += int64(len(f.payload))
	if len(f.payload) > 0 {
		c.used = c.now
	}
	c.giveBack(0, size)
	if s.length >= 0 && s.came > s.length {
		return reset(f.stream, http2.ErrCodeProtocol)
	}
	ends := f.flags.Has(http2.FlagDataEndStream)
	if s.request != nil {
		if s.request.Refuse = c.keep(s, f.payload); s.request.Refuse != 0 {
			if err := c.handle(s); err != nil {
				return err
			}
		}
	}
	if ends {
		return c.complete(s)
	}
	s.credit += size
	c.giveBack(f.stream, size)
	return nil
}

// keep adds to a request's body, or says with which status the request must be refused.
func (c *Conn) keep(s *stream, part []byte) (refuse int) {
	switch {
	case s.came > int64(c.srv.config.MaxBody):
		return http.StatusRequestEntityTooLarge
	case c.held+len(part) > maxHeld || c.srv.config.Bodies.Body(&s.held, s.came) != nil:
		return http.StatusServiceUnavailable
	}
	s.request.Body = append(s.request.Body, part...)
	c.held += len(part)
	return 0
}

// release gives back the room of a request with a body of n bytes.
func (c *Conn) release(s *stream, n int) {
	c.held -= n
	c.srv.config.Bodies.Give(&s.share)
	c.srv.config.Bodies.Give(&s.held)
}

// giveBack lets as many bytes more come as have come: they are taken in at once, and what is held is bounded otherwise.
func (c *Conn) giveBack(stream uint32, n int64) {
	if n > 0 {
		c.append(appendCode(nil, http2.FrameWindowUpdate, stream, uint32(n)))
	}
}

// complete ends a request.
func (c *Conn) complete(s *stream) error {
	s.whole = true
	if s.length >= 0 && s.came != s.length {
		return reset(s.id, http2.ErrCodeProtocol) // RFC 9113, section 8.1.1
	}
	if s.request != nil {
		return c.handle(s)
	}
	return nil
}

// handle gives a request to a goroutine of its own. Those that run are counted, not the streams: a client that resets its streams
// ends nobody's work. Where the client holds too much already, the stream is refused.
func (c *Conn) handle(s *stream) error {
	room := c.srv.config.Bodies
	room.Give(&s.share) // from here on the number of handlers is bounded, not that of bytes that are to come
	if room.Keep(&s.share, int64(copies*s.head+HandlerCosts)) != nil {
		return c.refused(s.id)
	}
	r := s.request
	r.Began = c.now
	n := len(r.Body)
	c.heads -= s.head
	s.request, s.began = nil, c.now
	c.running++
	go func() {
		w := &Writer{c: c, s: s, bare: r.Method == http.MethodHead}
		defer func() {
			recovered := recover()
			w.finish(recovered == nil)
			c.mu.Lock()
			c.running--
			c.release(s, n)
			c.mu.Unlock()
			if recovered != nil {
				panic(recovered)
			}
		}()
		c.srv.handler.Handle(w, r)
	}()
	return nil
}

// enqueue puts a ready answer's body where bodies wait, behind those that are as urgent.
func (c *Conn) enqueue(s *stream) {
	i, _ := slices.BinarySearchFunc(c.queue, int(s.urgency)+1, func(q *stream, u int) int { return int(q.urgency) - u })
	c.queue = slices.Insert(c.queue, i, s)
	c.waiting += len(s.body)
}

// pump sends of the bodies that wait what the windows allow.
func (c *Conn) pump() error {
	for i := 0; i < len(c.queue) && c.window > 0; {
		s := c.queue[i]
		for len(s.body) > 0 {
			n := int(min(int64(len(s.body)), maxFrame, c.window, s.window))
			if n <= 0 {
				break
			}
			c.waiting -= n
			last := n == len(s.body)
			c.sendData(s, s.body[:n], last)
			s.body = s.body[n:]
		}
		if len(s.body) == 0 {
			c.remove(s)
			continue
		}
		i++
	}
	if c.unsent() > outAtOnce {
		return c.flush()
	}
	return nil
}

func (c *Conn) sendData(s *stream, b []byte, last bool) {
	flags := http2.Flags(0)
	if last {
		flags = http2.FlagDataEndStream
	}
	n := int64(len(b))
	c.window -= n
	s.window -= n
	s.sent += n
	c.calm.earn(len(b) / bytesForOne)
	var head [frameHead]byte
	putHead(head[:], len(b), http2.FrameData, flags, s.id)
	c.append(head[:])
	c.append(b)
}
