package h2

import (
	"slices"

	"golang.org/x/net/http2"
)

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

// sendReset tells the client that a stream has ended.
func (c *Conn) sendReset(stream uint32, code http2.ErrCode) {
	c.streams.resets.add(stream)
	c.out.append(appendCode(nil, http2.FrameRSTStream, stream, uint32(code)))
}
