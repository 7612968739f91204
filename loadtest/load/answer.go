//go:build linux

package load

import (
	"bytes"
	"errors"
	"hash/crc32"
)

// An answer is a response that is parsed as it arrives, in parts of any size (RFC 9112). It
// examines only the fields that determine its length.
type answer struct {
	status  int
	length  int64  // of the body, without chunk framing
	closing bool   // the server will close the connection after it
	head    bool   // it answers HEAD, and has no body
	summing bool   // compute the checksum of the body
	sum     uint32 // of the body so far

	state state
	left  int64  // of the body, or of the chunk
	kept  []byte // incomplete beginning of a header section or line
}

type state uint8

const (
	inHead state = iota
	inBody
	inSize    // the line before a chunk
	inChunk   //
	afterData // the empty line after a chunk
	inTrailer // the lines after the last chunk
	complete
)

const maxHead = 64 << 10

var (
	endOfLine = []byte("\r\n")
	endOfHead = []byte("\r\n\r\n")
)

var (
	errHead    = errors.New("the header section of a response is malformed")
	errLong    = errors.New("the header section of a response is too long")
	errLength  = errors.New("the length of a response is malformed")
	errEndless = errors.New("a response ends with its connection; measuring with keep-alive requires Content-Length or chunks")
	errChunk   = errors.New("a chunk of a response is malformed")
)

// begin prepares a for the next response, which is one to HEAD or not.
func (a *answer) begin(summing, head bool) {
	*a = answer{summing: summing, head: head, kept: a.kept[:0]}
}

// read consumes b, the next bytes of the connection, and returns the bytes after the response. At
// the end of the response a.state is complete.
func (a *answer) read(b []byte) (rest []byte, err error) {
	for len(b) > 0 && a.state != complete && err == nil {
		switch a.state {
		case inHead:
			b, err = a.readHead(b)
		case inBody, inChunk:
			b = a.readBody(b)
		default:
			b, err = a.readLine(b)
		}
	}
	return b, err
}

// readBody consumes bytes of the body or chunk.
func (a *answer) readBody(b []byte) []byte {
	n := min(a.left, int64(len(b)))
	if a.summing {
		a.sum = crc32.Update(a.sum, castagnoli, b[:n])
	}
	a.left -= n
	a.length += n
	switch {
	case a.left > 0:
	case a.state == inBody:
		a.state = complete
	default:
		a.state = afterData
	}
	return b[n:]
}

// readLine reads the lines between chunks (RFC 9112, section 7.1). It ignores chunk extensions and
// trailers.
func (a *answer) readLine(b []byte) ([]byte, error) {
	line, b, err := a.until(b, endOfLine)
	if err != nil || line == nil {
		return b, err
	}
	switch {
	case a.state == inTrailer && len(line) == 0:
		a.state = complete
	case a.state == inTrailer:
	case a.state == afterData && len(line) == 0:
		a.state = inSize
	case a.state == afterData:
		return nil, errChunk
	default:
		if a.left, err = chunkSize(line); err != nil {
			return nil, err
		}
		a.state = inChunk
		if a.left == 0 {
			a.state = inTrailer
		}
	}
	return b, nil
}

// until returns the bytes before end, and the bytes after it. If end has not arrived yet, before is
// nil and a stores b.
func (a *answer) until(b, end []byte) (before, rest []byte, err error) {
	if len(a.kept) == 0 {
		if i := bytes.Index(b, end); i >= 0 {
			return b[:i:i], b[i+len(end):], nil
		}
	}
	old := len(a.kept)
	a.kept = append(a.kept, b...)
	i := bytes.Index(a.kept, end)
	switch {
	case i >= 0:
		before, rest = a.kept[:i:i], b[i+len(end)-old:]
		a.kept = a.kept[:0] // its bytes are valid until the next call
		return before, rest, nil
	case len(a.kept) > maxHead:
		return nil, nil, errLong
	}
	return nil, nil, nil
}

// chunkSize parses the line before a chunk: a hexadecimal number, perhaps with an extension.
func chunkSize(line []byte) (int64, error) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	if len(digits) == 0 || len(digits) > 12 {
		return 0, errChunk
	}
	var n int64
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | int64(c|0x20-'a'+10)
		default:
			return 0, errChunk
		}
	}
	return n, nil
}
