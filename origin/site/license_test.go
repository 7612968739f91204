package site

import (
	"fmt"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func TestLicenseGroups(t *testing.T) {
	var packs []*icon.Pack
	for _, spdx := range []string{"CC-BY-NC-4.0", "GPL-3.0-only", "MIT", "CC-BY-SA-4.0", "CC-BY-4.0", "ISC",
		"CC0-1.0", "LicenseRef-Own", "MIT", "CC-BY-3.0"} {
		packs = append(packs, &icon.Pack{License: spdx})
	}
	got := ""
	for _, g := range licenseGroups(packs, "attribution") {
		got += g.Title + ":"
		for _, c := range g.Licenses {
			got += fmt.Sprintf(" %s %v", c.Value, c.Selected)
		}
		got += "\n"
	}
	want := `No conditions: CC0-1.0 false
Notice: notice false ISC false MIT false
Attribution: attribution true CC-BY-3.0 false CC-BY-4.0 false
Share-alike: CC-BY-SA-4.0 false
Copyleft: GPL-3.0-only false
Non-commercial: CC-BY-NC-4.0 false
Unknown: LicenseRef-Own false
`
	if got != want {
		t.Errorf("groups:\n%s\nwant:\n%s", got, want)
	}
}

func TestOptions(t *testing.T) {
	got := options([]choice{{"mdi", "Material <b> & \"Co\"", true}, {`"><script>`, `"><script>`, false}, {"MIT", "MIT", true}})
	want := `<option value="mdi" selected>Material &lt;b&gt; &amp; &#34;Co&#34;</option><option>&#34;&gt;&lt;script&gt;</option><option selected>MIT</option>`
	if string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
