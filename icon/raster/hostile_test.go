package raster

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"strings"
	"testing"
)

// hostile has SVGs that cost much for their size.
func hostile() map[string]string {
	square := `<path d="M0 0h16v16H0z"/>`
	chain := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i, i+1)
		}
		return b.String()
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4000, 4000))); err != nil {
		panic(err)
	}
	var frame bytes.Buffer
	if err := gif.Encode(&frame, image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black}), nil); err != nil {
		panic(err)
	}
	huge := bytes.Clone(frame.Bytes())
	huge[7], huge[9] = 0xff, 0xff // 65,281 by 65,281
	data := func(kind string, b []byte) string {
		return `<image width="16" height="16" href="data:image/` + kind + `;base64,` + base64.StdEncoding.EncodeToString(b) + `"/>`
	}
	marked := `<marker id="m" markerWidth="99" markerHeight="99"><g opacity=".5">` + square + `</g></marker>`
	return map[string]string{
		"a marker on 100,000 points": marked + `<path marker-mid="url(#m)" d="M0 0` + strings.Repeat("h1h-1", 50_000) + `"/>`,
		"markers of markers": chain(8, `<marker id="m%d"><path marker-mid="url(#m%d)" d="M0 0`+strings.Repeat("h1", 50)+`"/></marker>`) +
			`<path marker-mid="url(#m0)" d="M0 0` + strings.Repeat("h1", 50) + `"/>`,
		"patterns in patterns": chain(20, `<pattern id="p%d" width=".1" height=".1"><rect width="9" height="9" fill="url(#p%d)"/>`+
			strings.Repeat(`<rect width="9" height="9" fill="url(#p1)"/>`, 9)+`</pattern>`) + `<rect width="16" height="16" fill="url(#p0)"/>`,
		"a tiny pattern": `<pattern id="p" width=".0001" height=".0001" patternUnits="userSpaceOnUse"><rect width="1" height="1"/></pattern>` +
			`<rect width="16" height="16" fill="url(#p)"/>`,
		"a pattern of itself": `<pattern id="p" width="1" height="1"><rect width="9" height="9" fill="url(#p)"/></pattern>` +
			`<rect width="16" height="16" fill="url(#p)"/>`,
		"many full patterns": `<pattern id="p" width="1" height="1"><rect width="9" height="9"/></pattern>` +
			strings.Repeat(`<rect width="16" height="16" fill="url(#p)"/>`, 5_000),
		"masks of masks": chain(10, `<mask id="m%d"><g mask="url(#m%d)">`+square+`</g></mask>`) + strings.Repeat(`<g mask="url(#m0)">`+square+`</g>`, 1000),
		"clips of clips": chain(10, `<clipPath id="c%d"><path clip-path="url(#c%d)" d="M0 0h16L0 16z"/><path clip-path="url(#c1)" d="M0 0h16L0 16z"/></clipPath>`) +
			strings.Repeat(`<g clip-path="url(#c0)">`+square+`</g>`, 1000),
		"many stops": `<radialGradient id="g" fx=".1">` + strings.Repeat(`<stop offset="0"/>`, 9_000) + `</radialGradient>` +
			strings.Repeat(`<rect width="16" height="16" fill="url(#g)"/>`, 5_000),
		"many gradients":      `<radialGradient id="g" fx=".1" fr=".01"><stop/></radialGradient>` + strings.Repeat(`<rect width="16" height="16" fill="url(#g)"/>`, 15_000),
		"many blends":         strings.Repeat(`<rect width="16" height="16" style="mix-blend-mode:hue"/>`, 5_000),
		"a large picture":     data("png", picture.Bytes()),
		"a picture, repeated": strings.Repeat(data("png", picture.Bytes()[:len(picture.Bytes())/2]), 20),
		"a huge GIF":          data("gif", huge),
		"scans of a JPEG":     data("jpeg", append([]byte("\xff\xd8\xff\xc2\x00\x0b\x08\x10\x00\x10\x00\x01\x01\x11\x00"), bytes.Repeat([]byte("\xff\xda"), 9_000)...)),
		"selectors":           `<style>` + strings.Repeat(strings.Repeat("g ", 40)+"a,", 900) + `a{}</style>` + strings.Repeat("<g>", 50) + strings.Repeat("<a/>", 9_000) + strings.Repeat("</g>", 50),
		"siblings":            `<style>` + strings.Repeat(strings.Repeat("a+", 400)+"a,", 90) + `a{}</style>` + strings.Repeat("<a/>", 15_000),
		"tiny dashes":         strings.Repeat(`<path stroke="red" stroke-linecap="round" stroke-dasharray=".01" d="M0 0h160"/>`, 1_000),
		// The styles of the ancestors of a referenced element, and its attributes, cost time too.
		"references into a deep tree": strings.Repeat("<g>", 55) + `<g id="a"/>` + strings.Repeat("</g>", 55) +
			strings.Repeat(`<path clip-path="url(#a)"/>`, 9_000),
		"references to many attributes": `<g id="a" ` + chain(5_000, `a%d="%d" `) + `/>` + strings.Repeat(`<path mask="url(#a)"/>`, 9_000),
		"wide strokes":                  strings.Repeat(`<path stroke="red" stroke-width="99999" stroke-linejoin="round" d="M0 0`+strings.Repeat("l9 9-9 0", 100)+`"/>`, 100),
		"boxes of boxes":                chain(12, `<g id="g%d" transform-origin="center" style="transform-box:fill-box" transform="rotate(1)"><use href="#g%d"/><use href="#g1"/></g>`),
	}
}

// TestReferencesArePaid: the budget ends the work for references with costly targets.
func TestReferencesArePaid(t *testing.T) {
	for _, name := range []string{"references into a deep tree", "references to many attributes"} {
		_, err := Draw([]byte(`<svg viewBox="0 0 16 16">`+hostile()[name]+`</svg>`), 16, 16, color.Black)
		if !errors.Is(err, ErrTooComplex) {
			t.Errorf("%s: %v, want ErrTooComplex", name, err)
		}
	}
}

// TestHostile checks that Draw refuses each hostile SVG at each size, or draws it, within its
// budget.
func TestHostile(t *testing.T) {
	for name, inside := range hostile() {
		for _, size := range []int{16, 1024} {
			_, err := Draw([]byte(`<svg viewBox="0 0 16 16">`+inside+`</svg>`), size, size, color.Black)
			if err != nil && !errors.Is(err, ErrTooComplex) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s at %d pixels: %v", name, size, err)
			}
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, inside := range hostile() {
		svg := []byte(`<svg viewBox="0 0 16 16">` + inside + `</svg>`)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Draw(svg, 1024, 1024, color.Black)
			}
		})
	}
}
