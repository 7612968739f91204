package svg

import (
	"strings"
	"testing"
)

// TestStroke has rows with the body of an icon of 24 by 24 units, and the width of all its strokes;
// 0: they have not one. Where they have one, the last field is the body in twice that width.
func TestStroke(t *testing.T) {
	const line = ` fill="none" stroke="currentColor" d="M3 3h9"`
	for _, c := range []struct {
		why, body string
		want      float64
		double    string
	}{
		{"an attribute", `<path` + line + ` stroke-width="1.5"/>`, 1.5, `<path` + line + ` stroke-width="3"/>`},
		{"no stroke", `<path fill="currentColor" d="M3 3h9v9z"/>`, 0, ""},
		{"a stroke that is none", `<path fill="currentColor" stroke="none" stroke-width="2" d="M3 3h9v9z"/>`, 0, ""},
		{"the width by default", `<path` + line + `/>`, 1, `<g stroke-width="2"><path` + line + `/></g>`},
		{"the width by default beside a declared one", `<path` + line + `/><path` + line + ` stroke-width="1"/>`, 0, ""},
		{"inherited", `<g stroke-width="2"><path` + line + `/><circle fill="none" stroke="currentColor" r="3"/></g>`, 2,
			`<g stroke-width="4"><path` + line + `/><circle fill="none" stroke="currentColor" r="3"/></g>`},
		{"inherit", `<g stroke-width="2"><path` + line + ` stroke-width="inherit"/></g>`, 2,
			`<g stroke-width="4"><path` + line + ` stroke-width="inherit"/></g>`},
		{"two widths", `<path` + line + ` stroke-width="2"/><path` + line + ` stroke-width="1"/>`, 0, ""},
		{"two spellings", `<path` + line + ` stroke-width="2"/><path` + line + ` stroke-width="2.0"/>`, 2,
			`<path` + line + ` stroke-width="4"/><path` + line + ` stroke-width="4"/>`},
		{"a style", `<path` + line + ` style="stroke-width:2px"/>`, 2, `<path` + line + ` style="stroke-width:4px"/>`},
		{"a style over an attribute", `<path` + line + ` style="stroke-width:2" stroke-width="1"/>`, 2,
			`<path` + line + ` style="stroke-width:4" stroke-width="2"/>`},
		{"a class", `<style>.a{stroke-width:2}</style><path class="a"` + line + `/>`, 2,
			`<path` + line + ` stroke-width="4"/>`},
		{"points", `<path` + line + ` stroke-width="1.5pt"/>`, 2, `<path` + line + ` stroke-width="3pt"/>`},
		{"a share of the viewBox", `<path` + line + ` stroke-width="5%"/>`, 0, ""},
		{"the size of the text", `<path` + line + ` stroke-width=".1em"/>`, 0, ""},
		{"a variable", `<path` + line + ` style="stroke-width:var(--w,2)"/>`, 0, ""},
		{"a calculation", `<path` + line + ` style="stroke-width:calc(1px + 1px)"/>`, 0, ""},
		{"a width of 0 beside another", `<path` + line + ` stroke-width="0"/><path` + line + ` stroke-width="2"/>`, 2,
			`<path` + line + ` stroke-width="0"/><path` + line + ` stroke-width="4"/>`},
		{"a width of 0", `<path` + line + ` stroke-width="0"/>`, 0, ""},
		{"a width that nothing has", `<g stroke-width="1"><path` + line + ` stroke-width="2"/></g>`, 2,
			`<g stroke-width="2"><path` + line + ` stroke-width="4"/></g>`},
		{"a transparent stroke of another width", `<path` + line + ` stroke-opacity="0" stroke-width="1"/><path` + line +
			` stroke-width="2"/>`, 2, `<path` + line + ` stroke-opacity="0" stroke-width="2"/><path` + line + ` stroke-width="4"/>`},
		{"one half of another, within a scale", `<path` + line + ` stroke-width="2"/><path` + line + ` stroke-width="2" transform="scale(.5)"/>`,
			0, ""},
		{"the same, by a scale", `<path` + line + ` stroke-width="2"/><path` + line + ` stroke-width="4" transform="rotate(9) scale(.5)"/>`, 2,
			`<path` + line + ` stroke-width="4"/><path` + line + ` stroke-width="8" transform="rotate(9) scale(.5)"/>`},
		{"a mirror", `<g stroke-width="2"><path` + line + ` transform="matrix(-1 0 0 1 24 0)"/><path` + line + `/></g>`, 2,
			`<g stroke-width="4"><path` + line + ` transform="matrix(-1 0 0 1 24 0)"/><path` + line + `/></g>`},
		{"a scale in one direction", `<path` + line + ` stroke-width="2" transform="scale(2 1)"/>`, 0, ""},
		{"skewed", `<path` + line + ` stroke-width="2" transform="skewX(30)"/>`, 0, ""},
		{"turned by CSS", `<path` + line + ` stroke-width="2" style="transform:rotate(45deg)"/>`, 2,
			`<path` + line + ` stroke-width="4" style="transform:rotate(45deg)"/>`},
		{"scaled by CSS", `<path` + line + ` stroke-width="2" style="transform:scale(50%)"/>`, 0, ""},
		{"scaled by a property", `<path` + line + ` stroke-width="2" style="scale:.5"/>`, 0, ""},
		{"pixels at any size", `<path` + line + ` stroke-width="1.5" vector-effect="non-scaling-stroke" transform="scale(2)"/>`, 1.5,
			`<path` + line + ` stroke-width="3" vector-effect="non-scaling-stroke" transform="scale(2)"/>`},
		{"pixels at any size beside units", `<path` + line + ` vector-effect="non-scaling-stroke"/><path` + line + `/>`, 0, ""},
		{"a definition that is not used", `<defs><path id="a"` + line + ` stroke-width="1"/></defs><path` + line + ` stroke-width="2"/>`, 2,
			`<defs><path id="a"` + line + ` stroke-width="2"/></defs><path` + line + ` stroke-width="4"/>`},
		{"used in two sizes", `<defs><path id="a"` + line + `/></defs><use href="#a"/><use href="#a" transform="scale(2)"/>`, 0, ""},
		{"used with the width of the use element", `<defs><path id="a"` + line + `/></defs><use href="#a" stroke-width="2"/>`, 2,
			`<defs><path id="a"` + line + `/></defs><use href="#a" stroke-width="4"/>`},
		{"a symbol with a viewBox", `<symbol id="a" viewBox="0 0 9 9"><path` + line + `/></symbol><use href="#a"/>`, 0, ""},
		{"a nested svg element", `<svg viewBox="0 0 9 9"><path` + line + `/></svg>`, 0, ""},
		{"a mask in the same width", `<mask id="a"><path stroke="#fff" stroke-width="2" d="M3 3h9"/></mask><path mask="url(#a)"` + line +
			` stroke-width="2"/>`, 2, `<mask id="a"><path stroke="#fff" stroke-width="4" d="M3 3h9"/></mask><path mask="url(#a)"` + line +
			` stroke-width="4"/>`},
		{"a mask alone", `<mask id="a"><path stroke="#fff" d="M3 3h9"/></mask><path mask="url(#a)" fill="currentColor" d="M0 0h24v24H0z"/>`,
			1, `<g stroke-width="2"><mask id="a"><path stroke="#fff" d="M3 3h9"/></mask>` +
				`<path mask="url(#a)" fill="currentColor" d="M0 0h24v24H0z"/></g>`},
		{"a mask in another width", `<mask id="a"><path stroke="#fff" stroke-width="3" d="M3 3h9"/></mask><path mask="url(#a)"` + line +
			` stroke-width="2"/>`, 0, ""},
		{"a mask of a scaled element", `<mask id="a"><path stroke="#fff" stroke-width="2" d="M3 3h9"/></mask><g transform="scale(.5)">` +
			`<path mask="url(#a)"` + line + ` stroke-width="4"/></g>`, 0, ""},
		{"a mask in units of the box", `<mask id="a" maskContentUnits="objectBoundingBox"><path stroke="#fff" d="M3 3h9"/></mask>` +
			`<path mask="url(#a)" fill="currentColor" d="M3 3h9v9z"/>`, 0, ""},
		{"a clip path", `<clipPath id="a"><path stroke="#fff" stroke-width="3" d="M3 3h9v9z"/></clipPath><path clip-path="url(#a)"` + line +
			` stroke-width="2"/>`, 2, `<clipPath id="a"><path stroke="#fff" stroke-width="6" d="M3 3h9v9z"/></clipPath>` +
			`<path clip-path="url(#a)"` + line + ` stroke-width="4"/>`},
		{"a pattern with strokes", `<pattern id="a"><path` + line + `/></pattern><path fill="url(#a)" d="M3 3h9v9z"/>`, 0, ""},
		{"a marker with strokes", `<marker id="a"><path` + line + `/></marker><path marker-end="url(#a)"` + line + `/>`, 0, ""},
		{"a gradient", `<linearGradient id="a"><stop stop-color="red"/></linearGradient><path stroke="url(#a)" stroke-width="2" d="M3 3h9"/>`, 2,
			`<linearGradient id="a"><stop stop-color="red"/></linearGradient><path stroke="url(#a)" stroke-width="4" d="M3 3h9"/>`},
		{"an animated width", `<path` + line + ` stroke-width="2"><animate attributeName="stroke-width" values="2;0" dur="1s"/></path>`, 0, ""},
		{"an animated scale", `<path` + line + ` stroke-width="2"><animateTransform attributeName="transform" type="scale" values="1;2" dur="1s"/></path>`,
			0, ""},
		{"an animated turn", `<path` + line + ` stroke-width="2"><animateTransform attributeName="transform" type="rotate" values="0;360" dur="1s"/></path>`,
			2, `<path` + line + ` stroke-width="4"><animateTransform attributeName="transform" type="rotate" values="0;360" dur="1s"/></path>`},
		{"keyframes of a width", `<style>@keyframes k{to{stroke-width:3}}</style><path` + line + ` style="animation:k 1s" stroke-width="2"/>`, 0, ""},
		{"keyframes of a turn", `<style>@keyframes k{to{transform:rotate(1turn)}}</style><path` + line + ` style="animation:k 1s" stroke-width="2"/>`, 2, ""},
		{"keyframes of a scale", `<style>@keyframes k{to{transform:scale(0)}}</style><path` + line + ` style="animation:k 1s" stroke-width="2"/>`, 0, ""},
		{"a width in some media", `<style>@media print{path{stroke-width:1}}</style><path` + line + ` stroke-width="2"/>`, 0, ""},
		{"the word in an id", `<path id="stroke-width"` + line + ` stroke-width="2"/>`, 0, ""},
		{"the word in a title", `<title>stroke-width: 2</title><path` + line + ` stroke-width="2"/>`, 0, ""},
		{"a text", `<text fill="currentColor">a</text><path` + line + ` stroke-width="2"/>`, 0, ""},
	} {
		d, err := Clean([]byte(c.body), Box{Width: 24, Height: 24})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if d.Stroke != c.want {
			t.Errorf("%s: the width is %v, want %v: %s", c.why, d.Stroke, c.want, c.body)
		}
		if c.double == "" || d.Stroke == 0 {
			continue
		}
		double := Restroke(d.SVG, d.Stroke, 2*d.Stroke)
		if _, inside, err := readRoot(double); err != nil || string(inside) != c.double {
			t.Errorf("%s: %v, got\n%s, want\n%s", c.why, err, inside, c.double)
		}
		if again := string(Restroke(double, 2*d.Stroke, d.Stroke)); again != string(d.SVG) && !strings.Contains(c.double, `<g stroke-width="2"><`) &&
			!strings.Contains(c.body, "2.0") {
			t.Errorf("%s: in its own width again, it is %s, want %s", c.why, again, d.SVG)
		}
	}
}

// TestStrokeGrid checks that a width counts in pixels of an icon that is 24 pixels high.
func TestStrokeGrid(t *testing.T) {
	body := []byte(`<path fill="none" stroke="currentColor" stroke-width="4" d="M3 3h9"/>`)
	d, err := CleanTurned(body, Box{Width: 20, Height: 48}, Turn{})
	if err != nil || d.Stroke != 2 {
		t.Errorf("4 of 48 is %v, %v, want 2", d.Stroke, err)
	}
	if got := string(Restroke(d.SVG, d.Stroke, 1.5)); !strings.Contains(got, `stroke-width="3"`) {
		t.Errorf("1.5 is %s, want 3 of 48", got)
	}
	if d, err = CleanTurned(body, Box{Width: 20, Height: 48}, Turn{Rotate: 1}); err != nil || d.Stroke != 4.8 {
		t.Errorf("turned, 4 of 20 is %v, %v, want 4.8", d.Stroke, err)
	}
	d, err = CleanDocument([]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="512" height="512" stroke-width="32" stroke="#000" `+
		`fill="none"><path d="M3 3h9"/></svg>`), false)
	if err != nil || d.Stroke != 1.5 {
		t.Errorf("32 of 512, declared on the root, is %v, %v, want 1.5", d.Stroke, err)
	}
}
