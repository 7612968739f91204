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

// A Prepared is a piece in the form in which it is joined.
type Prepared struct {
	Form
	data []byte // the member with a comma before it, then both deflated, if they are
}

// A Form is what a join has to know about a piece besides its bytes. It has no pointers.
type Form struct {
	plain uint32 // length of the member with the comma, in bytes
	size  uint32 // length of all bytes
	name  uint16 // length of the name
	alias bool
	sum   checksum // of the member with the comma
}

// Prepare returns the piece in the form in which it is joined. deflated is its member as Deflate
// returns it; nil: it is not deflated yet.
func (p *Piece) Prepare(deflated []byte) Prepared {
	size := 1 + len(p.Member)
	if deflated != nil {
		size += len(storedComma) + len(deflated)
	}
	data := append(append(make([]byte, 0, size), ','), p.Member...)
	f := Form{plain: uint32(len(data)), size: uint32(size), name: uint16(len(p.Name)), alias: p.Parent != "", sum: newChecksum(data)}
	if deflated != nil {
		data = append(append(data, storedComma...), deflated...)
	}
	return Prepared{f, data}
}

// Size returns the length of all forms of the piece, in bytes.
func (f *Form) Size() int { return int(f.size) }

// IsAlias reports whether the piece is an alias.
func (f *Form) IsAlias() bool { return f.alias }

// IsDeflated reports whether the piece can be joined in gzip.
func (f *Form) IsDeflated() bool { return f.size > f.plain }

// At returns the piece of the form whose bytes Append has appended to memory before.
func (f *Form) At(memory []byte) Prepared { return Prepared{*f, memory[:f.size:f.size]} }

// Bytes returns the bytes of the piece for Add.
func (p *Prepared) Bytes() []byte { return p.data }

// Append appends the bytes of the piece.
func (p *Prepared) Append(memory []byte) []byte { return append(memory, p.data...) }

// storedComma is the comma between members, as a block of deflate.
var storedComma = appendStored(nil, []byte{','})

// Read reads the memory of the first bytes of the piece, at most so many, in the form in which a
// join copies it. Its result depends on all that it has read.
func (p *Prepared) Read(deflated bool, most int) (x uint64) {
	form := p.data[:min(p.plain, uint32(len(p.data)))]
	if deflated {
		form = p.data[len(form):]
	}
	form = form[:min(most, len(form))]
	for i := 0; i < len(form); i += 64 {
		x ^= uint64(form[i])
	}
	return x
}

// Name returns the name of the piece, which is its JSON form too. It shares the memory of the
// piece.
func (p *Prepared) Name() []byte { return p.data[len(`,"`) : len(`,"`)+int(p.name)] }

// Member returns the member without the comma. It shares the memory of the piece.
func (p *Prepared) Member() []byte { return p.data[1:p.plain] }

// object returns the number of the object of which the piece is a member: 1: `aliases`, 0: `icons`.
func (f *Form) object() int {
	if f.alias {
		return 1
	}
	return 0
}

// Stored reads a piece from the body of a cache entry, whose memory it shares.
func Stored(name string, body []byte) (Piece, error) {
	parent, member, ok := bytes.Cut(body, []byte{0})
	if !ok {
		return Piece{}, fmt.Errorf("%w: the stored piece of %q", ErrForm, name)
	}
	return Piece{Name: name, Parent: string(parent), Member: member}, nil
}

// HeadBody returns what a response says about the pack as the body of a cache entry.
func (a *Answer) HeadBody() []byte { return append(append(bytes.Clone(a.Info), 0), a.Head...) }

// StoredHead reads what HeadBody returned into a, which shares its memory.
func (a *Answer) StoredHead(body []byte) error {
	info, head, ok := bytes.Cut(body, []byte{0})
	if !ok {
		return fmt.Errorf("%w: the stored head of a pack", ErrForm)
	}
	a.Head, a.Info = head, nil
	if len(info) > 0 {
		a.Info = info
	}
	return nil
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
