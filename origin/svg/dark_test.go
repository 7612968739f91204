package svg

import (
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func TestDarken(t *testing.T) {
	const rule = `<style>@media (prefers-color-scheme:dark){.iconedge-dark-ffffff{color:#ffffff;opacity:1}}</style>`
	for _, tt := range []struct {
		name, body  string
		light, dark icon.Color
		want        string
	}{
		{"both", `<path fill="currentColor" d="M0 0h1v1"/>`, "#000000", "#ffffff",
			`<g class="iconedge-dark-ffffff" color="#000000">` + rule + `<path fill="currentColor" d="M0 0h1v1"/></g>`},
		{"the colour of the text", `<path fill="currentColor" d="M0 0h1v1"/>`, "", "#ffffff",
			`<g class="iconedge-dark-ffffff">` + rule + `<path fill="currentColor" d="M0 0h1v1"/></g>`},
		{"its own colour", `<path fill="#1a1f71" d="M0 0h1v1"/><path style="stroke:#1a1f71" d="M0 0h1v1"/>`, "", "#ffffff",
			`<g class="iconedge-dark-ffffff" color="#1a1f71">` + rule +
				`<path fill="currentColor" d="M0 0h1v1"/><path style="stroke:currentColor" d="M0 0h1v1"/></g>`},
		{"another colour", `<path fill="#1a1f71" d="M0 0h1v1"/>`, "#ff0000", "#ffffff",
			`<g class="iconedge-dark-ffffff" color="#ff0000">` + rule + `<path fill="currentColor" d="M0 0h1v1"/></g>`},
		{"translucent", `<path fill="currentColor" d="M0 0h1v1"/>`, "#00000080", "#ffffffbf",
			`<g class="iconedge-dark-ffffffbf" color="#000000" opacity="0.502"><style>@media (prefers-color-scheme:dark){` +
				`.iconedge-dark-ffffffbf{color:#ffffff;opacity:0.749}}</style><path fill="currentColor" d="M0 0h1v1"/></g>`},
		{"nothing is painted", `<path fill="none" d="M0 0h1v1"/>`, "#000000", "#ffffff", `<path fill="none" d="M0 0h1v1"/>`},
	} {
		c, err := CleanDocument([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">`+tt.body+`</svg>`), false)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		got, err := Darken(c.SVG, tt.light, tt.dark)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		want := `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">` + tt.want + `</svg>`
		if string(got) != want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, want)
			continue
		}
		// An operator may publish such an SVG again: the cleaner keeps the rule and both colours.
		again, err := CleanDocument(got, false)
		if err != nil || !strings.Contains(string(again.SVG), "prefers-color-scheme") && strings.Contains(want, "prefers") {
			t.Errorf("%s: cleaned again: %s, %v", tt.name, again.SVG, err)
		}
	}
	if _, err := Darken([]byte("<svg/>"), "", "#ffffff"); err == nil {
		t.Error("an SVG that was not cleaned has no error")
	}
}

func TestRow(t *testing.T) {
	const gradient = `<linearGradient id="a"><stop stop-color="red"/></linearGradient><path fill="url(#a)" d="M0 0h16v8z"/>`
	clean := func(body string, width float64) []byte {
		c, err := Clean([]byte(body), Box{Width: width, Height: 16})
		if err != nil {
			t.Fatal(err)
		}
		out, _, _, err := Transform(c.SVG, icon.Variant{Height: 48})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	wide, plain := clean(gradient, 20), clean(`<path fill="currentColor" d="M0 0h16v16z"/>`, 16)
	use := clean(`<g id="x"/><use xlink:href="#x"/>`, 16)
	got, width, height, err := Row([]RowIcon{{wide, "r1"}, {plain, "r2"}, {wide, "r3"}, {use, "r4"}}, 12, "a, b", "MIT -- --> -")
	want := `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="252" height="48" ` +
		`viewBox="0 0 252 48" role="img"><title>a, b</title>
<!--
MIT - - - -> - 
-->
<svg id="r1" x="0" y="0" width="60" height="48" viewBox="0 0 20 16"><linearGradient id="r1_a"><stop stop-color="red"/></linearGradient>` +
		`<path fill="url(#r1_a)" d="M0 0h16v8z"/></svg>
<svg x="72" y="0" width="48" height="48" viewBox="0 0 16 16"><path fill="currentColor" d="M0 0h16v16z"/></svg>
<svg id="r3" x="132" y="0" width="60" height="48" viewBox="0 0 20 16"><linearGradient id="r3_a"><stop stop-color="red"/></linearGradient>` +
		`<path fill="url(#r3_a)" d="M0 0h16v8z"/></svg>
<svg id="r4" x="204" y="0" width="48" height="48" viewBox="0 0 16 16"><g id="r4_x"/><use xlink:href="#r4_x"/></svg>
</svg>`
	if err != nil || string(got) != want || width != 252 || height != 48 {
		t.Errorf("%v by %v, %v\n%s\nwant\n%s", width, height, err, got, want)
	}
	if _, err := CleanDocument(got, false); err != nil {
		t.Errorf("a row is refused: %v", err)
	}
	if _, _, _, err := Row([]RowIcon{{[]byte("<svg/>"), "r1"}}, 0, "", ""); err == nil {
		t.Error("an SVG that was not cleaned has no error")
	}
}
