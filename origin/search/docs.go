package search

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// columns are the docs of a pack in a file: a list for each field, because gob reads lists faster
// than docs one by one, and zstd makes them smaller.
type columns struct {
	Pack           string
	Names, AliasOf []string
	Widths         []float64
	Heights        []float64
	Images, Shapes []byte // 16 bytes a doc
	Looks, Marks   []byte
	Categories     []some
	Spellings      []some
}

// some are the values of one of the few docs that have any, in ascending order of the docs.
type some struct {
	Doc    int
	Values []string
}

// Bits of columns.Marks.
const (
	markMonochrome = 1 << iota
	markOwn
	markStroked
)

// maxDocs bounds the memory in bytes that the docs of one pack may take in a file before
// compression; those of 25,000 icons take 2 MB.
const maxDocs = 1 << 30

// EncodeDocs returns the form of the docs of one pack that DecodeDocs reads. The same docs give the
// same bytes.
func EncodeDocs(docs []Doc) ([]byte, error) {
	var c columns
	for i, d := range docs {
		c.Pack = d.Pack
		c.Names, c.AliasOf = append(c.Names, d.Name), append(c.AliasOf, d.AliasOf)
		c.Widths, c.Heights = append(c.Widths, d.Width), append(c.Heights, d.Height)
		c.Images, c.Shapes = append(c.Images, d.Image[:]...), append(c.Shapes, d.Shape[:]...)
		c.Looks, c.Marks = append(c.Looks, byte(d.Look)), append(c.Marks, d.marks())
		if len(d.Categories) > 0 {
			c.Categories = append(c.Categories, some{i, d.Categories})
		}
		if len(d.Spellings) > 0 {
			c.Spellings = append(c.Spellings, some{i, d.Spellings})
		}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(c); err != nil {
		return nil, fmt.Errorf("writing docs: %w", err)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("writing docs: %w", err)
	}
	return z.EncodeAll(b.Bytes(), nil), nil
}

func (d *Doc) marks() (marks byte) {
	if d.Monochrome {
		marks |= markMonochrome
	}
	if d.Own {
		marks |= markOwn
	}
	if d.Stroked {
		marks |= markStroked
	}
	return marks
}

// decoder returns the decoder that all calls of DecodeDocs share, because a new one takes memory.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxDocs))
})

// DecodeDocs reads what EncodeDocs returned. The error is ErrDamaged.
func DecodeDocs(data []byte) ([]Doc, error) {
	z, err := decoder()
	if err != nil {
		return nil, fmt.Errorf("reading docs: %w", err)
	}
	plain, err := z.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: docs: %w", ErrDamaged, err)
	}
	var c columns
	if err := gob.NewDecoder(bytes.NewReader(plain)).Decode(&c); err != nil {
		return nil, fmt.Errorf("%w: docs: %w", ErrDamaged, err)
	}
	n := len(c.Names)
	for _, size := range []int{
		len(c.AliasOf), len(c.Widths), len(c.Heights), len(c.Looks), len(c.Marks), len(c.Images) / shapeSize, len(c.Shapes) / shapeSize,
	} {
		if size != n {
			return nil, fmt.Errorf("%w: docs: their fields differ in number", ErrDamaged)
		}
	}
	docs := make([]Doc, n)
	for i := range docs {
		docs[i] = Doc{
			Pack: c.Pack, Name: c.Names[i], AliasOf: c.AliasOf[i], Width: c.Widths[i], Height: c.Heights[i],
			Image: [16]byte(c.Images[16*i:]), Shape: [16]byte(c.Shapes[16*i:]), Look: Look(c.Looks[i]),
			Monochrome: c.Marks[i]&markMonochrome != 0, Own: c.Marks[i]&markOwn != 0, Stroked: c.Marks[i]&markStroked != 0,
		}
		if docs[i].Look > Multicolour {
			return nil, fmt.Errorf("%w: docs: no look has the number %d", ErrDamaged, docs[i].Look)
		}
	}
	for _, of := range []struct {
		values []some
		set    func(d *Doc, values []string)
	}{
		{c.Categories, func(d *Doc, values []string) { d.Categories = values }},
		{c.Spellings, func(d *Doc, values []string) { d.Spellings = values }},
	} {
		for _, s := range of.values {
			if s.Doc < 0 || s.Doc >= n {
				return nil, fmt.Errorf("%w: docs: there is none with the number %d", ErrDamaged, s.Doc)
			}
			of.set(&docs[s.Doc], s.Values)
		}
	}
	return docs, nil
}
