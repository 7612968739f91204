package svg

import (
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// TestTones has rows with the body of an icon, and, if it has two tones, that body with another
// second colour: one without an alpha, and one with it.
func TestTones(t *testing.T) {
	const d = `d="M3 3h9v9z"`
	for _, c := range []struct{ why, body, red, half string }{
		{"one tone", `<path fill="currentColor" ` + d + `/>`, "", ""},
		{"translucent as a whole", `<g opacity=".5"><path fill="currentColor" ` + d + `/></g>`, "", ""},
		{"an opacity", `<path fill="currentColor" ` + d + ` opacity=".3"/><path fill="currentColor" ` + d + `/>`,
			`<path fill="rgb(255,0,0)" ` + d + ` opacity=".3"/><path fill="currentColor" ` + d + `/>`,
			`<path fill="rgb(255,0,0)" ` + d + ` opacity="1" fill-opacity="0.502"/><path fill="currentColor" ` + d + `/>`},
		{"an inherited paint", `<g fill="currentColor"><path ` + d + ` opacity=".2"/><path ` + d + `/></g>`,
			`<g fill="currentColor"><path ` + d + ` opacity=".2" fill="rgb(255,0,0)"/><path ` + d + `/></g>`,
			`<g fill="currentColor"><path ` + d + ` opacity="1" fill="rgb(255,0,0)" fill-opacity="0.502"/><path ` + d + `/></g>`},
		{"an opacity of the fill", `<path fill="currentColor" stroke="currentColor" fill-opacity=".16" ` + d + `/>`,
			`<path fill="rgb(255,0,0)" stroke="currentColor" fill-opacity=".16" ` + d + `/>`,
			`<path fill="rgb(255,0,0)" stroke="currentColor" fill-opacity="0.502" ` + d + `/>`},
		{"a group", `<g opacity=".5"><path fill="currentColor" ` + d + `/></g><path fill="currentColor" ` + d + `/>`,
			`<g opacity=".5"><path fill="rgb(255,0,0)" ` + d + `/></g><path fill="currentColor" ` + d + `/>`,
			`<g opacity="1"><path fill="rgb(255,0,0)" ` + d + ` fill-opacity="0.502"/></g><path fill="currentColor" ` + d + `/>`},
		{"lines", `<g fill="none" stroke="currentColor"><path ` + d + `/><path ` + d + ` stroke-opacity=".5"/></g>`,
			`<g fill="none" stroke="currentColor"><path ` + d + `/><path ` + d + ` stroke-opacity=".5" stroke="rgb(255,0,0)"/></g>`,
			`<g fill="none" stroke="currentColor"><path ` + d + `/><path ` + d + ` stroke-opacity="0.502" stroke="rgb(255,0,0)"/></g>`},
		{"its own colour", `<path fill="#1a1f71" ` + d + ` opacity=".3"/><path fill="#1a1f71" ` + d + `/>`,
			`<path fill="rgb(255,0,0)" ` + d + ` opacity=".3"/><path fill="#1a1f71" ` + d + `/>`,
			`<path fill="rgb(255,0,0)" ` + d + ` opacity="1" fill-opacity="0.502"/><path fill="#1a1f71" ` + d + `/>`},
		{"a style", `<path style="fill:currentColor;opacity:.3" ` + d + `/><path fill="currentColor" ` + d + `/>`,
			`<path style="fill:rgb(255,0,0);opacity:.3" ` + d + `/><path fill="currentColor" ` + d + `/>`,
			`<path style="fill:rgb(255,0,0);opacity:1" ` + d + ` fill-opacity="0.502"/><path fill="currentColor" ` + d + `/>`},
		{"a class", `<style>.a{fill:currentColor;opacity:.3}</style><path class="a" ` + d + `/><path fill="currentColor" ` + d + `/>`,
			`<path ` + d + ` fill="rgb(255,0,0)" opacity=".3"/><path fill="currentColor" ` + d + `/>`,
			`<path ` + d + ` fill="rgb(255,0,0)" opacity="1" fill-opacity="0.502"/><path fill="currentColor" ` + d + `/>`},
		{"a use element", `<defs><path id="a" ` + d + `/></defs><g fill="currentColor"><use href="#a" opacity=".4"/><path ` + d + `/></g>`,
			`<defs><path id="a" ` + d + ` fill="rgb(255,0,0)"/></defs><g fill="currentColor"><use href="#a" opacity=".4"/><path ` + d + `/></g>`,
			`<defs><path id="a" ` + d + ` fill="rgb(255,0,0)" fill-opacity="0.502"/></defs>` +
				`<g fill="currentColor"><use href="#a" opacity="1"/><path ` + d + `/></g>`},
		{"a path in both tones", `<defs><path id="a" ` + d + `/></defs><g fill="currentColor"><use href="#a" opacity=".4"/><use href="#a"/></g>`,
			"", ""},
		{"several colours", `<path fill="red" ` + d + ` opacity=".3"/><path fill="currentColor" ` + d + `/>`, "", ""},
		{"a hit box", `<path fill="currentColor" ` + d + ` opacity=".01"/><path fill="currentColor" ` + d + `/>`, "", ""},
		{"almost opaque", `<path fill="currentColor" ` + d + ` opacity=".999"/><path fill="currentColor" ` + d + `/>`, "", ""},
		{"an animated opacity", `<path fill="currentColor" ` + d + ` opacity=".3"><animate attributeName="opacity" to="1"/></path>` +
			`<path fill="currentColor" ` + d + `/>`, "", ""},
		{"a spinner above its track", `<g fill="currentColor"><path ` + d + ` opacity=".25"/><path ` + d +
			`><animateTransform attributeName="transform" type="rotate" values="0;360" dur="1s"/></path></g>`,
			`<g fill="currentColor"><path ` + d + ` opacity=".25" fill="rgb(255,0,0)"/><path ` + d +
				`><animateTransform attributeName="transform" type="rotate" values="0;360" dur="1s"/></path></g>`,
			`<g fill="currentColor"><path ` + d + ` opacity="1" fill="rgb(255,0,0)" fill-opacity="0.502"/><path ` + d +
				`><animateTransform attributeName="transform" type="rotate" values="0;360" dur="1s"/></path></g>`},
		{"an opacity in keyframes", `<style>@keyframes k{to{opacity:1}}</style><path fill="currentColor" ` + d +
			` style="animation:k 1s" opacity=".3"/><path fill="currentColor" ` + d + `/>`, "", ""},
	} {
		ic, err := Clean([]byte(c.body), Box{Width: 24, Height: 24})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if ic.TwoTone != (c.red != "") {
			t.Errorf("%s: two tones is %v: %s", c.why, ic.TwoTone, c.body)
		}
		for color, want := range map[icon.Color]string{"#ff0000": c.red, "#ff000080": c.half} {
			if !ic.TwoTone {
				break
			}
			got, err := Retone(ic.SVG, color)
			if err != nil {
				t.Errorf("%s: %v", c.why, err)
				continue
			}
			if _, inside, err := readRoot(got); err != nil || string(inside) != want {
				t.Errorf("%s: %v, got\n%s, want\n%s", c.why, err, inside, want)
			}
			if painted := string(icon.Recolour(got, "#00ff00")); !strings.Contains(painted, "#00ff00") ||
				strings.Count(painted, "rgb(255,0,0)") != strings.Count(want, "rgb(255,0,0)") {
				t.Errorf("%s: with a first colour, it is %s", c.why, painted)
			}
		}
	}
}

// TestTonesOfDocument checks that a file whose black becomes the colour of the text has two tones
// too.
func TestTonesOfDocument(t *testing.T) {
	for body, want := range map[string]bool{
		`<path opacity=".4" d="M3 3h9v9z"/><path d="M3 3h9v9z"/>`:                            true,
		`<path fill="rgba(0,0,0,.4)" d="M3 3h9v9z"/><path fill="#000" d="M3 3h9v9z"/>`:       true,
		`<path fill="#123456" opacity=".4" d="M3 3h9"/><path fill="#654321" d="M3 3h9v9z"/>`: false,
	} {
		d, err := CleanDocument([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">`+body+`</svg>`), false)
		if err != nil || d.TwoTone != want {
			t.Errorf("%s: two tones is %v, %v", body, d.TwoTone, err)
		}
	}
}
