package h3

import (
	"errors"
	"io"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/iconedge/iconedge/edge/h2"
)

// The types of unidirectional streams (RFC 9114, section 6.2; RFC 9204, section 4.2).
const (
	streamControl = 0x00
	streamPush    = 0x01
	streamEncoder = 0x02
	streamDecoder = 0x03
)

// The errors of QPACK that http3 has no names for (RFC 9204, section 6).
const (
	errEncoderStream http3.ErrCode = 0x201
	errDecoderStream http3.ErrCode = 0x202
)

const (
	// maxSettings and maxPriority are the longest payloads of SETTINGS and of PRIORITY_UPDATE that
	// the edge reads.
	maxSettings = 8 << 10
	maxPriority = 1 << 10
)

// Unidirectional reads a stream of the client until it ends, or the connection. http3 would accept
// much that closes the connection according to the RFCs: settings and frames of HTTP/2 alone,
// identifiers that go backwards, and any bytes on the streams of QPACK.
func (c *Conn) Unidirectional(stream *quic.ReceiveStream) {
	r := &frameReader{stream: stream}
	kind, err := quicvarint.Read(r)
	if err != nil {
		return
	}
	switch {
	case kind > streamDecoder: // reserved, or unknown (section 6.2.3)
		stream.CancelRead(quic.StreamErrorCode(http3.ErrCodeStreamCreationError))
		return
	case kind == streamPush || c.opened[kind].Swap(true):
		c.Close(http3.ErrCodeStreamCreationError)
		return
	}
	var code http3.ErrCode
	switch kind {
	case streamControl:
		code, err = c.control(r)
	case streamEncoder:
		code, err = encoder(r)
	default:
		code, err = decoderStream(r)
	}
	switch {
	case err == nil:
		c.Close(code)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(*quic.StreamError)):
		c.Close(http3.ErrCodeClosedCriticalStream)
	}
}

// control reads the control stream (RFC 9114, section 6.2.1). It returns the error with which the
// connection must be closed, or that of the stream.
func (c *Conn) control(r *frameReader) (http3.ErrCode, error) {
	goAway, maxPush := uint64(1)<<62, uint64(0)
	for first := true; ; first = false {
		kind, length, err := r.next()
		switch {
		case err != nil:
			return 0, err
		case first && kind != frameSettings:
			return http3.ErrCodeMissingSettings, nil
		case !isKnown(kind):
			if err := r.skip(length); err != nil {
				return 0, err
			}
			continue
		}
		var id uint64
		var rest []byte
		switch kind {
		case frameSettings:
			if !first {
				return http3.ErrCodeFrameUnexpected, nil
			}
			if code, err := readSettings(r, length); code != 0 || err != nil {
				return code, err
			}
			continue
		case frameCancelPush, frameGoAway, frameMaxPushID, framePriority, framePriorityOfPush:
			if length > maxPriority {
				return http3.ErrCodeExcessiveLoad, nil
			}
			payload, err := r.payload(length)
			if err != nil {
				return 0, err
			}
			n := 0
			if id, n, err = quicvarint.Parse(payload); err != nil || n < len(payload) && kind <= frameMaxPushID {
				return http3.ErrCodeFrameError, nil
			}
			rest = payload[n:]
		default:
			return http3.ErrCodeFrameUnexpected, nil
		}
		switch kind {
		case frameGoAway:
			if id > goAway {
				return http3.ErrCodeIDError, nil
			}
			goAway = id
		case frameMaxPushID:
			if id < maxPush {
				return http3.ErrCodeIDError, nil
			}
			maxPush = id
		case framePriority:
			// An ID that counts as many streams again allows for those that are not accepted yet.
			if id%4 != 0 || id/4 >= uint64(c.accepted.Load())+2*h2.MaxStreams {
				return http3.ErrCodeIDError, nil
			}
			c.prioritise(quic.StreamID(id), rest)
		default: // of a push, and the edge has promised none
			return http3.ErrCodeIDError, nil
		}
	}
}

// readSettings reads and checks SETTINGS (RFC 9114, section 7.2.4).
func readSettings(r *frameReader, length uint64) (http3.ErrCode, error) {
	if length > maxSettings {
		return http3.ErrCodeExcessiveLoad, nil
	}
	payload, err := r.payload(length)
	if err != nil {
		return 0, err
	}
	seen := map[uint64]bool{}
	for len(payload) > 0 {
		id, n, err := quicvarint.Parse(payload)
		if err != nil {
			return http3.ErrCodeFrameError, nil
		}
		value, m, err := quicvarint.Parse(payload[n:])
		if err != nil {
			return http3.ErrCodeFrameError, nil
		}
		payload = payload[n+m:]
		switch {
		case seen[id], id >= 2 && id <= 5: // of HTTP/2 (section 7.2.4.1)
			return http3.ErrCodeSettingsError, nil
		case (id == 0x08 || id == 0x33) && value > 1: // RFC 9220, 3; RFC 9297, 2.1.1
			return http3.ErrCodeSettingsError, nil
		}
		seen[id] = true
	}
	return 0, nil
}

// encoder reads the encoder stream of the client. The edge has no dynamic table, so nothing may
// come but a capacity of 0 (RFC 9204, section 4.3.1).
func encoder(r *frameReader) (http3.ErrCode, error) {
	for {
		switch b, err := r.ReadByte(); {
		case err != nil:
			return 0, err
		case b != 0x20:
			return errEncoderStream, nil
		}
	}
}

// decoderStream reads the decoder stream of the client. The edge's field sections refer to no
// dynamic table, so nothing may come but cancellations of streams (RFC 9204, section 4.4.2).
func decoderStream(r *frameReader) (http3.ErrCode, error) {
	const longest = 9 // bytes of an integer after its prefix
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if b&0xc0 != 0x40 {
			return errDecoderStream, nil
		}
		if b&0x3f != 0x3f {
			continue
		}
		for n := 0; ; n++ {
			if b, err = r.ReadByte(); err != nil {
				return 0, err
			}
			if b&0x80 == 0 {
				break
			}
			if n == longest {
				return errDecoderStream, nil
			}
		}
	}
}
