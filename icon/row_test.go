package icon

import (
	"strings"
	"testing"
)

func TestRow(t *testing.T) {
	const two = "icons=lucide:house,mdi:github"
	many := func(n int) string { return "icons=" + strings.Repeat("a:b,", n-1) + "a:b" }
	for _, row := range []struct{ query, want, wrong string }{
		{two, two, ""}, {two + "&size=48&gap=12&x=y", two, ""}, {"icons=lucide%3Ahouse%2Cmdi%2Fgithub", two, ""},
		{"icons=+lucide/house,+mdi/github", two, ""}, {"icons=mdi:github,lucide:house", "icons=mdi:github,lucide:house", ""},
		{"icons=a:b,a:b", "icons=a:b,a:b", ""}, {many(50), many(50), ""}, {many(51), "", "icons"},
		{two + "&size=32", two + "&size=32", ""}, {two + "&size=32&gap=8", two + "&size=32", ""},
		{two + "&gap=0", two + "&gap=0", ""}, {two + "&gap=-1", "", "gap"}, {two + "&gap=4097", "", "gap"},
		{two + "&color=000&dark=fff", two + "&color=%23000000&dark=%23ffffff", ""},
		{two + "&color=currentColor", two, ""}, {two + "&dark=x", "", "dark"}, {two + "&color=x", "", "color"},
		{two + "&background=fff&padding=4&radius=2&gap=1", two + "&background=%23ffffff&padding=4&radius=2&gap=1", ""},
		{two + "&padding=24", "", "padding"}, {two + "&size=0", "", "size"}, {two + "&size=4097", "", "size"},
		{"", "", "icons"}, {"icons=", "", "icons"}, {"icons=+", "", "icons"}, {"icons=a:b,", "", "icons"}, {"icons=a", "", "icons"},
		{"icons=A:b", "", "icons"}, {"icons=a:b:c", "", "icons"}, {"icons=../x", "", "icons"},
	} {
		p, err := ParseQuery(row.query, RowParams...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseRow(p)
		got := ""
		if err == nil {
			got = r.Query()
		}
		check(t, row.query, got, err, row.want, row.wrong)
	}
	for query, wrong := range map[string]string{two: "", two + "&size=1024": "", two + "&size=1025": "size", two + "&dark=fff": "dark"} {
		p, err := ParseQuery(query, RowParams...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseRowPicture(p)
		check(t, query, "", err, "", wrong)
		if err == nil && len(r.Refs) != 2 {
			t.Errorf("%q: %v", query, r)
		}
	}
}

// FuzzParseRow checks that the canonical form is read back as itself.
func FuzzParseRow(f *testing.F) {
	for _, s := range []string{"icons=mdi:home", "icons=a:b,a/b&gap=0&size=9", "icons=a:b&color=red&dark=fff&padding=1&background=0",
		"icons=a:b&stroke=1.5&secondary=f00f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := ParseQuery(raw, RowParams...)
		if err != nil {
			return
		}
		r, err := ParseRow(p)
		if err != nil {
			return
		}
		if p, err = ParseQuery(r.Query(), RowParams...); err != nil {
			t.Fatal(err)
		}
		if again, err := ParseRow(p); err != nil || again.Query() != r.Query() {
			t.Fatalf("%q: %q is read as %+v, %v", raw, r.Query(), again, err)
		}
	})
}
