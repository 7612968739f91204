package svg

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// ownName matches a name made from the content.
var ownName = regexp.MustCompile(`i[0-9a-f]{8}_`)

// cleanedBody returns the inside of a cleaned document, with names that don't depend on its
// content.
func cleanedBody(t *testing.T, body string) string {
	t.Helper()
	doc := body
	if !strings.HasPrefix(body, "<svg") {
		doc = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">` + body + `</svg>`
	}
	d, err := CleanDocument([]byte(doc), true)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	checkClean(t, d, cleanAgain)
	_, inside, err := readRoot(d.SVG)
	if err != nil {
		t.Fatal(err)
	}
	return string(ownName.ReplaceAll(inside, []byte("i-")))
}

// cleanAsIs cleans a body as Clean does, but leaves a style sheet in it, as in icons of releases
// that were published before.
func cleanAsIs(body []byte, box Box) (Icon, error) {
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(body, false); err != nil {
		return Icon{}, err
	}
	return p.cleanBody(len(body), box, Turn{}), nil
}

// TestStyles checks which rules become attributes, which become declarations, and which stay.
func TestStyles(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"a class", `<style>.a{fill:red}</style><path class="a b"/>`, `<path fill="red"/>`},
		{"two elements", `<style>path{fill:red}</style><path/><g><path fill="blue"/></g>`, `<path fill="red"/><g><path fill="red"/></g>`},
		{"a child of the root", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" fill="none"><style>svg>path{fill:red}</style><path/></svg>`,
			`<g fill="none"><path fill="red"/></g>`},
		{"an empty rule", `<style>svg>path{}</style><path/>`, `<path/>`},
		{"specificity", `<style>#a{fill:red}path.b{fill:blue}.b{fill:lime}</style><path id="a" class="b"/><path class="b"/>`,
			`<path fill="red"/><path fill="blue"/>`},
		{"order", `<style>.a{fill:red}.b{fill:blue}</style><path class="b a"/>`, `<path fill="blue"/>`},
		{"importance", `<style>.a{fill:red!important}</style><path class="a" style="fill:blue;opacity:.5"/>`, `<path style="opacity:.5" fill="red"/>`},
		{"an inline style wins", `<style>.a{fill:red}</style><path class="a" style="fill:blue"/>`, `<path style="fill:blue"/>`},
		{"a property without an attribute", `<style>.a{mix-blend-mode:multiply;fill:red}</style><path class="a"/>`,
			`<path fill="red" style="mix-blend-mode:multiply"/>`},
		{"a value that not every browser knows", `<style>.a{fill:oklch(1 0 0)}</style><path class="a" fill="red"/>`,
			`<path fill="red" style="fill:oklch(1 0 0)"/>`},
		{"an invalid value", `<style>.a{fill:red}.a{fill:nonsense}</style><path class="a"/>`, `<path style="fill:red;fill:nonsense"/>`},
		{"a number where CSS demands a length", `<style>text{font-size:20}</style><text font-size="9">a</text>`,
			`<text font-size="9">a</text>`},
		{"an animation is no shape", `<style>*{fill:red}</style><path><set attributeName="x" to="1"/></path>`,
			`<g fill="red"><path fill="red"><set attributeName="x" to="1"/></path></g>`},
		{"importance over animations", `<style>.a{fill:red!important}</style><path class="a"><set attributeName="fill" to="blue"/></path>`,
			`<path style="fill:red!important"><set attributeName="fill" to="blue"/></path>`},
		{"a medium", `<style>.a{fill:red}@media print{.a{fill:blue}}</style><path class="a"/>`,
			`<style>@media print{.i-0{fill:blue}}</style><path fill="red" class="i-0"/>`},
		{"a medium that loses", `<style>@media print{.a{fill:blue}}.a{fill:red}</style><path class="a"/>`,
			`<style>@media print{.i-0{fill:blue}}.i-0{fill:red}</style><path class="i-0"/>`},
		{"a medium of the sheet", `<style media="print">.a{fill:blue}</style><path class="a"/>`,
			`<style>@media print{.i-0{fill:blue}}</style><path class="i-0"/>`},
		{"a state", `<style>.g:hover>path{fill:blue}path{fill:red}</style><g class="g"><path/></g>`,
			`<style>.i-0:hover&gt;.i-1{fill:blue}</style><g class="i-0"><path fill="red" class="i-1"/></g>`},
		{"a state below a rule", `<style>path:hover{fill:blue}#a{fill:red}</style><path id="a"/>`,
			`<style>.i-0:hover{fill:blue}.i-0.i-0{fill:red}</style><path class="i-0"/>`},
		{"keyframes", `<style>@keyframes spin{to{opacity:0}}@keyframes other{to{opacity:1}}.a{animation:spin 1s}</style><path class="a"/>`,
			`<style>@keyframes i-0{to{opacity:0}}</style><path style="animation:i-0 1s"/>`},
		{"nesting", `<style>.a{fill:red;&amp;.b{fill:blue}path{stroke:red;@media print{fill:lime}}}</style><g class="a"><path/></g><g class="a b"/>`,
			`<style>@media print{.i-0{fill:lime}}</style><g fill="red"><path stroke="red" class="i-0"/></g><g fill="blue"/>`},
		{"all", `<style>path{fill:red}.a{all:unset}</style><path class="a"/>`,
			`<style>.i-0{fill:red}.i-0{all:unset}</style><path class="i-0"/>`},
		{"siblings within an element", `<style>g:has(> path + circle){fill:red}g:has(rect){fill:blue}</style><g><path/><circle/></g><g><circle/><path/></g>`,
			`<g fill="red"><path/><circle/></g><g><circle/><path/></g>`},
		{"a later sibling", `<style>path:has(~ .b){fill:red}</style><path/><path class="b"/><path/>`, `<path fill="red"/><path/><path/>`},
		{"a descendant of a descendant", `<style>g:has(g path):not(:has(.a path)){fill:red}</style><g><g><path/></g></g><g><g class="a"><path/></g></g>`,
			`<g fill="red"><g><path/></g></g><g><g><path/></g></g>`},
		{"layers", `<style>@layer a,b;@layer b{.c{fill:red}}@layer a{#d.c{fill:blue}}</style><path id="d" class="c"/>`, `<path fill="red"/>`},
		{"a rule without a layer", `<style>.c{fill:red}@layer a{#d.c{fill:blue}}</style><path id="d" class="c"/>`, `<path fill="red"/>`},
		{"layers in a layer", `<style>@layer a{@layer x{.c{fill:red}}.c{fill:lime}}@layer a.y{#d.c{fill:blue}}</style><path id="d" class="c"/>`,
			`<path fill="lime"/>`},
		{"layers without names", `<style>@layer{#d.c{fill:blue}}@layer{.c{fill:red}}</style><path id="d" class="c"/>`, `<path fill="red"/>`},
		{"importance in layers", `<style>@layer a{.c{fill:red!important}}@layer b{#d.c{fill:blue!important}}</style><path id="d" class="c"/>`,
			`<path fill="red"/>`},
		{"an inline style over layers", `<style>@layer a{.c{fill:red!important}}</style><path class="c" style="fill:blue!important"/>`,
			`<path style="fill:blue!important"/>`},
		{"a layer in a rule", `<style>.c{@layer a{fill:blue}}path{fill:red}</style><path class="c"/>`, `<path fill="red"/>`},
		{"a layer in a medium", `<style>@media print{@layer b{.c{fill:red}}}@layer a{.c{fill:blue}}.d{fill:red}</style><path class="c"/><path class="d c"/>`,
			`<style>@media print{.i-0{fill:red}}.i-0{fill:blue}.i-1{fill:red}</style><path class="i-0"/><path class="i-0 i-1"/>`},
		{"a condition of functions", `<style>@supports (color:rgb(0 0 0)) and selector(:has(a)){.a{fill:red}}</style><path class="a"/>`,
			`<style>@supports (color:rgb(0 0 0)) and selector(:has(a)){.i-0{fill:red}}</style><path class="i-0"/>`},
		{"a selector that nobody can evaluate", `<style>:has(:hover){fill:red}</style><g><path/></g>`, `<g><path/></g>`},
		{"names that nothing needs", `<g id="a" class="b"><path id="c"/></g>`, `<g><path/></g>`},
		{"names that something needs", `<path id="a"/><use href="#a"/><g aria-labelledby="t"><title id="t">x</title></g>`,
			`<path id="i-0"/><use href="#i-0"/><g aria-labelledby="i-1"><title id="i-1">x</title></g>`},
		{"a background", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="1 0 9 9" style="background:red;display:block"><path/></svg>`,
			`<rect x="1" width="9" height="9" fill="red"/><path/>`},
		{"percentages", `<rect width="100%" height="50%"/><linearGradient id="a" x1="50%"/><path fill="url(#a)"/>`,
			`<rect width="9" height="4.5"/><linearGradient id="i-0" x1="50%"/><path fill="url(#i-0)"/>`},
	} {
		if got := cleanedBody(t, c.body); got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.body, got, c.want)
		}
	}
}

// TestOwnNames checks that names of two icons differ, and those of one icon do not.
func TestOwnNames(t *testing.T) {
	clean := func(colour string) []byte {
		d, err := CleanDocument([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><linearGradient id="a"><stop stop-color="`+
			colour+`"/></linearGradient><path fill="url(#a)"/></svg>`), true)
		if err != nil {
			t.Fatal(err)
		}
		return d.SVG
	}
	red, blue := ownName.Find(clean("red")), ownName.Find(clean("blue"))
	if red == nil || bytes.Equal(red, blue) || !bytes.Equal(red, ownName.Find(clean("red"))) {
		t.Errorf("names begin with %s and %s", red, blue)
	}
}

// TestPrefixedIDs checks the parameter id: ids and everything that refers to them get the prefix.
func TestPrefixedIDs(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`<path d="M0 0"/>`, `<path d="M0 0"/>`},
		{`<use href="#gone"/>`, `<use href="#gone"/>`}, // an icon without ids stays the same
		{`<path id="a"/><use href="#a"/><use xlink:href="#a"/>`, `<path id="p-a"/><use href="#p-a"/><use xlink:href="#p-a"/>`},
		{`<linearGradient id="a"/><path fill="url(#a) red" style="stroke:url(&quot;#a&quot;)"/>`,
			`<linearGradient id="p-a"/><path fill="url(#p-a) red" style="stroke:url(#p-a)"/>`},
		{`<g aria-labelledby="t u" aria-describedby="d"><title id="t">x</title></g>`,
			`<g aria-labelledby="p-t p-u" aria-describedby="p-d"><title id="p-t">x</title></g>`},
		{`<path><set id="s" attributeName="x" begin="0s;r.end+1s; s.click" end="s.begin" to="1"/></path>`,
			`<path><set id="p_s" attributeName="x" begin="0s;p_r.end+1s; p_s.click" end="p_s.begin" to="1"/></path>`},
		{`<style>#a .b{fill:url(#c)}</style><g id="a"><path class="b"/></g>`,
			`<style>#p-a .b{fill:url(#p-c)}</style><g id="p-a"><path class="b"/></g>`},
	} {
		d, err := cleanAsIs([]byte(c.body), Box{Width: 9, Height: 9})
		if err != nil {
			t.Fatal(err)
		}
		got, _, _, err := Transform(d.SVG, icon.Variant{ID: "p-"})
		if err != nil {
			t.Fatal(err)
		}
		if _, inside, err := readRoot(got); err != nil || string(inside) != c.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.body, inside, err, c.want)
		}
	}
	d, err := cleanAsIs([]byte(`<path id="a"/><style>#a{fill:red}</style><use href="#a"/>`), Box{Width: 9, Height: 9})
	if err != nil {
		t.Fatal(err)
	}
	got, _, _, err := Transform(d.SVG, icon.Variant{ID: "1"})
	if err != nil || !bytes.Contains(got, []byte(`#1a{fill:red}`)) && !bytes.Contains(got, []byte(`#\31 a{fill:red}`)) {
		t.Errorf("a prefix of a digit: %s, %v", got, err)
	}
}

// TestTurnedPercentages checks that percentages refer to the box of the icon, however it is turned.
func TestTurnedPercentages(t *testing.T) {
	d, err := Clean([]byte(`<rect width="100%" height="50%"/><svg viewBox="0 0 1 1"><path/></svg>`), Box{Width: 20, Height: 10})
	if err != nil {
		t.Fatal(err)
	}
	for rotate, want := range []string{`<rect width="100%" height="50%"/><svg viewBox="0 0 1 1">`,
		`<rect width="20" height="5"/><svg viewBox="0 0 1 1" width="20" height="10">`} {
		got, _, _, err := Transform(d.SVG, icon.Variant{Rotate: rotate})
		if err != nil || !bytes.Contains(got, []byte(want)) {
			t.Errorf("%d quarter turns: %s, %v; want %s", rotate, got, err, want)
		}
	}
}

// TestKinds checks that fonts and sprites are called so, and that removed parts are named.
func TestKinds(t *testing.T) {
	for body, want := range map[string]string{
		`<defs><font><font-face/><glyph unicode="a" d="M0 0"/></font></defs>`:         "font",
		`<symbol id="a"><path/></symbol><symbol id="b"><path/></symbol>`:              "sprite of 2 symbols",
		`<defs><symbol id="a"><path/></symbol></defs>`:                                "sprite of 1 symbol,",
		`<symbol id="a"><path/></symbol><use href="#a"/>`:                             "",
		`<defs><font><glyph unicode="a" d="M0 0"/></font></defs><text y="9">a</text>`: "",
		`<title>blank</title>`: "",
	} {
		_, err := CleanDocument([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">`+body+`</svg>`), true)
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrUnclean) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	d, err := CleanDocument([]byte(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:i="http://inkscape.example" viewBox="0 0 9 9" onload="a()">`+
		`<metadata/><i:view/><script/><script/><foreignObject/><path onclick="b()" fill="url(http://other.example/x)"/>`+
		`<image href="http://other.example/x.png"/><style>@import "x";path{fill:red}@container (width>1px){path{fill:blue}}path::before{fill:red}</style><path/></svg>`), true)
	want := "onload script foreignObject onclick a reference outside of the file image @import @container a rule of its style sheet"
	if got := strings.Join(d.Removed, " "); err != nil || got != want {
		t.Errorf("removed %q, %v; want %q", got, err, want)
	}
}
