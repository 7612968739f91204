package svg

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// cleanAgain cleans a document again.
func cleanAgain(d Icon) (Icon, error) { return CleanDocument(d.SVG, true) }

// bodyAgain cleans the body of an icon again.
func bodyAgain(d Icon) (Icon, error) {
	inside, box, err := Body(d.SVG)
	if err != nil {
		return Icon{}, err
	}
	return Clean(inside, box)
}

// checkClean checks the output of the cleaner: faults finds nothing in it, cleaning it again does
// not change it, and Transform accepts it.
func checkClean(t *testing.T, d Icon, again func(Icon) (Icon, error)) {
	t.Helper()
	for _, fault := range faults(d.SVG) {
		t.Errorf("%s\n%s", fault, d.SVG)
	}
	twice, err := again(d)
	if err != nil {
		t.Fatalf("a clean SVG is refused: %v\n%s", err, d.SVG)
	}
	if !bytes.Equal(twice.SVG, d.SVG) || twice.ViewBox != d.ViewBox || twice.Width != d.Width || twice.Height != d.Height {
		t.Errorf("cleaned again:\n%s\nbefore:\n%s", twice.SVG, d.SVG)
	}
	if twice.Monochrome != d.Monochrome {
		t.Errorf("monochrome is %v, and %v after cleaning again\n%s", d.Monochrome, twice.Monochrome, d.SVG)
	}
	turned, _, _, err := Transform(d.SVG, icon.Variant{Rotate: 1, HFlip: true, Height: 48, ID: "a-b_"})
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
		checkMarker(t, "fuzz", d)
	}
}

// currentPaint matches currentColor as a paint, in any spelling.
var currentPaint = regexp.MustCompile(`(?i)\b(fill|stroke|color)(="|:)\s*currentcolor\s*[";}]`)

func FuzzCleanDocument(f *testing.F) {
	for _, folder := range []string{"hostile", "odd", "drawn"} {
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
		checkClean(t, d, cleanAgain)
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
		checkClean(t, d, bodyAgain)
	})
}

// FuzzCSS checks that a style sheet, in an attribute or in an element, keeps no address outside of
// the SVG.
func FuzzCSS(f *testing.F) {
	for _, s := range []string{"fill:red", `a{b:u\72l(x)}`, "@import 'x';a{fill:url(#b)}",
		`mask:url("#a\22 ) url(x")`, "/**/a/**/:b", "\\", "a:'\\\n'", "--a:{}", "a:b!important;c:d",
		".a{fill:red;&:hover path{fill:url(#b)}@media print{.c &{fill:blue}}}",
		"@keyframes x{to{opacity:0}}.c{animation:x 1s}@media (min-width:1px){.c{animation:none}}",
		"path:not(:is(.a .b,:hover)){fill:red}#b>.c+.d{fill:red!important}:root{all:unset}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, css string) {
		escaped := string(appendEscaped(nil, []byte(css), true))
		for _, body := range []string{`<path style="` + escaped + `"/>`, `<style>` + escaped + `</style>`,
			`<path mask="` + escaped + `"/>`} {
			if d, err := Clean([]byte(body), Box{Width: 1, Height: 1}); err == nil {
				checkClean(t, d, bodyAgain)
			}
			doc := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" class="a"><g id="b">` + body + `</g><path class="c d"/></svg>`
			if d, err := CleanDocument([]byte(doc), false); err == nil {
				checkClean(t, d, cleanAgain)
			}
		}
	})
}
