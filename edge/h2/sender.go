package h2

import (
	"slices"

	"golang.org/x/net/http2"
)

// A sender decides how much of which body may be sent: by the windows of the connection and of each
// stream (RFC 9113, section 5.2), and in the order of urgency (RFC 9218).
type sender struct {
	window  int64     // for bodies on all streams
	initial int64     // window of a new stream
	queue   []*stream // streams whose bodies wait for a window, in the order of sending
	queued  int       // bytes of these bodies
}

// allows returns how many of n bytes may be sent on a stream, in one frame.
func (d *sender) allows(s *stream, n int) int {
	return int(min(int64(n), maxFrame, d.window, s.window))
}

// allowsNew reports whether all of n bytes may be sent on a new stream, in one frame.
func (d *sender) allowsNew(n int) bool {
	return n <= maxFrame && int64(n) <= d.window && int64(n) <= d.initial
}

// sent takes n bytes from the windows.
func (d *sender) sent(s *stream, n int) {
	d.window -= int64(n)
	s.window -= int64(n)
	s.sent += int64(n)
}

// full reports whether too much is waiting to answer further requests at once.
func (d *sender) full() bool { return d.queued >= maxQueuedBytes }

// enqueue queues the body of a ready response, after those of the same urgency.
func (d *sender) enqueue(s *stream) {
	i, _ := slices.BinarySearchFunc(d.queue, int(s.urgency)+1, func(q *stream, u int) int { return int(q.urgency) - u })
	d.queue = slices.Insert(d.queue, i, s)
	d.queued += len(s.body)
}

// remove drops the body of a stream, if it has one.
func (d *sender) remove(s *stream) {
	if i := slices.Index(d.queue, s); i >= 0 {
		d.queue = slices.Delete(d.queue, i, i+1)
	}
	d.queued -= len(s.body)
	s.body = nil
}

// next cuts from the body of a queued stream the part that the windows allow in one frame. It
// returns nothing if the stream has to wait.
func (d *sender) next(s *stream) (part []byte, last bool) {
	n := d.allows(s, len(s.body))
	if n <= 0 {
		return nil, false
	}
	d.queued -= n
	part, s.body = s.body[:n], s.body[n:]
	return part, len(s.body) == 0
}

// open enlarges the window of the connection.
func (d *sender) open(by int64) error {
	if d.window += by; d.window > maxWindow {
		return connectionError(http2.ErrCodeFlowControl, "the window of the connection exceeds 2^31-1")
	}
	return nil
}

// resize changes the windows of all streams by the change of the initial window (section 6.9.2).
// They may become negative.
func (d *sender) resize(open map[uint32]*stream, initial int64) error {
	by := initial - d.initial
	d.initial = initial
	for _, s := range open {
		if s.window += by; s.window > maxWindow {
			return connectionError(http2.ErrCodeFlowControl, "the window of a stream exceeds 2^31-1")
		}
		s.wake()
	}
	return nil
}
