package svg

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestFrame(t *testing.T) {
	for _, c := range []struct {
		attributes, view string
		width, height    float64
	}{
		{`viewBox="0 0 24 24"`, "0 0 24 24", 24, 24},
		{`viewBox="-2,3.5 , 24,12" width="48"`, "-2 3.5 24 12", 48, 24},
		{`viewBox="0 0 24 12" height="24"`, "0 0 24 12", 48, 24},
		{`width="20" height="10px"`, "0 0 20 10", 20, 10},
		{`width="18pt" height="1pc"`, "0 0 24 16", 24, 16},
		{`width="1in" height="2.54cm"`, "0 0 96 96", 96, 96},
		{`width="25.4mm" height="40Q"`, "0 0 96 37.8", 96, 37.8},
		{`viewBox="0 0 24 24" width="1em" height="1em"`, "0 0 24 24", 24, 24},
		{`viewBox="0 0 24 24" width="100%" height="100%"`, "0 0 24 24", 24, 24},
		{`viewBox="0 0 24 24" width="48px" height="48px"`, "0 0 24 24", 48, 48},
		// Browsers show the box in the middle.
		{`viewBox="0 0 24 24" width="48" height="24"`, "0 0 24 24", 48, 24},
		{`viewBox="0 0 24 24" width="48" height="24" preserveAspectRatio="xMidYMid meet"`, "0 0 24 24", 48, 24},
		{`viewBox="0 0 24 24" width="48" height="24" preserveAspectRatio="xMinYMid"`, "0 0 48 24", 48, 24},
		{`viewBox="0 0 24 24" width="48" height="24" preserveAspectRatio="xMaxYMax meet"`, "-24 0 48 24", 48, 24},
		{`viewBox="0 0 24 24" width="48" height="24" preserveAspectRatio="xMidYMin slice"`, "0 0 24 12", 48, 24},
		{`viewBox="0 0 24 24" width="48" height="24" preserveAspectRatio="xMidYMax slice"`, "0 12 24 12", 48, 24},
		{`viewBox="2 2 24 24" width="48" height="24" preserveAspectRatio="none"`, "0 0 48 24", 48, 24},
		{`viewBox="0 0 24 24" width="1em" height="2em" preserveAspectRatio="none"`, "0 0 16 32", 16, 32},
		// No viewBox, and a size of the text around it, or none.
		{`width="1em" height="2em"`, "0 0 16 32", 16, 32},
		{`width="100%" height="100%" stroke="red" stroke-width="2"`, "0 0 22 19", 22, 19},
		{`style="width:30px;height:20px" width="1" height="2"`, "0 0 30 20", 30, 20},
		{`viewBox="0 0 24 24" width="0" height="-5"`, "0 0 24 24", 24, 24},
		{`viewBox="0 0 1e2 .5e2"`, "0 0 100 50", 100, 50},
		{``, "0 0 21 18", 21, 18},
		{`width="24"`, "0 0 24 18", 24, 18},
		{`width="100%" height="24"`, "0 0 21 24", 21, 24},
		{`viewBox="0 0 24"`, "", 0, 0},
		{`viewBox="0 0 24 24 24"`, "", 0, 0},
		{`viewBox="0 0 0 24"`, "", 0, 0},
		{`viewBox="0 0 NaN 24"`, "", 0, 0},
		{`viewBox="a b c d" width="24" height="24"`, "", 0, 0},
		{`width="1e12" height="24"`, "0 0 21 24", 21, 24},
	} {
		d, err := CleanDocument([]byte(`<svg xmlns="http://www.w3.org/2000/svg" `+c.attributes+`><path d="M3 4h18l-4 14z"/></svg>`), true)
		if c.view == "" {
			if !errors.Is(err, ErrUnclean) {
				t.Errorf("%s: %+v, %v, want ErrUnclean", c.attributes, d, err)
			}
			continue
		}
		if err != nil || d.ViewBox != c.view || d.Width != c.width || d.Height != c.height {
			t.Errorf("%s: %q %v %v (%v), want %q %v %v", c.attributes, d.ViewBox, d.Width, d.Height, err, c.view, c.width, c.height)
		}
	}
}

// TestBounds cleans SVGs at and beyond each limit. It makes them itself, because they are too large
// for testdata.
func TestBounds(t *testing.T) {
	uses := func(levels, each int) string {
		var b strings.Builder
		b.WriteString(`<defs><path id="a0"/>`)
		for i := range levels {
			fmt.Fprintf(&b, `<g id="a%d">%s</g>`, i+1, strings.Repeat(fmt.Sprintf(`<use href="#a%d"/>`, i), each))
		}
		fmt.Fprintf(&b, `</defs><use href="#a%d"/>`, levels)
		return b.String()
	}
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString(`<path id="a0"/>`)
		for i := range n {
			fmt.Fprintf(&b, `<use id="a%d" href="#a%d"/>`, i+1, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		why, body string
		fine      bool
	}{
		{"of the largest size", `<path d="` + strings.Repeat("1", MaxBytes-12) + `"/>`, true},
		{"one byte larger", `<path d="` + strings.Repeat("1", MaxBytes-11) + `"/>`, false},
		{"of the greatest depth", strings.Repeat("<g>", maxDepth) + strings.Repeat("</g>", maxDepth), true},
		{"one level deeper", strings.Repeat("<g>", maxDepth+1) + strings.Repeat("</g>", maxDepth+1), false},
		{"too deep within elements that are left out", strings.Repeat("<x>", maxDepth+1) + strings.Repeat("</x>", maxDepth+1), false},
		{"many uses", uses(3, 10), true},
		{"uses of uses of uses", uses(5, 10), false},
		{"uses in numbers that overflow an integer", uses(99, 10), false},
		{"a long chain", chain(50), true},
		{"a chain of references that is too long", chain(5000), false},
		{"many elements", strings.Repeat("<path/>", 40_000), true},
		{"many elements with a reference", `<path id="a"/>` + strings.Repeat(`<use href="#a"/>`, 40_000), false},
		{"a marker at some vertices", `<marker id="m"><path d="M0 0h1"/></marker><path marker-mid="url(#m)" d="M0 0` +
			strings.Repeat("h1", 1000) + `"/>`, true},
		{"a marker at many vertices", `<marker id="m">` + strings.Repeat("<path/>", 100) +
			`</marker><path marker-mid="url(#m)" d="M0 0` + strings.Repeat("h1", 1000) + `"/>`, false},
		{"a marker at vertices that CSS sets", `<style>path{d:path("M0 0` + strings.Repeat("h1", 1000) +
			`")}</style><marker id="m">` + strings.Repeat("<g/>", 100) + `</marker><path marker="url(#m)"/>`, false},
		{"a marker at vertices that an animation sets",
			`<marker id="m">` + strings.Repeat("<g/>", 100) +
				`</marker><path marker="url(#m)"><set attributeName="d" to="M0 0` + strings.Repeat("h1", 1000) + `"/></path>`, false},
		{"a marker at the ends of a long path", `<marker id="m">` + strings.Repeat("<path/>", 100) +
			`</marker><path marker-start="url(#m)" marker-end="url(#m)" d="M0 0` + strings.Repeat("h1", 1000) + `"/>`, true},
		{"a pattern within the group that it paints",
			`<g fill="url(#p)"><pattern id="p" width="1" height="1"><path fill="red" d="M0 0h1"/></pattern><path d="M0 0h9v9z"/></g>`,
			true},
		{"nested groups with a clip path", `<clipPath id="c">` + strings.Repeat("<path/>", 5) + `</clipPath>` +
			strings.Repeat(`<g clip-path="url(#c)">`, 50) + strings.Repeat("</g>", 50), true},
		{"a long attribute name", "<path " + strings.Repeat("a", maxAttrs) + `="" />`, true},
	} {
		d, err := Clean([]byte(c.body), Box{Width: 24, Height: 24})
		if c.fine != (err == nil) || err != nil && !errors.Is(err, ErrUnclean) {
			t.Errorf("%s: error %v, want accepted = %v", c.why, err, c.fine)
		}
		if err == nil && len(d.SVG) > 2*len(c.body)+200 {
			t.Errorf("%s: %d bytes became %d", c.why, len(c.body), len(d.SVG))
		}
	}
}

func TestBox(t *testing.T) {
	nan := 0.0
	nan /= nan
	for _, b := range []Box{{Width: -1, Height: 1}, {Width: 1, Height: -1}, {Left: nan, Width: 1, Height: 1}, {Width: 1e300, Height: 1}} {
		if _, err := Clean(nil, b); !errors.Is(err, ErrUnclean) {
			t.Errorf("%v: %v, want ErrUnclean", b, err)
		}
	}
}

func TestEmptied(t *testing.T) {
	for _, c := range []struct {
		body string
		want bool
	}{
		{`<path d="M0 0h9v9z"/>`, false},
		{``, false},
		{`<g/>`, false},
		{`<metadata>by hand</metadata>`, false},
		{`<path d="M0 0h24v24H0z" fill="none"/><script>draw()</script>`, false},
		{`<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">A</p></foreignObject>`, true},
		{`<g><title>home</title><script>draw()</script></g>`, true},
		{`<foreignObject><svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9v9z"/></svg></foreignObject>`, true},
		{`<image href="https://other.example/home.png" width="9" height="9"/>`, true},
		{`<use href="other.svg#home"/>`, true},
		{`<path id="a" d="M0 0h9"/><use href="#a"/>`, false},
	} {
		d, err := Clean([]byte(c.body), Box{Width: 24, Height: 24})
		if err != nil || d.Emptied != c.want {
			t.Errorf("%s: emptied %v, %v, want %v", c.body, d.Emptied, err, c.want)
		}
	}
}

// TestPool checks that a reused parser keeps nothing of the previous SVG.
func TestPool(t *testing.T) {
	first := []byte(`<style>path{fill:red}</style><defs><path id="a" xlink:href="#b"/></defs><use xlink:href="#a"/><set attributeName="fill" to="red"/>`)
	second := []byte(`<use href="#a"/><path id="b" fill="currentColor" d="M0 0"/>`)
	fresh := new(parser)
	if err := fresh.parse(second, false); err != nil {
		t.Fatal(err)
	}
	want := fresh.finish(fresh.writeBody(nil), frame{box: Box{Width: 1, Height: 1}, width: 1, height: 1}, monochrome{is: true})
	for range 100 {
		if _, err := Clean(first, Box{Width: 1, Height: 1}); err != nil {
			t.Fatal(err)
		}
		got, err := Clean(second, Box{Width: 1, Height: 1})
		if err != nil || !bytes.Equal(got.SVG, want.SVG) || !got.Monochrome {
			t.Fatalf("%v\ngot  %s\nwant %s", err, got.SVG, want.SVG)
		}
	}
}
