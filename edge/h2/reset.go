package h2

import (
	"slices"

	"golang.org/x/net/http2"
)

// maxResets is how many streams that it has reset a connection remembers. A client can't have more
// open at once.
const maxResets = MaxStreams

// resets remembers streams that this side has reset. Frames that the client sent on such a stream
// before it received the reset are ignored (RFC 9113, section 5.1); on a stream that ended
// otherwise they are an error.
type resets struct {
	streams []uint32 // nil: none
	next    int      // the index that is overwritten next, once all are used
}

func (r *resets) add(stream uint32) {
	switch {
	case r.has(stream):
	case len(r.streams) < maxResets:
		r.streams = append(r.streams, stream)
	default:
		r.streams[r.next] = stream
		r.next = (r.next + 1) % maxResets
	}
}

func (r *resets) has(stream uint32) bool { return slices.Contains(r.streams, stream) }

// sendReset sends RST_STREAM.
// sendReset tells the client that a stream has ended.
func (c *Conn) sendReset(stream uint32, code http2.ErrCode) {
	c.resets.add(stream)
	c.append(appendCode(nil, http2.FrameRSTStream, stream, uint32(code)))
}
