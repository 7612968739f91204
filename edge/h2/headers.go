package h2

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/plain"
)

const (
	maxBlock         = 32 << 10 // bytes of a header block in several frames
	maxContinuations = 8
	manyLong         = 2 // header lists that are too long: one is a mistake
)

// A block is a header block of which more is to come.
type block struct {
	stream  uint32 // 0: none
	ends    bool   // the stream ends with it
	frames  int
	long    int // lists that were too long, on this connection
	payload []byte
}

func (b *block) open() bool { return b.stream != 0 }

// headers begins a stream, or brings the trailers of one (RFC 9113, sections 6.2 and 8.1).
func (c *Conn) headers(f frame) error {
	if f.stream%2 == 0 {
		return broken(http2.ErrCodeProtocol, "a client's streams have odd numbers")
	}
	if err := f.unpad(); err != nil {
		return err
	}
	if f.flags.Has(http2.FlagHeadersPriority) {
		if len(f.payload) < 5 {
			return broken(http2.ErrCodeFrameSize, "HEADERS without the priority that it announces")
		}
		if binary.BigEndian.Uint32(f.payload)&maxWindow == f.stream {
			return broken(http2.ErrCodeProtocol, "a stream that depends on itself")
		}
		f.payload = f.payload[5:]
	}
	ends := f.flags.Has(http2.FlagHeadersEndStream)
	if !f.flags.Has(http2.FlagHeadersEndHeaders) {
		c.block.stream, c.block.ends, c.block.frames = f.stream, ends, 0
		c.block.payload = append(c.block.payload[:0], f.payload...)
		return nil
	}
	return c.decoded(f.stream, f.payload, ends)
}

func (c *Conn) continuation(f frame) error {
	b := &c.block
	if !b.open() {
		return broken(http2.ErrCodeProtocol, "CONTINUATION of nothing")
	}
	if b.frames++; b.frames > maxContinuations || len(b.payload)+len(f.payload) > maxBlock {
		return broken(http2.ErrCodeEnhanceYourCalm, "a header block is too long")
	}
	b.payload = append(b.payload, f.payload...)
	if !f.flags.Has(http2.FlagContinuationEndHeaders) {
		return nil
	}
	stream := b.stream
	b.stream = 0
	err := c.decoded(stream, b.payload, b.ends)
	b.payload = nil // seldom are there two
	return err
}

// decoded takes a whole header block. It is decoded whatever becomes of its stream: the tables of both sides are to stay the same.
func (c *Conn) decoded(stream uint32, payload []byte, ends bool) error {
	if err := c.decoder.decode(payload, c.srv.config.MaxList); err != nil {
		return broken(http2.ErrCodeCompression, err.Error())
	}
	if c.decoder.over {
		if c.block.long++; c.block.long >= manyLong {
			return broken(http2.ErrCodeEnhanceYourCalm, "header lists are too long")
		}
	}
	if stream <= c.last {
		return c.trailers(stream, ends)
	}
	if stream > c.final {
		return nil // after GOAWAY
	}
	c.used = c.now
	if c.last = stream; c.leaving {
		c.announce()
	}
	q, err := c.request(stream)
	switch {
	case err != nil:
		return err
	case ends && q.length > 0:
		return reset(stream, http2.ErrCodeProtocol) // RFC 9113, section 8.1.1
	case ends && q.plain == plain.Plain && !c.decoder.over && c.waiting < maxWaiting && len(c.streams) < MaxStreams:
		if done, err := c.ready(stream); done || err != nil {
			return err
		}
	}
	return c.open(stream, q, ends)
}

// trailers end a request's body. They are dropped: no route of ours has a use for them.
func (c *Conn) trailers(stream uint32, ends bool) error {
	s := c.streams[stream]
	switch {
	case s == nil && c.resets.has(stream):
		return nil
	case s == nil || s.whole:
		return broken(http2.ErrCodeStreamClosed, "HEADERS on a stream that has ended")
	case !ends, slices.ContainsFunc(c.decoder.fields, func(f Field) bool { return f.bad || f.Name[0] == ':' }):
		return reset(stream, http2.ErrCodeProtocol)
	}
	return c.complete(s)
}

// An asked is what a header block says.
type asked struct {
	method, scheme, authority, path []byte
	plain                           plain.State
	length                          int64 // of the body, by Content-Length; -1: not told
	expects                         bool  // a 100 before the body
	regular                         int   // index of the first field that is no pseudo field
}

// request reads the fields (RFC 9113, section 8.3). What is malformed is an error of its stream.
func (c *Conn) request(stream uint32) (q asked, err error) {
	c.plain.Begin()
	q.length = -1
	fields := c.decoder.fields
	for i := range fields {
		f := &fields[i]
		if f.bad {
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
		q.plain = max(q.plain, c.plain.Field(f.Name, f.Value))
	}
	if c.decoder.over {
		return q, nil // it is refused, whatever is in the rest
	}
	if connect := string(q.method) == "CONNECT"; len(q.method) == 0 || !connect && (len(q.scheme) == 0 || len(q.path) == 0) || connect && (q.scheme != nil || q.path != nil) {
		return q, reset(stream, http2.ErrCodeProtocol)
	}
	if string(q.method) != "GET" {
		q.plain = plain.Other
	}
	q.plain = max(q.plain, c.plain.Aim(q.path))
	if c.plain.Host != nil && !bytes.Equal(c.plain.Host, q.authority) || len(q.authority) == 0 {
		q.plain = plain.Other
	}
	c.plain.Host = q.authority
	return q, nil
}

// pseudo takes a pseudo field, each of which comes once.
func (q *asked) pseudo(f *Field) bool {
	at := &q.method
	switch string(f.Name) {
	case ":method":
	case ":scheme":
		at = &q.scheme
	case ":authority":
		at = &q.authority
	case ":path":
		at = &q.path
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

// field judges a field: none is about the connection (section 8.2.2).
func (q *asked) field(f *Field) bool {
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

// ready answers a stream at once, if its answer is ready.
func (c *Conn) ready(stream uint32) (bool, error) {
	if c.out == nil {
		c.out = outBuffers.take()
	}
	start := len(*c.out)
	head := start + frameHead
	c.plain.Now = c.now
	dst := append(*c.out, make([]byte, frameHead)...)
	if c.shrunk {
		dst, head = append(dst, 0x20), head+1 // the table has no place (RFC 7541, section 4.2)
	}
	dst, size, ok := c.srv.answerer.AnswerH2(dst, &c.plain, &c.memory)
	if !ok {
		*c.out = (*c.out)[:start]
		return false, nil
	}
	c.shrunk = false
	c.calm.earn(forAnswer)
	size += head - start - frameHead
	body := start + frameHead + size
	if body == len(dst) {
		putHead(dst[start:], size, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, stream)
		*c.out = dst
		return true, nil
	}
	putHead(dst[start:], size, http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream)
	length := len(dst) - body - Gap
	if n := int64(length); length <= maxFrame && n <= c.window && n <= c.initial {
		putHead(dst[body:], length, http2.FrameData, http2.FlagDataEndStream, stream)
		c.window -= n
		c.calm.earn(length / bytesForOne)
		*c.out = dst
		return true, nil
	}
	*c.out = dst[:body]
	s := c.add(stream)
	s.whole, s.ended = true, true
	if c.srv.config.Bodies.Keep(&s.share, int64(length+streamCosts)) != nil {
		return true, reset(stream, http2.ErrCodeEnhanceYourCalm) // its head can't be taken back: the tables of both sides are to stay the same
	}
	s.body = bytes.Clone(dst[body+Gap:])
	c.enqueue(s)
	return true, c.pump()
}
