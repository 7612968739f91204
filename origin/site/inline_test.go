package site

import (
	"strings"
	"testing"
)

func TestInline(t *testing.T) {
	const path = `<path fill="none" stroke="currentColor" stroke-width="1.5" d="M4 19a2 2 0 1 0 4 0"/>`
	for _, c := range []struct{ name, content, want string }{
		{"shape", path, `<svg viewBox="0 0 24 24" width="32" height="32" fill="currentColor" aria-hidden="true">` + path + `</svg>`},
		{"group", `<g transform="rotate(45)"><circle cx="1" cy="2" r="3"/></g>`, `<svg viewBox="0 0 24 24" width="32" height="32" fill="currentColor" aria-hidden="true"><g transform="rotate(45)"><circle cx="1" cy="2" r="3"/></g></svg>`},
		{"id", `<path id="q" d="M0 0"/>`, ""},
		{"style", `<path style="fill:red" d="M0 0"/>`, ""},
		{"class", `<path class="m" d="M0 0"/>`, ""},
		{"handler", `<path onload="x" d="M0 0"/>`, ""},
		{"reference", `<path clip-path="url(#a)" d="M0 0"/>`, ""},
		{"own colour", `<path fill="#000" d="M0 0"/>`, ""},
		{"named colour", `<path fill="black" d="M0 0"/>`, ""},
		{"text", `<g>a</g>`, ""},
		{"other element", `<g><image href="/a"/></g>`, ""},
		{"element of HTML", `<g></g><p>a</p>`, ""},
		{"entity", `<path d="&quot;"/>`, ""},
		{"nothing", "", ""},
		{"long", `<path d="M0 0` + strings.Repeat(" ", maxNear) + `"/>`, ""},
	} {
		got, ok := inline([]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24">` + c.content + `</svg>`))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %t, want %q", c.name, got, ok, c.want)
		}
	}
}
