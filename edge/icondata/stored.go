package icondata

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Body returns a piece as the body of a cache entry. No name has a NUL.
func (p *Piece) Body() []byte { return append(append([]byte(p.Parent), 0), p.Member...) }

// Stored reads a piece from the body of a cache entry, whose memory it shares.
func Stored(name string, body []byte) (Piece, error) {
	parent, member, ok := bytes.Cut(body, []byte{0})
	if !ok {
		return Piece{}, fmt.Errorf("%w: the stored piece of %q", ErrForm, name)
	}
	return Piece{Name: name, Parent: string(parent), Member: member}, nil
}

var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err) // an invalid level
	}
	return w
}}

// Deflate returns blocks of deflate that end at a byte and none of which is the last, so that they
// can stand anywhere in a stream (RFC 1951).
func Deflate(member []byte) []byte {
	var b bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&b)
	_, err := w.Write(member)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		panic(err) // a Buffer takes everything
	}
	return b.Bytes()
}
