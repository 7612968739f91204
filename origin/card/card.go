// Package card draws the images that other sites show beside a link to a page of the site
// (OpenGraph): one for each icon and each pack, as PNG, without a browser. The same content gives
// the same bytes.
//
// An icon that package raster does not draw gets a card with text alone. The text is set in the Go
// fonts, which the program contains; characters that those lack are left out.
package card

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/raster"
)

// The size of a card in pixels.
const (
	Width  = 1200
	Height = 630
)

// Samples is the largest number of icons on the card of a pack.
const Samples = 9

// Colours of a card. Those of a licence that forbids commercial use stand out.
var (
	ground = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	tile   = color.NRGBA{0xf3, 0xf4, 0xf6, 0xff}
	night  = color.NRGBA{0x1f, 0x24, 0x2c, 0xff} // under icons that are nearly white
	ink    = color.NRGBA{0x15, 0x18, 0x1d, 0xff}
	quiet  = color.NRGBA{0x57, 0x5e, 0x6a, 0xff}
	alarm  = color.NRGBA{0xb4, 0x23, 0x18, 0xff}
)

const (
	margin = 70
	side   = Height - 2*margin // of the tile
	right  = margin + side + 60
)

// Icon returns the card of an icon.
func Icon(p *icon.Pack, name string, svg []byte) ([]byte, error) {
	c := newCanvas()
	x := right
	drawn, err := raster.Draw(svg, side-120, side-120, ink)
	if err == nil && visible(drawn) {
		c.tile(image.Rect(margin, margin, margin+side, margin+side), 36, pale(drawn))
		c.icon(drawn, margin+60, margin+60)
	} else {
		x = margin
	}
	c.words(x, name, p)
	return c.encode()
}

// Pack returns the card of a pack, with the first of its samples that can be drawn.
func Pack(p *icon.Pack, samples [][]byte) ([]byte, error) {
	c := newCanvas()
	const step, size = side / 3, side/3 - 24
	n := 0
	for _, svg := range samples {
		drawn, err := raster.Draw(svg, size-44, size-44, ink)
		if n == Samples || err != nil || !visible(drawn) {
			continue
		}
		x, y := margin+n%3*step+12, margin+n/3*step+12
		c.tile(image.Rect(x, y, x+size, y+size), 20, pale(drawn))
		c.icon(drawn, x+22, y+22)
		n++
	}
	x := right
	if n == 0 {
		x = margin
	}
	c.words(x, p.Name, p)
	return c.encode()
}

// visible reports whether any pixel is painted. An SVG may consist of what an animation shows.
func visible(img *image.RGBA) bool {
	for i := 3; i < len(img.Pix); i += 4 {
		if img.Pix[i] > 40 {
			return true
		}
	}
	return false
}

// pale reports whether an image would hardly be visible on a light ground.
func pale(img *image.RGBA) bool {
	light, all := 0, 0
	for i := 0; i < len(img.Pix); i += 4 {
		p := img.Pix[i : i+4]
		if p[3] < 128 {
			continue
		}
		all++
		if 2126*int(p[0])+7152*int(p[1])+722*int(p[2]) > 9000*int(p[3]) {
			light++
		}
	}
	return all > 0 && light*10 > all*9
}

// A canvas is a card under way.
type canvas struct{ *image.RGBA }

func newCanvas() canvas {
	c := canvas{image.NewRGBA(image.Rect(0, 0, Width, Height))}
	draw.Draw(c, c.Rect, image.NewUniform(ground), image.Point{}, draw.Src)
	return c
}

// tile paints a rectangle with round corners.
func (c canvas) tile(at image.Rectangle, radius int, dark bool) {
	under := tile
	if dark {
		under = night
	}
	w, h := at.Dx(), at.Dy()
	svg := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"><rect width="%d" height="%d" rx="%d" fill="currentColor"/></svg>`, w, h, w, h, radius)
	if img, err := raster.Draw([]byte(svg), w, h, under); err == nil {
		c.icon(img, at.Min.X, at.Min.Y)
	}
}

func (c canvas) icon(img *image.RGBA, x, y int) {
	draw.Draw(c, img.Rect.Add(image.Pt(x, y)), img, image.Point{}, draw.Over)
}

// words writes the text of a card from x to the right margin: a heading, the pack with its author,
// and the licence.
func (c canvas) words(x int, heading string, p *icon.Pack) {
	y := margin + 10
	y = c.text(x, y, heading, headings) + 18
	if heading != p.Name {
		y = c.text(x, y, p.Name, names) + 6
	}
	if p.Author != "" {
		y = c.text(x, y, "by "+p.Author, notes) + 6
	}
	if heading == p.Name && p.Count > 0 {
		y = c.text(x, y, thousands(p.Count)+" icons", notes) + 6
	}
	title := p.LicenseTitle
	if title == "" {
		title = p.License
	}
	y = c.text(x, y, title, notes) + 6
	if !p.CommercialUse {
		c.text(x, y, "Non-commercial", warnings)
	}
	c.text(x, Height-margin-40, "iconedge", marks)
}

// thousands returns a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (c canvas) encode() ([]byte, error) {
	var b bytes.Buffer
	b.Grow(1 << 15)
	if err := png.Encode(&b, c.RGBA); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// wrapped breaks text into at most max lines that fit into room, at spaces and hyphens, and within
// words that are longer than a line. The last line ends with an ellipsis if there is more.
func wrapped(text string, room float64, max int, width func(string) float64) []string {
	var lines []string
	line := ""
	for word := range words(text) {
		for {
			if width(strings.TrimRight(line+word, " ")) <= room {
				line += word
				break
			}
			if line != "" {
				lines, line = append(lines, strings.TrimRight(line, " ")), ""
				continue
			}
			n := fitting(word, room, width)
			lines, word = append(lines, word[:n]), word[n:]
		}
		if len(lines) > max {
			break
		}
	}
	if line != "" {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	if len(lines) > max {
		last := lines[max-1]
		for last != "" && width(last+"…") > room {
			last = last[:len(last)-1]
			last = strings.ToValidUTF8(last, "")
		}
		lines = append(lines[:max-1], last+"…")
	}
	return lines
}

// words yields the words of a text with the spaces and hyphens that follow them.
func words(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			i := strings.IndexAny(text, " -")
			if i < 0 {
				i = len(text) - 1
			}
			if !yield(text[:i+1]) {
				return
			}
			text = text[i+1:]
		}
	}
}

// fitting returns how many bytes of a word fit into room: at least one character.
func fitting(word string, room float64, width func(string) float64) int {
	n := 0
	for i, r := range word {
		end := i + len(string(r))
		if n > 0 && width(word[:end]) > room {
			break
		}
		n = end
	}
	return n
}
