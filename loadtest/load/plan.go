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

// A Plan is a sequence of requests: Order holds indices of Requests. After its end it starts again.
type Plan struct {
	Requests []Request
	Order    []uint32
	Once     bool // send each of Order once, then end the run
}

// A Request is sent as it is, and its response compared with Want.
type Request struct {
	Head  []byte   // serialised, with the final empty line
	Tail  []byte   // with a Count: the part after the running number; Head is the part before it
	Count *Counter // makes each instance of the request different; nil: all are equal
	Want  Want
}

// Line returns the request line, for messages.
func (r *Request) Line() string {
	line, _, _ := bytes.Cut(r.Head, []byte("\r\n"))
	return string(line)
}

// isHead reports whether the method is HEAD, whose responses have no body.
func (r *Request) isHead() bool { return bytes.HasPrefix(r.Head, []byte("HEAD ")) }

// append appends the bytes of the request to dst.
func (r *Request) append(dst []byte) []byte {
	dst = append(dst, r.Head...)
	if r.Count == nil {
		return dst
	}
	return append(strconv.AppendUint(dst, r.Count.next(), 10), r.Tail...)
}

// A Counter returns running numbers from 1 to a maximum, starting at random: a later run should not
// repeat the requests of this one. Requests that share a Counter share its numbers.
type Counter struct {
	most uint64
	n    atomic.Uint64
}

// NewCounter returns a Counter of 1 to most.
func NewCounter(most uint64) *Counter {
	c := &Counter{most: most}
	c.n.Store(rand.Uint64N(most))
	return c
}

func (c *Counter) next() uint64 { return c.n.Add(1)%c.most + 1 }

// Want is the expected response.
type Want struct {
	Status int    // 0: not known yet
	Length int64  // of the body; AnyLength: any
	Sum    uint32 // Checksum of the body if Summed is set
	Summed bool
}

// AnyLength is the Length of a body that cannot be predicted.
const AnyLength = -1

// sampled is the number of responses for each one whose checksum is computed.
const sampled = 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the processor has an instruction for it

// Checksum returns the CRC-32C of a body.
func Checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

// wrong describes the first difference from the expected response, or returns an empty string.
func (w *Want) wrong(a *answer) string {
	switch {
	case w.Status != a.status:
		return fmt.Sprintf("status %d, want %d", a.status, w.Status)
	case w.Length != AnyLength && w.Length != a.length:
		return fmt.Sprintf("a body of %d bytes, want %d", a.length, w.Length)
	case w.Summed && a.summing && w.Sum != a.sum:
		return "a body of the right length with other bytes"
	}
	return ""
}

// Target returns the path and query of the request, without a running number.
func (r *Request) Target() string {
	fields := bytes.Fields([]byte(r.Line()))
	return string(fields[1])
}
