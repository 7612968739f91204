package raster

import (
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

// TestDraw compares small images with golden files that a person can read: a character for each
// pixel, from a space (transparent) to # (opaque).
func TestDraw(t *testing.T) {
	files, err := filepath.Glob("testdata/*.svg")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			svg, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			img, err := Draw(svg, 16, 16, color.Black)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for y := range 16 {
				row := ""
				for x := range 16 {
					row += string(" .:-=+*%#"[int(img.RGBAAt(x, y).A)*8/255])
				}
				b.WriteString(strings.TrimRight(row, " ") + "\n")
			}
			golden.Check(t, strings.TrimSuffix(file, ".svg")+".txt", []byte(b.String()))
		})
	}
}

// drawInside wraps the inside of an SVG of 16 by 16 and draws it at its own size.
func drawInside(inside string) (color.RGBA, error) {
	img, err := Draw([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">`+inside+`</svg>`), 16, 16,
		color.RGBA{1, 2, 3, 255})
	if err != nil {
		return color.RGBA{}, err
	}
	return img.RGBAAt(8, 8), nil
}

func TestColours(t *testing.T) {
	for fill, want := range map[string]color.RGBA{
		"currentColor": {1, 2, 3, 255}, "CurrentColor": {1, 2, 3, 255}, "#f80": {255, 136, 0, 255}, "#FF8800": {255, 136, 0, 255},
		"#ff000080": {128, 0, 0, 128}, "#f008": {136, 0, 0, 136}, "rebeccapurple": {0x66, 0x33, 0x99, 255}, "navy": {0, 0, 128, 255},
		"rgb(1,2,3)": {1, 2, 3, 255}, "rgb(100% 0% 0% / 50%)": {128, 0, 0, 128},
		"hsl(120, 100%, 50%)": {0, 255, 0, 255}, "hsl(-120deg 100% 50%)": {0, 0, 255, 255},
		"none": {}, "transparent": {}, "url(#none) red": {255, 0, 0, 255}, "url(#none)": {},
		// An invalid value changes nothing.
		"nonsense":       {0, 0, 0, 255},
		"rgb(1, 50%, 3)": {0, 0, 0, 255},
	} {
		got, err := drawInside(`<path fill="` + fill + `" d="M0 0h16v16H0z"/>`)
		if err != nil || got != want {
			t.Errorf("fill %s: %v, %v; want %v", fill, got, err, want)
		}
	}
}

// TestRefused has the SVGs that Draw does not draw, with the error of each. Draw returns for all of
// them, because all work is paid from a budget.
func TestRefused(t *testing.T) {
	const square = `<path d="M0 0h16v16H0z"/>`
	nested := func(n int, open, close string) string {
		return strings.Repeat(open, n) + square + strings.Repeat(close, n)
	}
	var laughs strings.Builder
	laughs.WriteString(`<defs><g id="a0">` + square + `</g>`)
	for i := range 30 {
		fmt.Fprintf(&laughs, `<g id="a%d"><use href="#a%d"/><use href="#a%d"/></g>`, i+1, i, i)
	}
	laughs.WriteString(`</defs><use href="#a30"/>`)
	for name, tt := range map[string]struct {
		inside string
		want   error
	}{
		"text":               {`<text>a</text>`, ErrUnsupported},
		"an empty text":      {`<text> </text>`, nil},
		"an image":           {`<image href="data:image/png;base64,"/>`, ErrUnsupported},
		"an SVG as image":    {`<image href="data:image/svg+xml;base64,PHN2Zy8+"/>`, ErrUnsupported},
		"an image elsewhere": {`<image href="a.png"/>`, ErrUnsupported},
		"no image":           {`<image/>`, nil},
		"filter":             {`<filter id="f"/><g filter="url(#f)">` + square + `</g>`, ErrUnsupported},
		"a filter function":  {`<g filter="blur(1px)">` + square + `</g>`, ErrUnsupported},
		"no filter":          {`<g filter="url(#f)">` + square + `</g>`, nil},
		"animation in CSS":   {`<g style="animation:a 1s">` + square + `</g>`, ErrUnsupported},
		"a unit in CSS":      {`<g style="transform:translate(10%)">` + square + `</g>`, ErrUnsupported},
		"a media query":      {`<style>@media print{path{fill:red}}</style>` + square, ErrUnsupported},
		"a selector":         {`<style>path:hover{fill:red}</style>` + square, ErrUnsupported},
		"an outer clip path": {`<g clip-path="circle(3px)">` + square + `</g>`, ErrUnsupported},
		"not closed":         {`<g>`, ErrMalformed},
		"not matched":        {`<g></a>`, ErrMalformed},
		"a doctype":          {`<!DOCTYPE svg>`, ErrMalformed},
		"an entity":          {`<g fill="&a;"/>`, ErrMalformed},
		"deep":               {nested(1000, "<g>", "</g>"), ErrTooComplex},
		"layers":             {nested(30, `<g opacity=".5">`, "</g>"), ErrTooComplex},
		"a billion laughs":   {laughs.String(), ErrTooComplex},
		"use of itself":      {`<g id="a"><use href="#a"/></g>`, ErrTooComplex},
		"a mask of itself": {`<mask id="m"><g mask="url(#m)">` + square + `</g></mask><g mask="url(#m)">` +
			square + `</g>`, ErrTooComplex},
		"a clip of itself": {`<clipPath id="c" clip-path="url(#c)">` + square +
			`</clipPath><g clip-path="url(#c)">` + square + `</g>`, ErrTooComplex},
		"tiny dashes":          {`<path stroke="red" stroke-dasharray="0.0001" d="M0 0h1000000"/>`, ErrTooComplex},
		"huge":                 {`<path d="M0 0L1e30 5"/>`, ErrTooComplex},
		"not a number":         {`<g transform="scale(1e308)"><g transform="scale(1e308)">` + square + `</g></g>`, nil},
		"many elements":        {strings.Repeat("<g/>", 30_000), ErrTooComplex},
		"many lines":           {`<path d="M0 0` + strings.Repeat("L1 900 2 0", 400_000) + `"/>`, ErrTooComplex},
		"many curves":          {`<path d="M0 0` + strings.Repeat("C1 9000 9 9000 2 0", 100_000) + `"/>`, ErrTooComplex},
		"many squares":         {strings.Repeat(`<path stroke="red" stroke-width="1000000" d="M0 0H16V16z"/>`, 15_000), ErrTooComplex},
		"a cycle of gradients": {`<linearGradient id="a" href="#b"/><linearGradient id="b" href="#a"/><path fill="url(#a)" d="M0 0h16v16z"/>`, nil},
		"a flat gradient":      {`<radialGradient id="a" r="0"><stop/></radialGradient><path fill="url(#a)" d="M0 0h16v16z"/>`, nil},
		"a negative width":     {`<path stroke="red" stroke-width="-1" d="M0 0h16v16z"/>`, nil},
		"a flat transform":     {`<path stroke="red" transform="scale(0)" d="M0 0h16v16z"/>`, nil},
	} {
		if _, err := drawInside(tt.inside); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	for _, svg := range []string{"", "<g/>", `<svg/>`, `<svg viewBox="0 0 0 1"/>`, `<svg viewBox="0 0 1e300 1"/>`,
		`<svg viewBox="0 0 1 1"/><svg/>`, "\x00"} {
		if _, err := Draw([]byte(svg), 16, 16, color.Black); !errors.Is(err, ErrMalformed) {
			t.Errorf("Draw(%q): %v, want ErrMalformed", svg, err)
		}
	}
	for _, size := range [][2]int{{0, 1}, {1, -1}, {MaxSide + 1, 1}, {MaxSide, MaxPixels/MaxSide + 1}} {
		if _, err := Draw([]byte(`<svg viewBox="0 0 1 1"/>`), size[0], size[1], color.Black); err == nil {
			t.Errorf("Draw at %v: no error", size)
		}
	}
}

// FuzzDraw checks that Draw returns for any input, with an image or with one of its errors.
func FuzzDraw(f *testing.F) {
	files, err := filepath.Glob("testdata/*.svg")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		svg, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(svg)
	}
	f.Fuzz(func(t *testing.T, svg []byte) {
		img, err := Draw(svg, 24, 16, color.Black)
		switch {
		case err == nil:
			if img.Rect.Dx() != 24 || img.Rect.Dy() != 16 {
				t.Fatal(img.Rect)
			}
			for i := 0; i < len(img.Pix); i += 4 {
				if p := img.Pix[i : i+4]; max(p[0], p[1], p[2]) > p[3] {
					t.Fatalf("pixel %d is %v: no premultiplied colour", i/4, p)
				}
			}
		case !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrTooComplex):
			t.Fatal(err)
		}
	})
}

func BenchmarkDraw(b *testing.B) {
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round" stroke-width="2" d="M15 21v-8a1 1 0 0 0-1-1h-4a1 1 0 0 0-1 1v8M3 10a2 2 0 0 1 .709-1.528l7-6a2 2 0 0 1 2.582 0l7 6A2 2 0 0 1 21 10v9a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z"/></svg>`)
	for _, size := range []int{16, 32, 480} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Draw(svg, size, size, color.Black); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
