package site

import (
	"strings"
	"testing"
)

// TestInline holds what an SVG inside a page can be, whatever the cleaner lets through.
func TestInline(t *testing.T) {
	const path = `<path fill="none" stroke="currentColor" stroke-width="1.5" d="M4 19a2 2 0 1 0 4 0"/>`
	for _, c := range []struct{ name, content, want string }{
		{"shape", path, path},
		{"group", `<g transform="rotate(45) translate(-1 2.5)"><circle cx="1" cy="2" r="3"/></g>`, "same"},
		{"own colours", `<path fill="#00ff7f" d="M0 0"/><path stroke="black" d="M0 0"/>`, "same"},
		{"ids", `<defs><linearGradient id="a" href="#b"><stop offset="1" stop-color="#fff"/></linearGradient></defs><g clip-path="url(#c)"><path fill="url(#a)" d="M0 0"/></g>`,
			`<defs><linearGradient id="p/n_a" href="#p/n_b"><stop offset="1" stop-color="#fff"/></linearGradient></defs>` +
				`<g clip-path="url(#p/n_c)"><path fill="url(#p/n_a)" d="M0 0"/></g>`},
		{"id that ends its attribute", `<path id="a b" d="M0 0"/>`, ""},
		{"style", `<path style="fill:red" d="M0 0"/>`, ""},
		{"style sheet", `<style>*{fill:red}</style>`, ""},
		{"class", `<path class="m" d="M0 0"/>`, ""},
		{"handler", `<path onload="x" d="M0 0"/>`, ""},
		{"handler behind a slash", `<path/onload="x" d="M0 0"/>`, ""},
		{"handler behind a tab", "<path\tonload=\"x\" d=\"M0 0\"/>", ""},
		{"attribute without quotes", `<path d=M0 onload=x />`, ""},
		{"attributes without a space", `<path d="M0 0"onload="x"/>`, ""},
		{"script", `<script>x</script>`, ""},
		{"animation", `<path d="M0 0"><animate attributeName="d"/></path>`, ""},
		{"change of an attribute", `<g><set attributeName="href" to="javascript:x"/></g>`, ""},
		{"link", `<a href="javascript:x"><path d="M0 0"/></a>`, ""},
		{"script in a reference", `<linearGradient href="javascript:x"/>`, ""},
		{"other host in a paint", `<path fill="url(https://a.example/#a)" d="M0 0"/>`, ""},
		{"other host in a clip", `<path clip-path="url(https://a.example/a)" d="M0 0"/>`, ""},
		{"function in a paint", `<path fill="var(--accent)" d="M0 0"/>`, ""},
		{"function in a transformation", `<path transform="url(#a)" d="M0 0"/>`, ""},
		{"use", `<use href="#q"/>`, ""},
		{"text", `<g>a</g>`, ""},
		{"other element", `<g><image href="/a"/></g>`, ""},
		{"content of HTML", `<foreignObject><p/></foreignObject>`, ""},
		{"element of HTML", `<g></g><p>a</p>`, ""},
		{"end of the page's element", `<path d="M0 0"/></svg><svg>`, ""},
		{"end of another element", `<g></path>`, ""},
		{"open element", `<g><path d="M0 0"/>`, ""},
		{"comment", `<!--a--><path d="M0 0"/>`, ""},
		{"entity", `<path d="&quot;"/>`, ""},
		{"nothing", "", ""},
		{"long", `<path d="M0 0` + strings.Repeat(" ", 5000) + `"/>`, ""},
	} {
		want := strings.Replace(c.want, "same", c.content, 1)
		got, ok := inline([]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24">`+c.content+`</svg>`), 5000, "p/n_")
		if ok != (want != "") || ok && (got.inside != want || got.viewBox != "0 0 24 24") {
			t.Errorf("%s: %q, %t, want %q", c.name, got.inside, ok, want)
		}
	}
	const own = `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" color="#ff0000"><path fill="currentColor" d="M0 0"/></svg>`
	if d, ok := inline([]byte(own), 5000, ""); !ok || d.inside != `<path fill="#ff0000" d="M0 0"/>` || !d.painted {
		t.Errorf("a colour of its own: %+v, %t", d, ok)
	}
	if _, ok := inline([]byte(strings.Replace(own, "path fill", `path id="a" fill`, 1)), 5000, ""); ok {
		t.Error("an id without a prefix")
	}
}
