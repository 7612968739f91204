package shape

import (
	"fmt"
	"strings"
	"testing"
)

// icon makes the SVG of an icon as package svg writes it.
func icon(body string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24">%s</svg>`, body)
}

// picture draws a hash: # for dark fields, + for light ones.
func picture(h Hash) string {
	var b strings.Builder
	for i := range fields * fields {
		b.WriteByte(" ++#"[h[i/4]>>(i%4*2)&3])
		if i%fields == fields-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

const ring = `<path fill="currentColor" fill-rule="evenodd" d="M2 2h20v20H2zM7 7h10v10H7z"/>`

// TestSame checks that different ways to draw a shape give nearly the same hash.
func TestSame(t *testing.T) {
	for _, row := range []struct{ why, body string }{
		{"itself", ring},
		{"smaller, elsewhere", `<path fill="currentColor" fill-rule="evenodd" d="M12 12h10v10H12zM14.5 14.5h5v5h-5z"/>`},
		{"a hole against the clock", `<path fill="currentColor" d="M2 2h20v20H2zM7 7v10h10V7z"/>`},
		{"relative, without separators", `<path fill="currentColor" fill-rule="evenodd" d="m2 2 20-.0.0 20-20 0zm5 5 10-.0.0 10-10 0z"/>`},
		{"a stroke", `<path fill="none" stroke="currentColor" stroke-width="5" d="M4.5 4.5h15v15h-15z"/>`},
		{"a stroked rectangle", `<rect x="4.5" y="4.5" width="15" height="15" fill="none" stroke="#000" stroke-width="5"/>`},
		{"a stroked polygon of a group",
			`<g fill="none" stroke="black" stroke-width="5"><polygon points="4.5,4.5 19.5,4.5 19.5 19.5 4.5,19.5"/></g>`},
		{"four lines", `<g stroke="#000" stroke-width="5"><line x1="3" y1="4.5" x2="21" y2="4.5"/><line x1="3" y1="19.5" x2="21" y2="19.5"/><line x1="4.5" y1="3" x2="4.5" y2="21"/><line x1="19.5" y1="3" x2="19.5" y2="21"/></g>`},
		{"white over black", `<path d="M2 2h20v20H2z"/><path fill="#fff" d="M7 7h10v10H7z"/>`},
		{"white alone", `<path fill="#FFFFFF" fill-rule="evenodd" d="M2 2h20v20H2zM7 7h10v10H7z"/>`},
		{"a style attribute", `<path style="fill:#000;fill-rule:evenodd" d="M2 2h20v20H2zM7 7h10v10H7z"/>`},
		{"a turn", `<g transform="rotate(90 12 12)">` + ring + `</g>`},
		{"transforms", `<g transform="translate(12,12) scale(2)"><path fill-rule="evenodd" d="M-5-5H5V5H-5zM-2.5-2.5h5v5h-5z"/></g>`},
		{"use", `<defs><path id="a" fill-rule="evenodd" d="M0 0h20v20H0zM5 5h10v10H5z"/></defs><use href="#a" x="2" y="2"/>`},
		{"a symbol", `<symbol id="a"><path fill-rule="evenodd" d="M2 2h20v20H2zM7 7h10v10H7z"/></symbol><use href="#a"/>`},
		{"a mask", `<defs><mask id="a"><path fill="#fff" d="M0 0h24v24H0z"/><path fill="#000" d="M7 7h10v10H7z"/></mask></defs><path fill="currentColor" d="M2 2h20v20H2z" mask="url(#a)"/>`},
		{"a masked group", `<mask id="a"><path fill="#fff" d="M2 2h20v20H2z"/><path d="M7 7h10v10H7z"/></mask><g mask="url(#a)"><path d="M0 0h24v24H0z"/></g>`},
		{"beside things that are not painted", ring +
			`<defs><circle r="99"/></defs><circle cx="12" cy="12" r="4" fill="none"/><circle cx="12" cy="12" r="4" opacity="0"/><g display="none">` + ring + `<path d="M0 0h24v24H0z"/></g><title>a</title>`},
	} {
		got, want := Of(icon(row.body)), Of(icon(ring))
		if d := got.Distance(want); d > 8 {
			t.Errorf("%s: distance %d\n%s\nwant\n%s", row.why, d, picture(got), picture(want))
		}
	}
	if want := "########\n########\n##+  +##\n##    ##\n##    ##\n##+  +##\n########\n########\n"; picture(Of(icon(ring))) != want {
		t.Errorf("the ring is\n%s", picture(Of(icon(ring))))
	}
}

func TestDifferent(t *testing.T) {
	shapes := map[string]string{
		"a ring": ring, "a disc": `<circle cx="12" cy="12" r="10"/>`, "a cross": `<path d="M10 2h4v8h8v4h-8v8h-4v-8H2v-4h8z"/>`,
		"a bar":   `<ellipse cx="12" cy="12" rx="10" ry="3"/>`,
		"an arc":  `<path fill="none" stroke="#000" stroke-width="4" d="M4 20A16 16 0 0 1 20 4"/>`,
		"a wave":  `<path fill="none" stroke="#000" stroke-width="3" d="M2 12q5-12 10 0t10 0"/>`,
		"a curve": `<path d="M2 22C2 2 22 2 22 22S12 12 2 22z"/>`,
	}
	for a := range shapes {
		for b := range shapes {
			if d := Of(icon(shapes[a])).Distance(Of(icon(shapes[b]))); a != b && d < 12 {
				t.Errorf("%s and %s: distance %d\n%s\n%s", a, b, d, picture(Of(icon(shapes[a]))), picture(Of(icon(shapes[b]))))
			}
		}
	}
}

func TestNothing(t *testing.T) {
	for _, svg := range []string{"", "<", "<svg", "<svg>", "</svg>", `<svg viewBox="0 0 0 0"><path d="M0 0"/></svg>`,
		string(icon("")), string(icon(`<path fill="none" d="M0 0h24v24z"/>`)), string(icon(`<text>a</text>`))} {
		if h := Of([]byte(svg)); h != (Hash{}) {
			t.Errorf("%s has the shape\n%s", svg, picture(h))
		}
	}
}

// FuzzOf checks that any input has a hash, at a bounded cost.
func FuzzOf(f *testing.F) {
	for _, body := range []string{ring, `<use href="#a"/><g id="a"><use href="#a"/></g>`,
		`<mask id="a"><path mask="url(#a)" d="M0 0h9v9"/></mask><path mask="url(#a)" d="M0 0h9v9"/>`,
		`<path d="M1e300 1e300L-1e300-1e300zA1e-9 9 9 1 0 1 1M nan"/>`,
		`<path stroke="#1" stroke-width="1e30" d="M0 0a9 9 0 10 9 9t1 1"/>`} {
		f.Add(icon(body))
	}
	f.Fuzz(func(t *testing.T, svg []byte) {
		h := Of(svg)
		if again := Of(svg); again != h {
			t.Fatal("the hash depends on more than the icon")
		}
		p := painters.Get().(*painter)
		p.paint(svg, false)
		if p.tags > maxTags+maxDepth+100 {
			t.Fatalf("%d elements painted", p.tags)
		}
	})
}

// TestSolid checks that Describe distinguishes lines from areas, however an icon draws them.
func TestSolid(t *testing.T) {
	for _, row := range []struct {
		body string
		want bool
	}{
		{`<path fill="none" stroke="currentColor" stroke-width="2" d="M3 12l9-9 9 9v9H3z"/>`, false},
		{`<path fill="currentColor" d="M3 3h18v18H3zM5 5v14h14V5z"/>`, false},
		{`<circle cx="12" cy="12" r="9" fill="none" stroke="#000"/>`, false},
		{`<path fill="currentColor" d="M3 12l9-9 9 9v9H3z"/>`, true},
		{`<path fill="currentColor" fill-rule="evenodd" d="M2 2h20v20H2zM10 10h4v4h-4z"/>`, true},
		{"", false},
	} {
		if _, got := Describe(icon(row.body)); got != row.want {
			t.Errorf("%s: solid %t, want %t", row.body, got, row.want)
		}
	}
}
