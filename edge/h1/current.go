package h1

import (
	"bytes"
	"strings"
)

// A current is the request that the server is reading, and the response that it will write.
type current struct {
	left       int64   // bytes of the request that the server has not got yet
	opaque     bool    // the end of the request is unknown; everything more goes to the server
	malformed  bool    // and the request is malformed
	bodyless   bool    // the response has no body, because the request is a HEAD
	longTarget bool    // the request's target is longer than the server's buffer
	failure    error   // returned by the next Read of the server; nil: none
	upload     *Upload // the body, if a handler reads it; nil: none does
	coded      bool    // and it comes in chunks
}

// incomplete reports whether the server needs more bytes of the request.
func (r *current) incomplete() bool { return r.opaque || r.left > 0 }

// lastUpload reports whether the bytes after the body are no request, because it is incomplete, or
// its end uncertain for other servers.
func (r *current) lastUpload() bool { return r.upload != nil && (r.coded || !r.upload.Whole()) }

// bounded returns the part of the server's buffer p that the rest of the request may fill.
func (r *current) bounded(p []byte) []byte {
	if r.opaque {
		return p
	}
	return p[:min(int64(len(p)), r.left)]
}

// begin starts a request whose first bytes are p, and of which so many bytes are not in p.
func (r *current) begin(p []byte, left int64) { r.left, r.bodyless = left, isHead(p) }

// beginOpaque starts a request whose end is unknown. p is all of it so far, in a buffer of that
// size.
func (r *current) beginOpaque(p []byte, room int, s state) {
	r.opaque, r.malformed, r.bodyless = true, s == malformed, isHead(p)
	r.longTarget = len(p) == room && longLine(p)
}

// fail makes the server read one more byte and then err.
func (r *current) fail(err error) { r.failure, r.left = err, 1 }

// longLine reports whether b is a part of a request line that contains the whole method.
func longLine(b []byte) bool {
	method := bytes.IndexByte(b, ' ')
	return 0 < method && method < maxMethod && bytes.IndexByte(b, '\n') < 0
}

func isHead(request []byte) bool { return bytes.HasPrefix(request, []byte("HEAD ")) }

// A surplus holds bytes that were read from the socket after those that the server has got.
type surplus []byte

// take moves bytes to p. It keeps no memory without bytes, because thousands of clients may leave a
// request half sent.
func (s *surplus) take(p []byte) int {
	b := *s
	n := copy(p, b)
	if *s = nil; n < len(b) {
		*s = b[:copy(b, b[n:])]
	}
	return n
}

// replace copies p in place of the old bytes.
func (s *surplus) replace(p []byte) { *s = append((*s)[:0], p...) }

// A takeover hands over a connection that begins with the preface of another protocol.
type takeover struct {
	preface string               // empty: none, or the connection has begun
	serve   func(already []byte) // serves the other protocol until the connection ends
}

// undecided reports whether b, the first bytes of the connection, are a part of the preface.
func (t *takeover) undecided(b []byte) bool {
	return len(b) < len(t.preface) && string(b) == t.preface[:len(b)]
}

// decide serves the other protocol if b begins with the preface, and reports whether it did.
// Otherwise the connection stays one of HTTP/1.1.
func (t *takeover) decide(b []byte) bool {
	preface := t.preface
	t.preface = ""
	if !strings.HasPrefix(string(b), preface) {
		return false
	}
	t.serve(bytes.Clone(b))
	return true
}
