package card

import (
	"image"
	"image/color"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The Go fonts, under the licence of the Go project.
var (
	regular = sync.OnceValue(func() *sfnt.Font { return parsed(goregular.TTF) })
	bold    = sync.OnceValue(func() *sfnt.Font { return parsed(gobold.TTF) })
)

func parsed(ttf []byte) *sfnt.Font {
	f, err := opentype.Parse(ttf)
	if err != nil { // the font is part of the program
		panic(err)
	}
	return f
}

// maxText is the number of characters of a text that a card shows at most.
const maxText = 200

// text writes lines of text and returns the place below them.
func (c canvas) text(x, y, room int, text string, load func() *sfnt.Font, size float64, lines int, ink color.Color) int {
	f := load()
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		return y
	}
	defer face.Close()
	measure := func(s string) float64 { return float64(font.MeasureString(face, s)) / 64 }
	height := int(size * 1.25)
	for _, line := range wrapped(known(f, text), float64(room), lines, measure) {
		d := font.Drawer{Dst: c, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(x, y+int(size))}
		d.DrawString(line)
		y += height
	}
	return y
}

// known returns the characters of a text that the font has, with single spaces.
func known(f *sfnt.Font, text string) string {
	var b sfnt.Buffer
	n := 0
	text = strings.Map(func(r rune) rune {
		if n++; n > maxText {
			return -1
		}
		if i, err := f.GlyphIndex(&b, r); err != nil || i == 0 {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
