package exchange

import (
	"bytes"
	"io"
	"iter"
	"sync"
)

// A Response is the header fields of a response, in the order in which they are sent. The pipeline
// fills it, and the adapter of the protocol sends it. The adapter itself adds the fields of its
// protocol: Content-Length, Connection, Transfer-Encoding.
type Response struct {
	// Lines are the fields as lines of HTTP/1.1: a name, a colon, a space, a value, CR LF.
	Lines []byte
	held  *[usualHead]byte // memory of Lines, unless they are longer; nil: none yet

	// Trailer returns trailer fields, as lines, after the whole body was read; nil: there are none.
	Trailer func() []byte
	// Tunnel is called by the adapter after it has sent the head of a 101, with the client's end of
	// the connection, and returns when the tunnel has ended. nil: the response is no 101. If the
	// adapter can't send the head, it calls Tunnel with nil.
	Tunnel func(client TunnelEnd)
	// Abandon ends the body while it is being read, on any goroutine, because the client has left.
	// nil: only its end or an error ends it.
	Abandon func()
}

// A TunnelEnd is the client's end of a tunnel.
type TunnelEnd interface {
	io.ReadWriteCloser
	// CloseWrite ends the direction to the client, and leaves the other one open.
	CloseWrite() error
}

// Add adds a field after those that the response has. A line break in a value becomes a space,
// because the client would read the rest as fields of their own.
func (r *Response) Add(name, value string) {
	start := len(r.Lines) + len(name)
	r.Lines = append(append(append(r.Lines, name...), ": "...), value...)
	for i := start; i < len(r.Lines); i++ {
		if c := r.Lines[i]; c == '\r' || c == '\n' {
			r.Lines[i] = ' '
		}
	}
	r.Lines = append(r.Lines, "\r\n"...)
}

// Set gives the response one field of a name. It takes the place of the first field that has the
// name, and the others are removed. A new field comes last.
func (r *Response) Set(name, value string) {
	start, end := find(r.Lines, name)
	if start < 0 {
		r.Add(name, value)
		return
	}
	rest := bytes.Clone(r.Lines[end:])
	r.Lines = r.Lines[:start]
	r.Add(name, value)
	for start, end = find(rest, name); start >= 0; start, end = find(rest, name) {
		rest = append(rest[:start], rest[end:]...)
	}
	r.Lines = append(r.Lines, rest...)
}

// Remove removes all fields of a name.
func (r *Response) Remove(name string) {
	for start, end := find(r.Lines, name); start >= 0; start, end = find(r.Lines, name) {
		r.Lines = append(r.Lines[:start], r.Lines[end:]...)
	}
}

// Get returns the value of the first field of a name, or nil.
func (r *Response) Get(name string) []byte {
	start, end := find(r.Lines, name)
	if start < 0 {
		return nil
	}
	return r.Lines[start+len(name)+2 : end-2]
}

// Reset removes all fields, and makes room for those of most responses.
func (r *Response) Reset() {
	if r.held == nil {
		r.held = held.Get().(*[usualHead]byte)
		r.Lines = r.held[:0]
	}
	r.Lines = r.Lines[:0]
}

// Release ends the use of the response. The adapter calls it after it has sent the fields.
func (r *Response) Release() {
	if r.held != nil {
		held.Put(r.held)
	}
	*r = Response{}
}

const usualHead = 1 << 10 // bytes

// held has the memory of responses that have been sent.
var held = sync.Pool{New: func() any { return new([usualHead]byte) }}

// find returns where the first line of a field begins and ends; start is -1 if there is none.
func find(lines []byte, name string) (start, end int) {
	for start < len(lines) {
		end = start + bytes.IndexByte(lines[start:], '\n') + 1
		if line := lines[start:end]; len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name)) {
			return start, end
		}
		start = end
	}
	return -1, -1
}

// FieldsIn iterates over the names and values of lines of fields.
func FieldsIn(lines []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := lines; len(rest) > 0; {
			var name, value []byte
			if name, value, rest = CutField(rest); !yield(name, value) {
				return
			}
		}
	}
}

// CutField returns the first of some lines of fields, and the other lines.
func CutField(lines []byte) (name, value, rest []byte) {
	end := bytes.IndexByte(lines, '\n')
	colon := bytes.IndexByte(lines, ':')
	return lines[:colon], lines[colon+2 : end-1], lines[end+1:]
}
