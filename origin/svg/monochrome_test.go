package svg

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// TestMonochrome has rows with the body of an icon, and whether everything that it paints is
// currentColor.
func TestMonochrome(t *testing.T) {
	for _, c := range []struct {
		why  string
		body string
		want bool
	}{
		{"the plain case", `<path fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"another spelling", `<path fill="CURRENTCOLOR" d="M0 0h9v9z"/>`, true},
		{"black by default", `<path d="M0 0h9v9z"/>`, false},
		{"a color of its own", `<path fill="#000" d="M0 0h9v9z"/>`, true},
		{"a color of its own twice", `<path fill="#1A1f71" d="M0 0h9v9z"/><path stroke="#1A1f71" fill="none" d="M0 0h9"/>`, true},
		{"a color in two spellings, which stay", `<path fill="#1A1f71" d="M0 0h9v9z"/><path fill="#1a1f71" d="M0 0h9v9z"/>`, false},
		{"a color by its name, which stays", `<path fill="red" d="M0 0h9v9z"/>`, false},
		{"a color that a longer one contains", `<path fill="#fff" d="M0 0h9v9z"/><clipPath><path fill="#ffffff"/></clipPath>`, false},
		{"a color that an id contains", `<path fill="#abc" id="#abc" d="M0 0h9v9z"/>`, false},
		{"a reference that looks like a color",
			`<path id="abc" d="M0 0h9v9z"/><use href="#abc" fill="#fff"/>`, false},
		{"a faint hit box", `<path fill="#fff" fill-opacity=".01" d="M0 0h24v24H0z"/><path fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"a box that is rather faint", `<path fill="#fff" fill-opacity=".03" d="M0 0h24v24H0z"/><path fill="currentColor" d="M0 0h9v9z"/>`,
			false},
		{"nothing is painted", ``, true},
		{"fill is inherited", `<g fill="currentColor"><path d="M0 0h9v9z"/></g>`, true},
		{"an inherited fill is overridden", `<g fill="currentColor"><path fill="red" d="M0 0h9v9z"/></g>`, false},
		{"no fill, a stroke", `<g fill="none" stroke="currentColor"><path d="M0 0h9"/><circle r="3"/></g>`, true},
		{"a stroke alone leaves the inside black", `<path stroke="currentColor" d="M0 0h9v9z"/>`, false},
		{"a line has no inside", `<line stroke="currentColor" x2="9"/>`, true},
		{"a colored stroke", `<path fill="currentColor" stroke="#fff" d="M0 0h9v9z"/>`, false},
		{"a stroke without width", `<path fill="currentColor" stroke="#fff" stroke-width="0" d="M0 0h9v9z"/>`, true},
		{"transparent", `<path fill="transparent" stroke="currentColor" d="M0 0h9v9z"/>`, true},
		{"#0000 can't be seen", `<path fill="#0000" stroke="currentColor" d="M0 0h9v9z"/>`, true},
		{"fill-opacity 0", `<path fill="#fff" fill-opacity="0" d="M0 0h9v9z"/><path fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"opacity 0", `<g opacity="0"><path fill="red" d="M0 0h24v24z"/></g>`, true},
		{"opacity 0, but animated", `<g opacity="0"><path fill="red" d="M0 0h24v24z"/><animate attributeName="opacity" to="1"/></g>`,
			false},
		{"display none", `<path display="none" d="M0 0h24v24z"/>`, true},
		{"hidden, but shown again inside",
			`<g visibility="hidden"><path d="M0 0h9v9z"/><path visibility="visible" fill="red" d="M0 0h9v9z"/></g>`, false},
		{"hidden", `<g visibility="hidden"><path d="M0 0h9v9z"/></g>`, true},
		{"color makes currentColor another", `<g color="#f00"><path fill="currentColor" d="M0 0h9v9z"/></g>`, false},
		{"color=currentColor does not change currentColor", `<g color="currentColor"><path fill="currentColor" d="M0 0h9v9z"/></g>`, true},
		{"a mask's brightness does not count",
			`<mask id="m"><path fill="#fff" d="M0 0h9v9z"/><path d="M0 0h1v1z"/></mask><path mask="url(#m)" fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"a clip path does not count",
			`<clipPath id="m"><path d="M0 0h9v9z"/></clipPath><path clip-path="url(#m)" fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"definitions are not painted", `<defs><path id="a" fill="red" d="M0 0h9v9z"/></defs><path fill="currentColor" d="M0 0h9v9z"/>`,
			true},
		{"definitions that are used are painted", `<defs><path id="a" fill="red" d="M0 0h9v9z"/></defs><use href="#a"/>`, false},
		{"a use passes its fill on", `<defs><path id="a" d="M0 0h9v9z"/></defs><use fill="currentColor" href="#a"/>`, true},
		{"each use counts", `<defs><path id="a" d="M0 0h9v9z"/></defs><use fill="currentColor" href="#a"/><use xlink:href="#a"/>`, false},
		{"a symbol", `<symbol id="a"><path fill="currentColor" d="M0 0h9v9z"/></symbol><use href="#a"/>`, true},
		{"a symbol that is not used", `<symbol id="a"><path fill="red" d="M0 0h9v9z"/></symbol>`, true},
		{"a gradient of one color",
			`<linearGradient id="a"><stop stop-color="currentColor"/><stop stop-color="currentColor" stop-opacity="0"/></linearGradient><path fill="url(#a)" d="M0 0h9v9z"/>`, true},
		{"a gradient of colors",
			`<linearGradient id="a"><stop stop-color="currentColor"/><stop stop-color="red"/></linearGradient><path fill="url(#a)" d="M0 0h9v9z"/>`, false},
		{"a stop is black by default", `<linearGradient id="a"><stop/></linearGradient><path fill="url(#a)" d="M0 0h9v9z"/>`, false},
		{"a gradient's stops are another's",
			`<linearGradient id="b"><stop stop-color="red"/></linearGradient><radialGradient id="a" href="#b"/><path fill="url(#a)" d="M0 0h9v9z"/>`, false},
		{"a gradient that nothing uses",
			`<linearGradient id="a"><stop stop-color="red"/></linearGradient><path fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"a pattern", `<pattern id="a"><path fill="red" d="M0 0h9v9z"/></pattern><path fill="url(#a)" d="M0 0h9v9z"/>`, false},
		{"a pattern in currentColor",
			`<pattern id="a"><path fill="currentColor" d="M0 0h9v9z"/></pattern><path fill="url(#a)" d="M0 0h9v9z"/>`, true},
		{"a marker", `<marker id="a"><path d="M0 0h9v9z"/></marker><path marker-end="url(#a)" fill="none" stroke="currentColor" d="M0 0h9"/>`, false},
		{"a quoted reference",
			`<linearGradient id="a"><stop stop-color="red"/></linearGradient><path fill="url(&quot;#a&quot;)" d="M0 0h9v9z"/>`, false},
		{"a reference to nothing paints nothing", `<path fill="url(#a)" d="M0 0h9v9z"/>`, true},
		{"the fallback of a reference may be painted", `<path fill="url(#a) red" d="M0 0h9v9z"/>`, false},
		{"style", `<path style="fill:currentColor" d="M0 0h9v9z"/>`, true},
		{"style over attribute", `<path fill="currentColor" style="fill:red" d="M0 0h9v9z"/>`, false},
		{"style over attribute, the other way", `<path fill="red" style="fill:currentcolor" d="M0 0h9v9z"/>`, true},
		{"a class", `<style>.a{fill:currentColor}</style><path class="a" d="M0 0h9v9z"/>`, true},
		{"a colored class", `<style>.a{fill:red}</style><path class="a" d="M0 0h9v9z"/>`, false},
		{"a class that one path lacks", `<style>.a{fill:currentColor}</style><path class="a" d="M0 0h9v9z"/><path d="M0 0h9v9z"/>`, false},
		{"!important", `<style>path{fill:currentColor!important}</style><path style="fill:red" d="M0 0h9v9z"/>`, true},
		{"a rule that matches nothing", `<style>g path{fill:red}</style><path fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"a rule that matches at times", `<style>path:hover{fill:red}</style><path fill="currentColor" d="M0 0h9v9z"/>`, false},
		{"a rule that sets currentColor at times", `<style>path:hover{fill:currentColor}</style><path fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"a condition", `<style>@media (prefers-color-scheme:dark){path{fill:#fff}}</style><path fill="currentColor" d="M0 0h9v9z"/>`,
			false},
		{"an animation in CSS", `<style>@keyframes k{to{fill:red}}path{animation:k 1s}</style><path fill="currentColor" d="M0 0h9v9z"/>`, false},
		{"an animation in CSS that nothing has", `<style>@keyframes k{to{fill:red}}</style><path fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"a variable", `<path fill="var(--a,currentColor)" d="M0 0h9v9z"/>`, false},
		{"an animated color", `<path fill="currentColor" d="M0 0h9v9z"><animate attributeName="fill" values="currentColor;red"/></path>`,
			false},
		{"an animation to currentColor",
			`<path fill="currentColor" d="M0 0h9v9z"><animate attributeName="fill" values="none;currentcolor;" dur="1s"/></path>`, true},
		{"other animations", `<path fill="currentColor" d="M0 0h9v9z"><animate fill="freeze" attributeName="fill-opacity" values="0;1" dur="1s"/></path>`, true},
		{"text may have emoji", `<text fill="currentColor">a</text>`, false},
		{"pixels", `<image href="data:image/png;base64,iVBORw0KGgo="/>`, false},
		{"a blur", `<filter id="f"><feGaussianBlur stdDeviation="1"/></filter><path filter="url(#f)" fill="currentColor" d="M0 0h9v9z"/>`,
			true},
		{"a flood that can't be seen",
			`<filter id="f"><feFlood flood-opacity="0" result="b"/><feBlend in="SourceGraphic" in2="b"/></filter><path filter="url(#f)" fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"a flood", `<filter id="f"><feFlood/></filter><path filter="url(#f)" fill="currentColor" d="M0 0h9v9z"/>`, false},
		{"a matrix of alpha alone",
			`<filter id="f"><feColorMatrix values="1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 18 -7"/></filter><path filter="url(#f)" fill="currentColor" d="M0 0h9v9z"/>`, true},
		{"a matrix of colors",
			`<filter id="f"><feColorMatrix values="0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0"/></filter><path filter="url(#f)" fill="currentColor" d="M0 0h9v9z"/>`, false},
		{"a filter function", `<path style="filter:hue-rotate(90deg)" fill="currentColor" d="M0 0h9v9z"/>`, false},
		{"an unknown color", `<path fill="oklch(50% 0 0)" d="M0 0h9v9z"/>`, false},
		{"a nested svg element", `<svg fill="currentColor"><path d="M0 0h9v9z"/></svg>`, true},
		{"the word as an id", `<path id="currentColor" fill="currentColor" d="M0 0h9v9z"/>`, false},
		{"the word in a title", `<title>currentColor</title><path fill="currentColor" d="M0 0h9v9z"/>`, false},
		{"the word in a reference", `<linearGradient id="b"/><path fill="url(#currentColor)" d="M0 0h9v9z"/>`, false},
		{"the word in other CSS", `<path style="border-color:currentColor;fill:currentColor" d="M0 0h9v9z"/>`, false},
		{"a shape in a shape is not painted", `<path fill="currentColor" d="M0 0h9v9z"><path d="M0 0h9v9z"/></path>`, true},
	} {
		d, err := Clean([]byte(c.body), Box{Width: 24, Height: 24})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if d.Monochrome != c.want {
			t.Errorf("%s: monochrome is %v, want %v: %s", c.why, d.Monochrome, c.want, c.body)
		}
		if strings.Contains(strings.ReplaceAll(string(d.SVG), "currentColor", ""), "urrentcolor") {
			t.Errorf("%s: currentColor is not in its canonical spelling: %s", c.why, d.SVG)
		}
	}
}

const (
	ofText = "text" // the colour of the text
	many   = ""     // several colours
)

// TestOneColor has rows with an SVG file of a folder, its clean inside, and the colour that it has
// then.
func TestOneColor(t *testing.T) {
	for _, c := range []struct {
		why, root, in, want string
		color               string
	}{
		{"no color declared: black", ``, `<path d="M0 0h9v9z"/>`, `<path fill="currentColor" d="M0 0h9v9z"/>`, ofText},
		{"one color", ``, `<path fill="#1A1F71" d="M0 0"/><path stroke="#1A1F71" fill="none" d="M0 0"/>`,
			`<path fill="#1A1F71" d="M0 0"/><path stroke="#1A1F71" fill="none" d="M0 0"/>`, "#1a1f71"},
		{"one color in two spellings", ``, `<path fill="#123" d="M0 0"/><path fill="#112233" d="M0 0"/>`,
			`<path fill="#112233" d="M0 0"/><path fill="#112233" d="M0 0"/>`, "#112233"},
		{"a color by its name", ``, `<path fill="Red" d="M0 0"/>`, `<path fill="#ff0000" d="M0 0"/>`, "#ff0000"},
		{"almost black", ``, `<path fill="#231f20" d="M0 0"/>`, `<path fill="#231f20" d="M0 0"/>`, "#231f20"},
		{"black beside currentColor", ``, `<path fill="currentColor" d="M0 0"/><path d="M0 0"/>`,
			`<path fill="currentColor" d="M0 0"/><path fill="currentColor" d="M0 0"/>`, ofText},
		{"declared black beside currentColor", ``, `<path fill="currentColor" d="M0 0"/><path stroke="#000" fill="none" d="M0 0"/>`,
			`<path fill="currentColor" d="M0 0"/><path stroke="currentColor" fill="none" d="M0 0"/>`, ofText},
		{"a variable that nothing defines", ``, `<path fill="var(--ci-primary-color, currentColor)" class="ci-primary" d="M0 0"/>`,
			`<path fill="currentColor" d="M0 0"/>`, ofText},
		{"a variable within a variable", ``, `<path style="fill:var(--a, var(--b, #1a1f71))" d="M0 0"/>`,
			`<path style="fill:#1a1f71" d="M0 0"/>`, "#1a1f71"},
		{"a variable that the file defines", ``, `<g style="--a:red"><path fill="var(--a,currentColor)" d="M0 0"/></g>`,
			`<g style="--a:red"><path fill="var(--a,currentColor)" d="M0 0"/></g>`, many},
		{"a variable without a fallback", ``, `<path fill="var(--a)" d="M0 0"/>`, `<path fill="var(--a)" d="M0 0"/>`, many},
		{"a hit box", ``, `<rect fill="#D8D8D8" opacity="0.01" width="9" height="9"/><path fill="#123456" d="M0 0"/>`,
			`<rect fill="rgb(216,216,216)" opacity="0.01" width="9" height="9"/><path fill="#123456" d="M0 0"/>`, "#123456"},
		{"a hit box in a faint color", ``, `<path fill="rgba(255,255,255,.01)" d="M0 0"/><path d="M0 0"/>`,
			`<path fill="rgba(255,255,255,.01)" d="M0 0"/><path fill="currentColor" d="M0 0"/>`, ofText},
		{"a hit box by the opacity of its group", ``, `<g opacity=".1"><path fill="#fff" fill-opacity="10%" d="M0 0"/></g><path d="M0 0"/>`,
			`<g opacity=".1"><path fill="#fff" fill-opacity="10%" d="M0 0"/></g><path fill="currentColor" d="M0 0"/>`, ofText},
		{"two tones by opacity", ``, `<path opacity=".4" fill="#123456" d="M0 0"/><path fill="#123456" d="M0 0"/>`,
			`<path opacity=".4" fill="#123456" d="M0 0"/><path fill="#123456" d="M0 0"/>`, "#123456"},
		{"two tones by alpha", ``, `<path fill="rgba(0,0,0,.4)" d="M0 0"/><path fill="#000" d="M0 0"/>`,
			`<path fill="currentColor" d="M0 0" fill-opacity="0.4"/><path fill="currentColor" d="M0 0" fill-opacity="1"/>`, ofText},
		{"two tones by alpha, inherited", ``, `<g fill="#12345680"><path d="M0 0"/><path fill="#123456" d="M0 0"/></g>`,
			`<g fill="#123456" fill-opacity="0.502"><path d="M0 0"/><path fill="#123456" d="M0 0" fill-opacity="1"/></g>`, "#123456"},
		{"two tones in styles", ``, `<path style="fill:#12345680!important" d="M0 0"/><path fill="#123456" d="M0 0"/>`,
			`<path style="fill:#123456!important;fill-opacity:0.502!important" d="M0 0"/><path fill="#123456" d="M0 0" fill-opacity="1"/>`,
			"#123456"},
		{"an alpha and an opacity would have to be multiplied", ``,
			`<g fill-opacity=".5"><path fill="#12345680" d="M0 0"/></g><path fill="#123456" d="M0 0"/>`,
			`<g fill-opacity=".5"><path fill="#12345680" d="M0 0"/></g><path fill="#123456" d="M0 0"/>`, many},
		{"tones of two colors", ``, `<path fill="#12345680" d="M0 0"/><path fill="#654321" d="M0 0"/>`,
			`<path fill="#12345680" d="M0 0"/><path fill="#654321" d="M0 0"/>`, many},
		{"a color that another one contains", ``, `<path fill="#fff" d="M0 0"/><path fill="#ffffff00" d="M0 0"/>`,
			`<path fill="#ffffff" d="M0 0"/><path fill="rgba(255,255,255,0)" d="M0 0"/>`, "#ffffff"},
		{"black declared and by default", ``, `<path fill="black" d="M0 0"/><path d="M0 0"/>`,
			`<path fill="currentColor" d="M0 0"/><path fill="currentColor" d="M0 0"/>`, ofText},
		{"two colors", ``, `<path fill="#123" d="M0 0"/><path fill="#321" d="M0 0"/>`,
			`<path fill="#123" d="M0 0"/><path fill="#321" d="M0 0"/>`, many},
		{"a color and black", ``, `<path fill="#123" d="M0 0"/><path d="M0 0"/>`, `<path fill="#123" d="M0 0"/><path d="M0 0"/>`, many},
		{"a color and currentColor", ``, `<path fill="#123" d="M0 0"/><path fill="currentColor" d="M0 0"/>`,
			`<path fill="#123" d="M0 0"/><path fill="currentColor" d="M0 0"/>`, many},
		{"on the root", ` fill="none" stroke="#000"`, `<path d="M0 0h9"/>`,
			`<g fill="none" stroke="currentColor"><path d="M0 0h9"/></g>`, ofText},
		{"in a style", ``, `<path style="fill: rgb(0,0,0); stroke:none" d="M0 0"/>`,
			`<path style="fill:currentColor;stroke:none" d="M0 0"/>`, ofText},
		{"in a class", ``, `<style>.a{fill:#231f20}</style><path class="a" d="M0 0"/>`,
			`<path d="M0 0" fill="#231f20"/>`, "#231f20"},
		{"in a style sheet for the root", ``, `<style>svg{fill:#231f20}</style><path d="M0 0"/>`,
			`<g fill="#231f20"><path d="M0 0"/></g>`, "#231f20"},
		{"as the color that currentColor refers to", ``, `<g color="#123"><path fill="currentColor" d="M0 0"/></g>`,
			`<g color="#112233"><path fill="#112233" d="M0 0"/></g>`, "#112233"},
		{"black as that color", ` color="#000"`, `<path fill="currentColor" d="M0 0"/>`,
			`<g color="currentColor"><path fill="currentColor" d="M0 0"/></g>`, ofText},
		{"a color that nothing refers to", ` color="white"`, `<path fill="#123456" d="M0 0"/>`, `<path fill="#123456" d="M0 0"/>`, "#123456"},
		{"in a gradient", ``, `<linearGradient id="a"><stop stop-color="#123"/><stop stop-color="#123" stop-opacity="0"/></linearGradient><path fill="url(#a)" d="M0 0"/>`,
			`<linearGradient id="a"><stop stop-color="#123"/><stop stop-color="#123" stop-opacity="0"/></linearGradient><path fill="url(#a)" d="M0 0"/>`, "#112233"},
		{"in a gradient, in two spellings", ``, `<linearGradient id="a"><stop stop-color="#123"/><stop stop-color="#112233" stop-opacity="0"/></linearGradient><path fill="url(#a)" d="M0 0"/>`,
			`<linearGradient id="a"><stop stop-color="#112233"/><stop stop-color="#112233" stop-opacity="0"/></linearGradient><path fill="url(#a)" d="M0 0"/>`, "#112233"},
		{"half transparent", ``, `<path fill="rgba(0,0,0,.5)" d="M0 0"/>`,
			`<path fill="currentColor" d="M0 0" fill-opacity="0.502"/>`, ofText},
		{"a mask keeps its brightness", ``,
			`<mask id="m"><path fill="#fff" d="M0 0h9v9z"/><path d="M0 0h1v1z"/></mask><path mask="url(#m)" d="M0 0"/>`,
			`<mask id="m"><path fill="#fff" d="M0 0h9v9z"/><path d="M0 0h1v1z"/></mask><path fill="currentColor" mask="url(#m)" d="M0 0"/>`, ofText},
		{"white, like its mask", ``, `<mask id="m"><path fill="#fff" d="M0 0"/></mask><path mask="url(#m)" fill="#fff" d="M0 0"/>`,
			`<mask id="m"><path fill="rgb(255,255,255)" d="M0 0"/></mask><path mask="url(#m)" fill="#ffffff" d="M0 0"/>`, "#ffffff"},
		{"white, like its mask, in the same spelling", ``,
			`<mask id="m"><path fill="#ffffff" d="M0 0"/></mask><path mask="url(#m)" fill="#ffffff" d="M0 0"/>`,
			`<mask id="m"><path fill="rgb(255,255,255)" d="M0 0"/></mask><path mask="url(#m)" fill="#ffffff" d="M0 0"/>`, "#ffffff"},
		{"a color that a mask shares can't be exchanged", ` fill="#fff"`,
			`<mask id="m"><path d="M0 0"/></mask><path mask="url(#m)" d="M0 0"/>`,
			`<g fill="#fff"><mask id="m"><path d="M0 0"/></mask><path mask="url(#m)" d="M0 0"/></g>`, many},
		{"a shape that a mask shares can't either", ``,
			`<path id="p" d="M0 0"/><mask id="m"><use href="#p"/></mask><circle mask="url(#m)" r="1"/>`,
			`<path id="p" d="M0 0"/><mask id="m"><use href="#p"/></mask><circle mask="url(#m)" r="1"/>`, many},
		{"animated colors", ``, `<path d="M0 0"><set attributeName="fill" to="#000"/></path>`,
			`<path d="M0 0"><set attributeName="fill" to="#000"/></path>`, many},
		{"a text", ``, `<text>a</text>`, `<text>a</text>`, many},
		{"no paint at all", ` fill="none"`, `<path d="M0 0"/>`, `<g fill="none"><path d="M0 0"/></g>`, ofText},
		{"already monochrome", ``, `<path fill="currentcolor" d="M0 0"/>`, `<path fill="currentColor" d="M0 0"/>`, ofText},
		{"a use of a shape without a fill", ``, `<defs><path id="p" d="M0 0"/></defs><use href="#p"/>`,
			`<defs><path fill="currentColor" id="p" d="M0 0"/></defs><use href="#p"/>`, ofText},
		{"fill=inherit with nothing to inherit", ``, `<path fill="inherit" d="M0 0"/>`, `<path fill="inherit" d="M0 0"/>`, many},
	} {
		doc := []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"` + c.root + `>` + c.in + `</svg>`)
		d, err := CleanDocument(doc, false)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		_, got, err := readRoot(d.SVG)
		color := many
		if d.Monochrome {
			color = cmp.Or(string(d.Color), ofText)
		}
		if err != nil || unnamed(got) != unnamed([]byte(c.want)) || color != c.color {
			t.Errorf("%s: color %q (want %q), %v\ngot  %s\nwant %s", c.why, color, c.color, err, got, c.want)
		}
		checkMarker(t, c.why, d)
		whole, err := CleanDocument(doc, true)
		if err != nil || strings.Count(string(whole.SVG), "#") != strings.Count(c.root+c.in, "#") {
			t.Errorf("%s: with palette set, it is changed: %s", c.why, whole.SVG)
		}
	}
}

// checkMarker checks that the root of an SVG names its own colour, and that another colour replaces
// it everywhere.
func checkMarker(t *testing.T, why string, d Icon) {
	t.Helper()
	r, inside, err := readRoot(d.SVG)
	if err != nil || (r.color == "") != (d.Color == "") {
		t.Errorf("%s: the root has the color %q, the icon %q, %v", why, r.color, d.Color, err)
	}
	if d.Color == "" {
		return
	}
	if c, err := icon.ParseColor(r.color); err != nil || c != d.Color {
		t.Errorf("%s: the root has the color %q, the icon %q", why, r.color, d.Color)
	}
	want := strings.ReplaceAll(string(inside), r.color, "#00ff00")
	if _, got, err := readRoot(icon.Recolour(d.SVG, "#00ff00")); err != nil || string(got) != want {
		t.Errorf("%s: recoloured %v\ngot  %s\nwant %s", why, err, got, want)
	}
}

// someName matches an id, where it stands and where something refers to it.
var someName = regexp.MustCompile(`(id="|#)(i[0-9a-f]{8}_[0-9]|[a-z])\b`)

// unnamed returns an SVG with one id for all: those of a clean SVG depend on its content.
func unnamed(inside []byte) string { return string(someName.ReplaceAll(inside, []byte("${1}N"))) }
