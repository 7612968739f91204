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
	maxQueuedBytes = 1 << 20   // bytes of ready responses that wait for a window
	maxBodyBytes   = 16 << 20  // bytes of requests' bodies on a connection
	maxHeadBytes   = 256 << 10 // bytes of fields of incomplete requests on a connection

	streamCost = 1 << 10 // bytes that a stream takes besides its fields
)

// fieldCopies is an estimate of the memory for a request's fields while a Handler runs, as a
// multiple of their size: copies here, in the Handler and in the request to the origin, and
// garbage.
const fieldCopies = 6

// HandlerCosts is the number of bytes that a request takes besides its fields and body while a
// Handler runs.
const HandlerCosts = 32 << 10

// A stream is an open stream, which could not be answered at once: its request has a body, a
// handler runs, or its response waits for a window.
type stream struct {
	id     uint32
	c      *Conn
	window int64     // for the response's body
	began  time.Time // of the request, later of the response
	sent   int64     // bytes of the response's body
	gone   chan struct{}
	open   chan struct{} // signals that a window may have opened; has room for one signal

	request  *Request     // until a handler gets it
	head     int          // bytes of its fields and of the stream
	length   int64        // of its body, as announced; -1: unknown
	received int64        // bytes of its body received
	share    bodies.Share // of Config.Bodies: for the fields, the handler or a waiting response
	held     bodies.Share // for the body
	credit   int64        // bytes that the client may still send
	whole    bool         // the request is complete
	takers

	body        []byte // the unsent rest of a ready response
	urgency     byte   // 0 comes first (RFC 9218, section 4.1)
	ended       bool   // nothing follows body
	headersSent bool   // the response's header block was sent

	progress
}

// A progress is that of a handler that writes a response.
type progress struct {
	waits waits // for windows
	turn  int   // bytes that it may write although the client takes nothing (loop.go)
}

// takers take the parts of a request's body while they arrive. At most one of them is not nil.
type takers struct {
	upload *Upload // the body, if a handler reads it while it arrives
	tunnel *Tunnel // takes the bytes of an extended CONNECT
}

// take gives a taker a part of the body. size is that of its frame. It returns false if the client
// holds too much memory.
func (t *takers) take(part []byte, size int64) bool {
	if t.tunnel != nil {
		t.tunnel.receive(part, size)
		return true
	}
	return t.upload.add(part, size)
}

func (s *stream) wake() {
	select {
	case s.open <- struct{}{}:
	default:
	}
}

// stop tells a handler that the stream has ended.
func (s *stream) stop() {
	select {
	case <-s.gone:
	default:
		close(s.gone)
	}
}

// short reports whether less of the request's body has arrived than was announced.
func (s *stream) short() bool { return s.received < s.length }

// newStream returns a stream that is not registered. It may be one that was refused, because the
// streams of a client that is refused again and again would be garbage.
func (c *Conn) newStream(id uint32) *stream {
	s := c.refused
	if c.refused = nil; s == nil {
		s = &stream{}
	}
	s.id, s.c, s.began, s.window, s.credit = id, c, c.now, c.sender.initial, ourWindow
	s.length, s.urgency = -1, defaultUrgency
	s.share.Client, s.held.Client = c.deadline.share.Client, c.deadline.share.Client
	s.share.Holder = s
	return s
}

// add registers a stream.
func (c *Conn) add(s *stream) {
	s.gone, s.open = make(chan struct{}), make(chan struct{}, 1)
	c.streams.add(s)
	for _, f := range c.decoder.fields {
		if string(f.Name) == "priority" {
			s.urgency = Urgency(f.Value)
		}
	}
	c.sweep()
}

const defaultUrgency = 3

// Urgency parses the u parameter of a Priority field (RFC 9218, section 4.1).
func Urgency(field []byte) byte {
	for part := range bytes.SplitSeq(field, []byte(",")) {
		if part = bytes.TrimSpace(part); len(part) == 3 && part[0] == 'u' && part[1] == '=' && '0' <= part[2] && part[2] <= '7' {
			return part[2] - '0'
		}
	}
	return defaultUrgency
}

// remove ends a stream, even if a handler still works on it.
func (c *Conn) remove(s *stream) {
	delete(c.streams.open, s.id)
	c.sender.remove(s)
	c.abandon(s)
}

// abandon drops a request that has no handler yet, and stops a handler.
func (c *Conn) abandon(s *stream) {
	if s.request != nil {
		c.load.headBytes -= s.head
		c.release(s, len(s.request.Body))
		s.request = nil
	} else if s.ended {
		c.release(s, 0)
	}
	s.stop()
}

// open opens a stream whose response is not ready.
func (c *Conn) open(id uint32, q parsedHeaders, ends bool) error {
	head := c.decoder.size + streamCost
	if len(c.streams.open) >= MaxStreams || !c.load.admits(head, ends) {
		return c.refuse(id)
	}
	s := c.newStream(id)
	s.head, s.length = head, q.length
	if !c.admit(s, q, ends) { // before anything else is made for it
		c.refused = s
		return c.refuse(id)
	}
	c.add(s)
	c.load.headBytes += head
	s.request = &Request{
		Method: string(q.method), Authority: string(q.authority), Path: string(q.path),
		Fields: cloneFields(c.decoder.fields[min(q.regular, len(c.decoder.fields)):]), Client: c.request.Client,
		Secure: c.request.Secure, Tier: c.request.Tier,
	}
	switch {
	case q.protocol != nil && !c.decoder.truncated:
		s.request.Protocol = string(q.protocol)
		s.tunnel = newTunnel(c, s)
	case c.decoder.truncated:
		s.request.Refuse = http.StatusRequestHeaderFieldsTooLarge
	case !ends && c.uploads(q):
		return c.startUpload(s, q)
	case q.length > int64(c.srv.config.MaxBody):
		s.request.Refuse = http.StatusRequestEntityTooLarge
	case ends:
	case q.expects:
		c.sendContinue(id)
		return nil
	default:
		return nil
	}
	s.whole = ends
	return c.runHandler(s)
}

// admit reports whether there is memory for a request: for its fields until it is complete, or for
// its handler if that begins at once.
func (c *Conn) admit(s *stream, q parsedHeaders, ends bool) bool {
	room := c.srv.config.Bodies
	s.share.Whole = ends
	if ends || c.decoder.truncated || q.protocol != nil || c.uploads(q) || q.length > int64(c.srv.config.MaxBody) {
		return room.ReserveShare(&s.share, s.handlerCosts(q.protocol != nil)) == nil
	}
	return room.Reserve(&s.share, int64(s.head)) == nil
}

// handlerCosts returns the bytes that the handler of a request takes.
func (s *stream) handlerCosts(tunnel bool) int64 {
	costs := int64(fieldCopies*s.head + HandlerCosts)
	if tunnel {
		costs += ourWindow
	}
	return costs
}

// End implements bodies.Holder: it resets the stream, because its client holds more than others
// that need the memory.
func (s *stream) End() {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams.open[s.id] != s || !c.srv.config.Bodies.Leaves(&s.share) {
		return
	}
	code := http2.ErrCodeEnhanceYourCalm
	if s.request != nil { // no handler has seen it, so the client may send it again
		code = http2.ErrCodeRefusedStream
	}
	c.srv.counts.refused.Add(1)
	c.sendReset(s.id, code)
	c.remove(s)
	c.flush()
	c.publishState()
}

// refuse resets a stream whose request no handler has seen, so that the client may send it again
// (RFC 9113, section 8.7). A client that continues uses up its credit (flood.go).
func (c *Conn) refuse(id uint32) error {
	c.srv.counts.refused.Add(1)
	return reset(id, http2.ErrCodeRefusedStream)
}

// cloneFields copies fields into one piece of memory, so that they outlast their block.
func cloneFields(fields []Field) []Field {
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

// data handles a part of a request's body, and opens the windows again while there is room (RFC
// 9113, sections 6.1 and 6.9).
func (c *Conn) data(f frame) error {
	if f.stream == 0 || f.stream > c.streams.last && f.stream <= c.streams.lastAllowed || f.stream%2 == 0 {
		return connectionError(http2.ErrCodeProtocol, "DATA on an idle stream")
	}
	size := int64(len(f.payload)) // including padding
	if err := f.unpad(); err != nil {
		return err
	}
	s := c.streams.open[f.stream]
	if s == nil || s.whole {
		c.returnWindow(0, size)
		if s == nil && c.streams.ignored(f.stream) {
			return c.discard(f.stream, len(f.payload), f.flags.Has(http2.FlagDataEndStream))
		}
		return reset(f.stream, http2.ErrCodeStreamClosed)
	}
	if s.credit -= size; s.credit < 0 {
		return reset(f.stream, http2.ErrCodeFlowControl)
	}
	s.received += int64(len(f.payload))
	if len(f.payload) > 0 {
		c.use.last = c.now
	}
	c.returnWindow(0, size)
	if s.length >= 0 && s.received > s.length {
		return reset(f.stream, http2.ErrCodeProtocol)
	}
	ends := f.flags.Has(http2.FlagDataEndStream)
	if s.tunnel != nil || s.upload != nil {
		if !s.take(f.payload, size) {
			return reset(f.stream, http2.ErrCodeEnhanceYourCalm)
		}
		if ends {
			return c.complete(s)
		}
		return nil
	}
	if s.request != nil {
		if s.request.Refuse = c.appendBody(s, f.payload); s.request.Refuse != 0 {
			if err := c.runHandler(s); err != nil {
				return err
			}
		}
	}
	if ends {
		return c.complete(s)
	}
	s.credit += size
	c.returnWindow(f.stream, size)
	return nil
}

// appendBody adds a part to a request's body, or returns the status with which the request must be
// refused.
func (c *Conn) appendBody(s *stream, part []byte) (refuse int) {
	switch {
	case s.received > int64(c.srv.config.MaxBody):
		return http.StatusRequestEntityTooLarge
	case !c.load.admitsBody(len(part)) || c.srv.config.Bodies.Body(&s.held, s.received) != nil:
		return http.StatusServiceUnavailable
	}
	s.request.Body = append(s.request.Body, part...)
	c.load.bodyBytes += len(part)
	return 0
}

// release gives back the memory of a request with a body of n bytes.
func (c *Conn) release(s *stream, n int) {
	c.load.bodyBytes -= n
	c.srv.config.Bodies.Release(&s.share)
	c.srv.config.Bodies.Release(&s.held)
}

// returnWindow opens a window by n received bytes at once, because other limits bound the buffered
// bodies.
func (c *Conn) returnWindow(stream uint32, n int64) {
	if n > 0 {
		c.out.append(appendCode(nil, http2.FrameWindowUpdate, stream, uint32(n)))
	}
}

// complete handles the end of a request.
func (c *Conn) complete(s *stream) error {
	s.whole = true
	if s.tunnel != nil {
		s.tunnel.wake()
		return nil
	}
	if s.short() && (s.upload == nil || !s.headersSent) {
		return reset(s.id, http2.ErrCodeProtocol) // RFC 9113, section 8.1.1
	}
	if s.upload != nil { // a short one, such as curl's after an error, fails, and not the response
		s.upload.wake()
	}
	if s.request != nil {
		return c.runHandler(s)
	}
	return nil
}

// runHandler makes start run the handler of a request. The number of handlers is limited, not that
// of streams, because a client that resets its streams does not end their handlers. If the client
// already holds too much memory, the stream is refused.
func (c *Conn) runHandler(s *stream) error {
	room := c.srv.config.Bodies
	s.share.Whole = s.whole
	room.Arrived(&s.share) // from here on the number of handlers is bounded instead
	if room.ReserveShare(&s.share, s.handlerCosts(s.tunnel != nil)) != nil {
		return c.refuse(s.id)
	}
	s.request.Began = c.now
	c.load.begin(s)
	s.request, s.began = nil, c.now
	return nil
}

// A load is what the requests on a connection take, besides the memory in Config.Bodies.
type load struct {
	bodyBytes int        // of bodies of requests
	headBytes int        // of header fields of incomplete requests
	handlers  int        // running now, or in starting
	starting  []starting // complete requests whose handlers have not begun
}

// admits reports whether there is room for a request with head bytes of fields. whole means that it
// has no body.
func (l *load) admits(head int, whole bool) bool {
	return l.handlers < MaxStreams && (whole || l.headBytes+head <= maxHeadBytes)
}

// admitsBody reports whether there is room for n more bytes of a body.
func (l *load) admitsBody(n int) bool { return l.bodyBytes+n <= maxBodyBytes }

// begin turns an incomplete request into one whose handler is about to start.
func (l *load) begin(s *stream) {
	l.starting = append(l.starting, starting{s, s.request})
	l.headBytes -= s.head
	l.handlers++
}

// A starting is a complete request whose handler has not begun.
type starting struct {
	s *stream
	r *Request
}

// start starts the handlers of the requests that were completed by the frames handled last. A
// request that its client reset in the same frames needs no handler.
func (c *Conn) start() {
	for _, one := range c.load.starting {
		select {
		case <-one.s.gone:
			c.load.handlers--
			c.release(one.s, len(one.r.Body))
		default:
			go c.handle(one.s, one.r)
		}
	}
	c.load.starting = nil
}

// handle runs the handler of a request.
func (c *Conn) handle(s *stream, r *Request) {
	n, w := len(r.Body), &Writer{c: c, s: s, Tunnel: s.tunnel, bodyless: r.Method == http.MethodHead}
	defer func() {
		recovered := recover()
		w.finish(recovered == nil)
		c.mu.Lock()
		c.load.handlers--
		c.release(s, n)
		c.mu.Unlock()
		if recovered != nil {
			panic(recovered)
		}
	}()
	c.srv.handler.Handle(w, r)
}

// sendQueued sends as much of the queued bodies as the windows allow.
func (c *Conn) sendQueued() error {
	for i := 0; i < len(c.sender.queue) && c.sender.window > 0; {
		s := c.sender.queue[i]
		for len(s.body) > 0 {
			part, last := c.sender.next(s)
			if part == nil {
				break
			}
			c.sendData(s, part, last)
		}
		if len(s.body) == 0 {
			c.remove(s)
			continue
		}
		i++
	}
	if c.out.size() > maxBatch {
		return c.flush()
	}
	return nil
}

func (c *Conn) sendData(s *stream, b []byte, last bool) {
	flags := http2.Flags(0)
	if last {
		flags = http2.FlagDataEndStream
	}
	c.sender.sent(s, len(b))
	c.flood.earnBytes(len(b))
	var head [frameHead]byte
	putHead(head[:], len(b), http2.FrameData, flags, s.id)
	c.out.append(head[:])
	c.out.append(b)
}

// streams holds the open streams of a connection, and knows how the others ended.
type streams struct {
	open        map[uint32]*stream // nil: none
	last        uint32             // the highest stream that the client has opened
	lastAllowed uint32             // after GOAWAY: streams above this one are ignored
	resets      resets             // streams that this side has reset
	sweeping    bool               // a timer checks their deadlines
}

// idle reports whether a client has not opened a stream, and never can if its number is even.
func (t *streams) idle(id uint32) bool { return id > t.last || id%2 == 0 }

// ignored reports whether frames on a stream that is not open are no error, because the client may
// have sent them before it learned that the stream does not exist.
func (t *streams) ignored(id uint32) bool { return id > t.lastAllowed || t.resets.has(id) }

// finished reports whether all streams that GOAWAY has accepted have ended.
func (t *streams) finished() bool { return t.last >= t.lastAllowed && len(t.open) == 0 }

func (t *streams) add(s *stream) {
	if t.open == nil {
		t.open = map[uint32]*stream{}
	}
	t.open[s.id] = s
}

func (t *streams) wake() {
	for _, s := range t.open {
		s.wake()
	}
}

// maxResets is how many streams that it has reset a connection remembers. A client can't have more
// open at once.
const maxResets = MaxStreams

// resets remembers streams that this side has reset, the oldest first. Frames that the client sent
// on such a stream before it received the reset are ignored (RFC 9113, section 5.1); on a stream
// that ended otherwise they are an error. resets also has the streams that this side will reset,
// because their responses are complete and their requests are not. The client's frames on those
// are checked.
type resets []endedStream

// An endedStream is a stream that this side has reset or will reset.
type endedStream struct {
	id     uint32
	unread *stream // the stream, if it is not reset yet; nil: it was
}

func (r resets) index(id uint32) int {
	return slices.IndexFunc(r, func(one endedStream) bool { return one.id == id })
}

// add remembers a stream. A nil unread means that the stream was reset.
func (r *resets) add(id uint32, unread *stream) {
	r.remove(id)
	if len(*r) == maxResets {
		*r = slices.Delete(*r, 0, 1)
	}
	*r = append(*r, endedStream{id, unread})
}

// remove forgets a stream, because its client has ended it too. No reset is sent on it any more.
func (r *resets) remove(id uint32) {
	if i := r.index(id); i >= 0 {
		if s := (*r)[i].unread; s != nil {
			s.whole = true
		}
		*r = slices.Delete(*r, i, i+1)
	}
}

func (r resets) has(id uint32) bool { return r.index(id) >= 0 }

// unread returns a stream that this side will reset; nil: there is none.
func (r resets) unread(id uint32) *stream {
	if i := r.index(id); i >= 0 {
		return r[i].unread
	}
	return nil
}

// discard drops n bytes of a request's body that arrive after the end of the response, or after a
// reset. ends means that they are the last ones.
func (c *Conn) discard(id uint32, n int, ends bool) error {
	s := c.streams.resets.unread(id)
	if s == nil {
		return nil
	}
	s.received += int64(n)
	if s.length >= 0 && s.received > s.length {
		return reset(id, http2.ErrCodeProtocol) // RFC 9113, section 8.1.1
	}
	if ends {
		c.streams.resets.remove(id)
	}
	return nil
}

// sendReset tells the client that a stream has ended.
func (c *Conn) sendReset(stream uint32, code http2.ErrCode) {
	c.streams.resets.add(stream, nil)
	c.out.append(appendCode(nil, http2.FrameRSTStream, stream, uint32(code)))
}
