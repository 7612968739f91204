package h3

import (
	"errors"
	"io"
	"net/http"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	"golang.org/x/net/http/httpguts"

	"github.com/iconedge/iconedge/edge/h2"
)

// Begin reads the frames before the HEADERS frame of a request, usually none, and waits until that
// frame has arrived. It reports false if the stream must not be read further: it has
// reset the stream or closed the connection (RFC 9114, section 4.1).
func (c *Conn) Begin(stream *quic.Stream) bool {
	for {
		head := make([]byte, 1)
		n, err := stream.Peek(head)
		if err == nil && head[0] == frameHeaders {
			return c.beginsWhole(stream)
		}
		r := &frameReader{stream: stream}
		kind, length, err := r.next()
		if n == 0 && errors.Is(err, io.EOF) {
			cancel(stream, http3.ErrCodeRequestIncomplete)
			return false
		}
		if err == nil && !isKnown(kind) {
			err = r.skip(length)
		}
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			c.Close(http3.ErrCodeFrameError)
			return false
		case err != nil:
			cancel(stream, http3.ErrCodeRequestIncomplete)
			return false
		case isKnown(kind):
			c.Close(http3.ErrCodeFrameUnexpected)
			return false
		}
	}
}

// beginsWhole waits until the HEADERS frame has arrived with which a stream begins, unless it is
// too long, or others wait too. http3 would take a frame that is cut off for an abandoned request.
func (c *Conn) beginsWhole(stream *quic.Stream) bool {
	head := make([]byte, 9) // a type and a length
	_, err := stream.Peek(head[:2])
	if err == nil {
		head = head[:1+1<<(head[1]>>6)]
		_, err = stream.Peek(head)
	}
	if err == nil {
		if length, _, _ := quicvarint.Parse(head[1:]); length <= uint64(c.MaxList) {
			err = c.await(stream, make([]byte, len(head)+int(length)))
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		c.Close(http3.ErrCodeFrameError)
		return false
	}
	return true // http3 sees any other error too
}

// cancel ends both directions of a stream.
func cancel(stream *quic.Stream, code http3.ErrCode) {
	stream.CancelRead(quic.StreamErrorCode(code))
	stream.CancelWrite(quic.StreamErrorCode(code))
}

// Ended closes the connection if http3 has reset a stream with an error that concerns all of it:
// fields that can't be decoded (RFC 9204, section 2.2).
func (c *Conn) Ended(cause error) {
	var reset *quic.StreamError
	if errors.As(cause, &reset) && !reset.Remote && reset.ErrorCode == quic.StreamErrorCode(http3.ErrCodeQPACKDecompressionFailed) {
		c.Close(http3.ErrCodeQPACKDecompressionFailed)
	}
}

// A Body is the content of a request: its DATA frames, and behind them its trailers. http3 would
// take a frame that is cut off for the end of the request, and would skip frames that must not
// come. It is an io.ReadCloser.
type Body struct {
	conn   *Conn
	stream *quic.Stream
	frames frameReader
	length int64  // still to come, as announced; negative: unknown
	left   uint64 // of the frame
	last   bool   // the trailers have come
	learn  func(trailer http.Header)
	err    error
}

// NewBody returns the content of a request whose HEADERS frame has been read, and of which the
// client has announced a length; negative: it has not. learn gets the trailers before the end is
// read.
func (c *Conn) NewBody(stream *quic.Stream, length int64, learn func(trailer http.Header)) *Body {
	return &Body{conn: c, stream: stream, frames: frameReader{stream: stream}, length: length, learn: learn}
}

// errMalformed is the error of a body after which the stream or the connection has ended.
var errMalformed = errors.New("the content of the request is malformed")

// Read implements io.Reader.
func (b *Body) Read(p []byte) (n int, err error) {
	for b.err == nil && b.left == 0 {
		b.err = b.next()
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err = b.stream.Read(p[:min(uint64(len(p)), b.left)])
	b.left -= uint64(n)
	if b.length > 0 {
		b.length -= int64(n)
	}
	if err == io.EOF {
		if b.err = io.EOF; b.left > 0 {
			b.err = b.violates(http3.ErrCodeFrameError)
		} else if b.length > 0 {
			b.err = b.malformed()
		}
		if n > 0 && b.err == io.EOF {
			err = nil
		} else {
			err = b.err
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *Body) Close() error {
	b.stream.CancelRead(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
	return nil
}

// next reads frames up to the next one of DATA, or the end.
func (b *Body) next() error {
	kind, length, err := b.frames.next()
	switch {
	case err == io.EOF && b.length > 0:
		return b.malformed()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return b.violates(http3.ErrCodeFrameError)
	case err != nil:
		return err
	case kind <= frameHeaders && b.last, kind > frameHeaders && isKnown(kind):
		return b.violates(http3.ErrCodeFrameUnexpected)
	case kind == frameData:
		if b.length >= 0 && length > uint64(b.length) {
			return b.malformed()
		}
		b.left = length
		return nil
	case kind == frameHeaders:
		b.last = true
		return b.trailers(length)
	}
	err = b.frames.skip(length)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return b.violates(http3.ErrCodeFrameError)
	}
	return err
}

// trailers reads the trailer section.
func (b *Body) trailers(length uint64) error {
	if length > uint64(b.conn.MaxList) {
		cancel(b.stream, http3.ErrCodeExcessiveLoad)
		return errMalformed
	}
	section, err := b.frames.payload(length)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return b.violates(http3.ErrCodeFrameError)
	}
	if err != nil {
		return err
	}
	trailer, size := http.Header{}, 0
	for next := qpack.NewDecoder().Decode(section); ; {
		f, err := next()
		switch {
		case err == io.EOF:
			b.learn(trailer)
			return nil
		case err != nil:
			return b.violates(http3.ErrCodeQPACKDecompressionFailed)
		}
		if size += len(f.Name) + len(f.Value) + fieldCost; size > b.conn.MaxList {
			cancel(b.stream, http3.ErrCodeExcessiveLoad)
			return errMalformed
		}
		name, value := []byte(f.Name), []byte(f.Value)
		valid := len(name) > 0 && h2.IsName(name) && h2.IsValue(value)
		if !valid || f.IsPseudo() || !isPlain(&field{name, value}) || !httpguts.ValidTrailerHeader(f.Name) {
			return b.malformed()
		}
		trailer.Add(f.Name, f.Value)
	}
}

// malformed resets the stream of a malformed request (RFC 9114, section 4.1.2).
func (b *Body) malformed() error {
	cancel(b.stream, http3.ErrCodeMessageError)
	return errMalformed
}

// violates closes the connection.
func (b *Body) violates(code http3.ErrCode) error {
	b.conn.Close(code)
	return errMalformed
}
