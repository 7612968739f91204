//go:build linux

package load

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
)

// A Plan is what is sent: Requests, in the Order given by their numbers, from the start again when it is through.
type Plan struct {
	Requests []Request
	Order    []uint32
	Once     bool // each of Order is sent once, then the run ends
}

// A Request is sent as it stands, and its answer is compared with what is wanted.
type Request struct {
	Head  []byte   // serialised, up to and with the empty line
	Tail  []byte   // with a Count: what follows the running number, and Head what precedes it
	Count *Counter // makes every sending another request; nil: they are all the same
	Want  Want
}

// Line is the request's first line, for messages.
func (r *Request) Line() string {
	line, _, _ := bytes.Cut(r.Head, []byte("\r\n"))
	return string(line)
}

// append writes the request as it goes out.
func (r *Request) append(dst []byte) []byte {
	dst = append(dst, r.Head...)
	if r.Count == nil {
		return dst
	}
	return append(strconv.AppendUint(dst, r.Count.next(), 10), r.Tail...)
}

// A Counter gives running numbers from 1 to its most, beginning anywhere: what one run asked for, the next should not ask for
// again. Requests that share a Counter share its numbers.
type Counter struct {
	most uint64
	n    atomic.Uint64
}

// NewCounter makes a Counter of 1 to most.
func NewCounter(most uint64) *Counter {
	c := &Counter{most: most}
	c.n.Store(rand.Uint64N(most))
	return c
}

func (c *Counter) next() uint64 { return c.n.Add(1)%c.most + 1 }

// Want is what an answer must be.
type Want struct {
	Status int    // 0: still to be seen
	Length int64  // of the body; AnyLength: whatever it is
	Sum    uint32 // Checksum of the body, where Summed
	Summed bool
}

// AnyLength is the Length of a body that can't be known.
const AnyLength = -1

// sampled is how many answers there are to one whose body's checksum is computed.
const sampled = 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // computed by the processor itself

// Checksum is the CRC-32C of a body.
func Checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

// wrong says what is wrong with an answer, or nothing.
func (w *Want) wrong(a *answer) string {
	switch {
	case w.Status != a.status:
		return fmt.Sprintf("status %d, wanted %d", a.status, w.Status)
	case w.Length != AnyLength && w.Length != a.length:
		return fmt.Sprintf("a body of %d bytes, wanted %d", a.length, w.Length)
	case w.Summed && a.summing && w.Sum != a.sum:
		return "a body of the right length with other bytes"
	}
	return ""
}

// Target is the path and query that the request asks for, without a running number.
func (r *Request) Target() string {
	fields := bytes.Fields([]byte(r.Line()))
	return string(fields[1])
}
