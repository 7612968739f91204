package h2

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/request"
)

const (
	leastBlock        = 32 << 10 // of a header block in several frames; or MaxList, if it is more
	maxContinuations  = 8        // or one for each leastContinuation bytes of MaxList
	leastContinuation = 4 << 10
	maxLongLists      = 2 // header lists above the limit; a single one may be a mistake
)

// A block is an incomplete header block.
type block struct {
	stream    uint32 // 0: none
	ends      bool   // the stream ends with the block
	frames    int
	longLists int // header lists above the limit on this connection
	payload   []byte
}

func (b *block) open() bool { return b.stream != 0 }

// headers opens a stream or ends it with trailers (RFC 9113, sections 6.2 and 8.1).
func (c *Conn) headers(f frame) error {
	if f.stream%2 == 0 {
		return connectionError(http2.ErrCodeProtocol, "a stream of a client must have an odd number")
	}
	if err := f.unpad(); err != nil {
		return err
	}
	if f.flags.Has(http2.FlagHeadersPriority) {
		if len(f.payload) < 5 {
			return connectionError(http2.ErrCodeFrameSize, "HEADERS is too short for its priority")
		}
		if binary.BigEndian.Uint32(f.payload)&maxWindow == f.stream {
			return connectionError(http2.ErrCodeProtocol, "a stream depends on itself")
		}
		f.payload = f.payload[5:]
	}
	ends := f.flags.Has(http2.FlagHeadersEndStream)
	if !f.flags.Has(http2.FlagHeadersEndHeaders) {
		c.block.stream, c.block.ends, c.block.frames = f.stream, ends, 0
		c.block.payload = append(c.block.payload[:0], f.payload...)
		return nil
	}
	return c.headerBlock(f.stream, f.payload, ends)
}

func (c *Conn) continuation(f frame) error {
	b := &c.block
	if !b.open() {
		return connectionError(http2.ErrCodeProtocol, "CONTINUATION without HEADERS")
	}
	list := c.srv.config.MaxList
	if b.frames++; b.frames > max(maxContinuations, list/leastContinuation) || len(b.payload)+len(f.payload) > max(leastBlock, list) {
		return connectionError(http2.ErrCodeEnhanceYourCalm, "a header block is too long")
	}
	b.payload = append(b.payload, f.payload...)
	if !f.flags.Has(http2.FlagContinuationEndHeaders) {
		return nil
	}
	stream := b.stream
	b.stream = 0
	err := c.headerBlock(stream, b.payload, b.ends)
	b.payload = nil // header blocks in several frames are rare
	return err
}

// headerBlock handles a complete header block. It decodes the block even if the stream is refused,
// so that the tables of both sides stay the same.
func (c *Conn) headerBlock(stream uint32, payload []byte, ends bool) error {
	if err := c.decoder.decode(payload, c.srv.config.MaxList); err != nil {
		return connectionError(http2.ErrCodeCompression, err.Error())
	}
	if c.decoder.truncated {
		if c.block.longLists++; c.block.longLists >= maxLongLists {
			return connectionError(http2.ErrCodeEnhanceYourCalm, "header lists are too long")
		}
	}
	if stream <= c.streams.last {
		return c.trailers(stream, ends)
	}
	if stream > c.streams.lastAllowed {
		return nil // after GOAWAY
	}
	c.use.last = c.now
	if c.streams.last = stream; c.phase.draining {
		c.sendGoAway()
	}
	q, err := c.parseHeaders(stream)
	switch {
	case err != nil:
		return err
	case ends && q.length > 0:
		return reset(stream, http2.ErrCodeProtocol) // RFC 9113, section 8.1.1
	case ends && q.plain == request.Eligible && !c.decoder.truncated && !c.sender.full() && len(c.streams.open) < MaxStreams:
		if done, err := c.answerReady(stream); done || err != nil {
			return err
		}
	}
	return c.open(stream, q, ends)
}

// trailers ends a request's body. The handler gets trailer fields only if it gets any body, because
// no other route uses them.
func (c *Conn) trailers(stream uint32, ends bool) error {
	s, late := c.streams.open[stream], c.streams.resets.has(stream)
	switch {
	case late && c.streams.resets.unread(stream) == nil:
		return nil
	case !late && (s == nil || s.whole):
		return connectionError(http2.ErrCodeStreamClosed, "HEADERS on a stream that has ended")
	case !ends, slices.ContainsFunc(c.decoder.fields, func(f Field) bool { return f.invalid || f.Name[0] == ':' }):
		return reset(stream, http2.ErrCodeProtocol)
	case late:
		return c.discard(stream, 0, true)
	case c.decoder.truncated || !c.addTrailer(s):
		return reset(stream, http2.ErrCodeEnhanceYourCalm)
	}
	return c.complete(s)
}

// addTrailer gives a request the trailer fields that the decoder has. It returns false if the
// client holds too much memory.
func (c *Conn) addTrailer(s *stream) bool {
	room, size := c.srv.config.Bodies, int64(c.decoder.size)
	switch {
	case !c.srv.config.Uploads || len(c.decoder.fields) == 0:
	case s.upload != nil:
		if room.Reserve(&s.held, uploadCosts+size) != nil {
			return false
		}
		s.upload.trailer = cloneFields(c.decoder.fields)
	case s.request != nil:
		if room.Body(&s.held, s.received+size) != nil {
			return false
		}
		s.request.Trailer = cloneFields(c.decoder.fields)
	}
	return true
}

// parsedHeaders is the content of a request's header block.
type parsedHeaders struct {
	method, scheme, authority, path []byte
	// Of an extended CONNECT (RFC 8441, section 4); nil: none.
	protocol []byte
	plain    request.State
	length   int64 // Content-Length; -1: none
	expects  bool  // the client waits for a 100 before it sends the body
	regular  int   // index of the first field that is not a pseudo field
}

// parseHeaders parses the fields (RFC 9113, section 8.3). A malformed request is a stream error.
func (c *Conn) parseHeaders(stream uint32) (q parsedHeaders, err error) {
	c.request.Reset()
	q.length = -1
	fields := c.decoder.fields
	for i := range fields {
		f := &fields[i]
		if f.invalid {
			return q, reset(stream, http2.ErrCodeProtocol)
		}
		if f.Name[0] == ':' {
			if q.regular < i || !q.pseudo(f) {
				return q, reset(stream, http2.ErrCodeProtocol)
			}
			q.regular = i + 1
			continue
		}
		if !q.field(f) {
			return q, reset(stream, http2.ErrCodeProtocol)
		}
		q.plain = max(q.plain, c.request.Field(f.Name, f.Value))
	}
	if c.decoder.truncated {
		return q, nil // it will be refused, whatever the dropped fields are
	}
	if !q.complete() || q.protocol != nil && !c.srv.config.Tunnels {
		return q, reset(stream, http2.ErrCodeProtocol)
	}
	if c.request.Head = string(q.method) == "HEAD"; !c.request.Head && string(q.method) != "GET" {
		q.plain = request.Ineligible
	}
	q.plain = max(q.plain, c.request.SetTarget(q.path))
	if c.request.Host != nil && !bytes.Equal(c.request.Host, q.authority) || len(q.authority) == 0 {
		q.plain = request.Ineligible
	}
	c.request.Host = q.authority
	return q, nil
}

// complete reports whether a request has the pseudo fields that it must have, and no others (RFC
// 9113, sections 8.3.1 and 8.5).
func (q *parsedHeaders) complete() bool {
	switch {
	case q.protocol != nil:
		return q.extendsConnect()
	case string(q.method) == "CONNECT":
		return q.scheme == nil && q.path == nil
	}
	return len(q.method) > 0 && len(q.scheme) > 0 && len(q.path) > 0
}

// pseudo stores a pseudo field. Each may come once.
func (q *parsedHeaders) pseudo(f *Field) bool {
	at := &q.method
	switch string(f.Name) {
	case ":method":
	case ":scheme":
		at = &q.scheme
	case ":authority":
		at = &q.authority
	case ":path":
		at = &q.path
	case ":protocol":
		at = &q.protocol
	default:
		return false
	}
	if *at != nil {
		return false
	}
	if *at = f.Value; *at == nil {
		*at = []byte{}
	}
	return true
}

// field checks a field. Connection-specific fields are not allowed (section 8.2.2).
func (q *parsedHeaders) field(f *Field) bool {
	switch string(f.Name) {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return false
	case "te":
		return string(f.Value) == "trailers"
	case "content-length":
		n, err := strconv.ParseUint(string(f.Value), 10, 63)
		if err != nil || q.length >= 0 && q.length != int64(n) {
			return false
		}
		q.length = int64(n)
	case "expect":
		q.expects = string(f.Value) == "100-continue"
	}
	return true
}

// answerReady answers a request at once if its response is ready.
func (c *Conn) answerReady(stream uint32) (bool, error) {
	out := c.out.take()
	start := len(*out)
	c.request.Now = c.now
	dst := c.encoder.begin(append(*out, make([]byte, frameHead)...))
	head := len(dst)
	dst, size, ok := c.srv.answerer.AnswerH2(dst, &c.request, &c.encoder.table)
	if !ok {
		*out = (*out)[:start]
		return false, nil
	}
	c.encoder.begun()
	c.answered++
	c.flood.earn(creditPerResponse)
	size += head - start - frameHead
	body := start + frameHead + size
	if body == len(dst) {
		putHead(dst[start:], size, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, stream)
		*out = dst
		return true, nil
	}
	putHead(dst[start:], size, http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream)
	length := len(dst) - body - Gap
	if c.sender.allowsNew(length) {
		putHead(dst[body:], length, http2.FrameData, http2.FlagDataEndStream, stream)
		c.sender.window -= int64(length)
		c.flood.earnBytes(length)
		*out = dst
		return true, nil
	}
	*out = dst[:body]
	s := c.newStream(stream)
	s.whole, s.ended = true, true
	c.add(s)
	if c.srv.config.Bodies.ReserveResponse(&s.share, int64(length+streamCost)) != nil {
		// The header block is sent nevertheless, because the tables of both sides must stay the
		// same.
		return true, reset(stream, http2.ErrCodeEnhanceYourCalm)
	}
	s.body = bytes.Clone(dst[body+Gap:])
	c.sender.enqueue(s)
	return true, c.sendQueued()
}
