package svg

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// checkClean checks the output of the cleaner: faults finds nothing in it, cleaning it again does
// not change it, and Transform accepts it.
func checkClean(t *testing.T, d Icon) {
	t.Helper()
	for _, fault := range faults(d.SVG) {
		t.Errorf("%s\n%s", fault, d.SVG)
	}
	again, err := CleanDocument(d.SVG, true)
	if err != nil {
		t.Fatalf("a clean SVG is refused: %v\n%s", err, d.SVG)
	}
	if !bytes.Equal(again.SVG, d.SVG) || again.ViewBox != d.ViewBox || again.Width != d.Width || again.Height != d.Height {
		t.Errorf("cleaned again:\n%s\nbefore:\n%s", again.SVG, d.SVG)
	}
	if again.Monochrome != d.Monochrome {
		t.Errorf("monochrome is %v, and %v after cleaning again\n%s", d.Monochrome, again.Monochrome, d.SVG)
	}
	turned, _, _, err := Transform(d.SVG, icon.Variant{Rotate: 1, HFlip: true, Height: 48})
	if err != nil {
		t.Fatalf("Transform: %v\n%s", err, d.SVG)
	}
	for _, fault := range faults(turned) {
		t.Errorf("after Transform: %s\n%s", fault, turned)
	}
	if d.Monochrome {
		if left := icon.Recolour(d.SVG, "#ff0000"); currentPaint.Match(left) {
			t.Errorf("currentColor is left after recolouring\n%s", left)
		}
	}
}

// currentPaint matches currentColor as a paint, in any spelling.
var currentPaint = regexp.MustCompile(`(?i)\b(fill|stroke|color)(="|:)\s*currentcolor\s*[";}]`)

func FuzzCleanDocument(f *testing.F) {
	for _, folder := range []string{"hostile", "odd"} {
		for _, in := range corpus(f, folder, 1) {
			f.Add(in, false)
			f.Add(in, true)
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte, palette bool) {
		d, err := CleanDocument(doc, palette)
		if err != nil {
			if !errors.Is(err, ErrUnclean) {
				t.Fatalf("%v does not wrap ErrUnclean", err)
			}
			return
		}
		checkClean(t, d)
	})
}

func FuzzClean(f *testing.F) {
	f.Add([]byte(`<g fill="none"><path stroke="currentColor" d="M0 0h9v9z"/></g>`))
	f.Add([]byte(`<defs><path id="a" d="M0 0"/></defs><use xlink:href="#a" style="fill:red"/>`))
	f.Add([]byte(`<style>.a>b:not(.c),#d{fill:url( "#a" );--x:1}@media print{a{b:c}}</style>`))
	f.Add([]byte(`<x/></svg><script/>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := Clean(body, Box{Left: -1.5, Top: 0, Width: 24, Height: 12})
		if err != nil {
			if !errors.Is(err, ErrUnclean) {
				t.Fatalf("%v does not wrap ErrUnclean", err)
			}
			return
		}
		checkClean(t, d)
	})
}

// FuzzCSS checks that a style sheet, in an attribute or in an element, keeps no address outside of
// the SVG.
func FuzzCSS(f *testing.F) {
	for _, s := range []string{"fill:red", `a{b:u\72l(x)}`, "@import 'x';a{fill:url(#b)}", `mask:url("#a\22 ) url(x")`, "/**/a/**/:b", "\\", "a:'\\\n'", "--a:{}", "a:b!important;c:d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, css string) {
		escaped := string(appendEscaped(nil, []byte(css), true))
		for _, body := range []string{`<path style="` + escaped + `"/>`, `<style>` + escaped + `</style>`, `<path mask="` + escaped + `"/>`} {
			if d, err := Clean([]byte(body), Box{Width: 1, Height: 1}); err == nil {
				checkClean(t, d)
			}
		}
	})
}
