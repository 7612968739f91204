// Package picture makes PNG and icon files of SVGs. It bounds the memory and the processor time of
// all that are drawn at once; package raster bounds those of each. The same SVG gives the same
// bytes.
package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"math"
	"runtime"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/sync/semaphore"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/raster"
)

// ErrTooLarge means that a picture would have more pixels than icon.MaxPictureSide at a side, or a
// row more than icon.MaxRowSide and icon.MaxRowPixels allow.
var ErrTooLarge = errors.New("the picture is too large")

// A Painter makes files. Its calls wait for each other where too much is drawn at once.
type Painter struct {
	drawing *semaphore.Weighted // processors
	held    *semaphore.Weighted // pixels of pictures that are drawn, or wait for it
}

// maxHeld is the number of pixels of all pictures that are drawn or wait, of 4 bytes each.
const maxHeld = 64 << 20

// ErrBusy means that too many pictures wait to be drawn.
var ErrBusy = errors.New("too many pictures are drawn at the moment")

// NewPainter makes a Painter that keeps at most half of the processors busy.
func NewPainter() *Painter {
	return &Painter{semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2))), semaphore.NewWeighted(maxHeld)}
}

// PNG draws an SVG of that size in pixels, with a note about its licence. The error is ErrTooLarge,
// ErrBusy, one of package raster, or that of the context.
func (p *Painter) PNG(ctx context.Context, svg []byte, width, height float64, note string) ([]byte, error) {
	w, h := pixels(width), pixels(height)
	if w > icon.MaxPictureSide || h > icon.MaxPictureSide {
		return nil, ErrTooLarge
	}
	return p.png(ctx, svg, w, h, note)
}

// RowPNG draws a row of icons as PNG draws one. A row may be longer, but not larger.
func (p *Painter) RowPNG(ctx context.Context, svg []byte, width, height float64, note string) ([]byte, error) {
	w, h := pixels(width), pixels(height)
	if w > icon.MaxRowSide || h > icon.MaxRowSide || w*h > icon.MaxRowPixels {
		return nil, ErrTooLarge
	}
	return p.png(ctx, svg, w, h, note)
}

func (p *Painter) png(ctx context.Context, svg []byte, w, h int, note string) ([]byte, error) {
	end, err := p.begin(ctx, w*h)
	if err != nil {
		return nil, err
	}
	defer end()
	return draw(svg, w, h, note)
}

func pixels(side float64) int { return max(1, int(math.Round(min(side, 1<<20)))) }

// ICO makes an icon file with a PNG of each of icon.FaviconSizes. The error is as that of PNG.
func (p *Painter) ICO(ctx context.Context, svg []byte, note string) ([]byte, error) {
	all := 0
	for _, n := range icon.FaviconSizes {
		all += n * n
	}
	end, err := p.begin(ctx, all)
	if err != nil {
		return nil, err
	}
	defer end()
	var pictures [][]byte
	for _, n := range icon.FaviconSizes {
		picture, err := draw(svg, n, n, note)
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, picture)
	}
	return iconFile(pictures), nil
}

// begin waits until a picture of n pixels may be drawn.
func (p *Painter) begin(ctx context.Context, n int) (end func(), err error) {
	if !p.held.TryAcquire(int64(n)) {
		return nil, ErrBusy
	}
	if err := p.drawing.Acquire(ctx, 1); err != nil {
		p.held.Release(int64(n))
		return nil, err
	}
	return func() { p.drawing.Release(1); p.held.Release(int64(n)) }, nil
}

// draw draws one picture and writes it as PNG.
func draw(svg []byte, width, height int, note string) ([]byte, error) {
	img, err := raster.Draw(svg, width, height, color.Black)
	if err != nil {
		return nil, err
	}
	return encode(straight(img), note)
}

// straight returns an image whose colours are not multiplied by their alpha, as in a PNG.
func straight(img *image.RGBA) *image.NRGBA {
	out := &image.NRGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}
	for i := 0; i+3 < len(out.Pix); i += 4 {
		p := out.Pix[i : i+4 : i+4]
		if a := uint32(p[3]); a != 0 && a != 255 {
			for c := range 3 {
				p[c] = uint8(min(255, (uint32(p[c])*255+a/2)/a))
			}
		}
	}
	return out
}

// compression is the level at which pictures are small for the time that they take.
const compression = 7

// encode writes an image as PNG, in sRGB and with a note. Its rows have no filter: icons are mostly
// flat, and image/png, which tries five filters for each row, needs four times as long for files
// that are larger.
func encode(img *image.NRGBA, note string) ([]byte, error) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	kind, channels := byte(6), 4
	if img.Opaque() {
		kind, channels = 2, 3 // without alpha
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(width)), uint32(height))
	out := appendChunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", append(head, 8, kind, 0, 0, 0))
	out = appendChunk(out, "sRGB", []byte{0}) // perceptual
	if isASCII(note) {
		out = appendChunk(out, "tEXt", []byte("Copyright\x00"+note))
	} else { // no compression, no language, no translated keyword
		out = appendChunk(out, "iTXt", []byte("Copyright\x00\x00\x00\x00\x00"+note))
	}
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, compression)
	if err != nil {
		return nil, fmt.Errorf("writing a PNG: %w", err)
	}
	row := make([]byte, 1+channels*width) // the first byte says that there is no filter
	for y := range height {
		pixels := img.Pix[y*img.Stride:][:4*width]
		for x := range width {
			copy(row[1+channels*x:][:channels], pixels[4*x:])
		}
		z.Write(row) // a buffer takes everything
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("writing a PNG: %w", err)
	}
	return appendChunk(appendChunk(out, "IDAT", b.Bytes()), "IEND", nil), nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// appendChunk appends a chunk of a PNG (section 5.3).
func appendChunk(out []byte, kind string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	begin := len(out)
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[begin:]))
}

// iconFile joins PNGs of icon.FaviconSizes to an icon file of Windows, which browsers read too: a
// head of 6 bytes, an entry of 16 for each picture, and the pictures.
func iconFile(pictures [][]byte) []byte {
	le := binary.LittleEndian
	out := le.AppendUint16(le.AppendUint16(le.AppendUint16(nil, 0), 1), uint16(len(pictures)))
	offset := 6 + 16*len(pictures)
	for i, p := range pictures {
		side := byte(icon.FaviconSizes[i])
		out = append(out, side, side, 0, 0)                // colours of a palette; reserved
		out = le.AppendUint16(le.AppendUint16(out, 1), 32) // planes, bits a pixel
		out = le.AppendUint32(out, uint32(len(p)))         // size
		out = le.AppendUint32(out, uint32(offset))         // position
		offset += len(p)
	}
	return append(out, bytes.Join(pictures, nil)...)
}
