package svg

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestSymbol(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"plain", `<path fill="currentColor" d="M0 0h1v1"/>`, `<path fill="currentColor" d="M0 0h1v1"/>`},
		{"references", `<defs><g id="a"/><linearGradient id="b" href="#a"/></defs><use href="#a"/><path fill="url(#b) red" style="fill:url('#b');clip-path:url(#a)" mask="url(#a)" d="M0 0"/>`,
			`<defs><g id="p-n_a"/><linearGradient id="p-n_b" href="#p-n_a"/></defs><use href="#p-n_a"/><path fill="url(#p-n_b) red" style="fill:url(#p-n_b);clip-path:url(#p-n_a)" mask="url(#p-n_a)" d="M0 0"/>`},
		{"animations", `<path d="M0 0"><animate id="a" attributeName="opacity" begin="0;b.end+.5s; a.end" dur="1s" values="0;1"/></path>`,
			`<path d="M0 0"><animate id="p_n_a" attributeName="opacity" begin="0;p_n_b.end+.5s; p_n_a.end" dur="1s" values="0;1"/></path>`},
		{"a sheet", `<style>.a,#b .c>path{fill:url(#d)}path{fill:red}</style><g class="a  c"/>`,
			`<style>#p-n .p-n_a,#p-n #p-n_b .p-n_c&gt;path{fill:url(#p-n_d)}#p-n path{fill:red}</style><g class="p-n_a p-n_c"/>`},
		{"keyframes", `<style>@keyframes spin{from{opacity:0}to{opacity:1}}@media print{.a{fill:red}}.a{animation:spin 1s linear}</style>`,
			`<style>@keyframes p-n_spin{from{opacity:0}to{opacity:1}}@media print{#p-n .p-n_a{fill:red}}#p-n .p-n_a{animation:p-n_spin 1s linear}</style>`},
	} {
		c, err := cleanAsIs([]byte(tt.body), Box{Width: 16, Height: 16})
		if err != nil {
			t.Fatal(tt.name, err)
		}
		got, xlink, err := Symbol(c.SVG, "p-n")
		if want := `<symbol id="p-n" viewBox="0 0 16 16">` + tt.want + `</symbol>`; err != nil || xlink || string(got) != want {
			t.Errorf("%s: %s, %v, %v\nwant %s", tt.name, got, xlink, err, want)
		}
	}
	c, err := cleanAsIs([]byte(`<g id="a"/><use xlink:href="#a"/>`), Box{Width: 1, Height: 2})
	if err != nil {
		t.Fatal(err)
	}
	got, xlink, err := Symbol(c.SVG, "p-n")
	if err != nil || !xlink || !bytes.Contains(got, []byte(`xlink:href="#p-n_a"`)) {
		t.Errorf("xlink: %s, %v, %v", got, xlink, err)
	}
	for _, bad := range []string{"", "<svg/>", `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1" viewBox="0 0 1 1"><g></svg>`} {
		if _, _, err := Symbol([]byte(bad), "a"); err == nil {
			t.Errorf("Symbol(%q): no error", bad)
		}
	}
}

// foreign matches names that do not have the symbol's prefix.
var foreign = regexp.MustCompile(` id="[^p][^"]*"|url\(#[^p]|href="#[^p]`)

// FuzzSymbol checks that a symbol is as clean as its icon, and names nothing without its prefix.
func FuzzSymbol(f *testing.F) {
	for _, dir := range []string{"hostile", "iconify", "odd"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.in.svg"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(b))
		}
	}
	f.Add(`<style>.a:not(.b,#c){fill:red}</style><g class="a" id="x"/><use href="#x"/>`)
	f.Fuzz(func(t *testing.T, body string) {
		c, err := cleanAsIs([]byte(body), Box{Width: 16, Height: 16})
		if err != nil {
			if c, err = CleanDocument([]byte(body), false); err != nil {
				return
			}
		}
		got, _, err := Symbol(c.SVG, "p-n")
		if err != nil {
			t.Fatalf("%s: %v", c.SVG, err)
		}
		if m := foreign.Find(got); m != nil {
			t.Fatalf("%s: %q has no prefix", got, m)
		}
		_, inside, _ := strings.Cut(string(got), ">")
		inside = strings.TrimSuffix(inside, "</symbol>")
		again, err := cleanAsIs([]byte(inside), Box{Width: 16, Height: 16})
		if err != nil {
			t.Fatalf("%s: cleaned again: %v", got, err)
		}
		if _, in, _ := strings.Cut(string(again.SVG), ">"); strings.TrimSuffix(in, "</svg>") != inside {
			t.Fatalf("%s\ncleaned again:\n%s", inside, in)
		}
	})
}
