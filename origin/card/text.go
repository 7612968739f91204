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

// A style is how a text is written, in a number of lines at most.
type style struct {
	font  func() *sfnt.Font
	size  float64 // pixels
	lines int
	ink   color.Color
}

// The styles of the parts of a card.
var (
	headings = style{bold, 64, 3, ink}
	names    = style{regular, 36, 2, ink}
	notes    = style{regular, 28, 2, quiet}
	warnings = style{bold, 28, 1, alarm}
	marks    = style{bold, 30, 1, quiet}
)

// text writes lines of text from x to the right margin, and returns the place below them.
func (c canvas) text(x, y int, text string, s style) int {
	f := s.font()
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: s.size, DPI: 72})
	if err != nil {
		return y
	}
	defer face.Close()
	measure := func(s string) float64 { return float64(font.MeasureString(face, s)) / 64 }
	height := int(s.size * 1.25)
	for _, line := range wrapped(known(f, text), float64(Width-margin-x), s.lines, measure) {
		d := font.Drawer{Dst: c, Src: image.NewUniform(s.ink), Face: face, Dot: fixed.P(x, y+int(s.size))}
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
