package icon

import (
	"strings"
	"testing"
)

func TestPicture(t *testing.T) {
	for _, row := range []struct{ query, want, wrong string }{
		{"", "", ""}, {"size=64", "", ""}, {"height=64&width=64", "height=64&width=64", ""},
		{"size=16&x=y", "height=16", ""}, {"width=9", "width=9", ""}, {"size=1024", "height=1024", ""},
		{"color=red&size=1", "color=%23ff0000&height=1", ""}, {"color=currentColor", "", ""},
		{"background=White&radius=3&padding=2", "background=%23ffffff&padding=2&radius=3", ""},
		{"stroke-width=2.0&secondary=f00", "secondary=%23ff0000&stroke=2", ""},
		{"radius=3&padding=0", "", ""}, {"rotate=270&flip=vertical", "flip=vertical&rotate=270", ""},
		{"size=1025", "", "size"}, {"size=0", "", "size"}, {"width=1025", "", "width"}, {"height=1e1", "", "height"},
		{"padding=32", "", "padding"}, {"padding=5&width=10", "", "padding"}, {"padding=-1", "", "padding"},
		{"dark=fff", "", "dark"}, {"dark=x", "", "dark"},
		{"radius=x", "", "radius"}, {"background=x", "", "background"}, {"color=x", "", "color"}, {"rotate=45", "", "rotate"},
	} {
		p, err := ParseQuery(row.query, PictureParams...)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParsePicture(p, ParamCSSColor)
		check(t, row.query, d.Query(), err, row.want, row.wrong)
		if err != nil {
			continue
		}
		p, err = ParseQuery(d.Query(), PictureParams...)
		if again, err2 := ParsePicture(p, ParamColor); err != nil || err2 != nil || again != d {
			t.Errorf("%q: %q gives %v, %v, %v, want %v", row.query, d.Query(), again, err, err2, d)
		}
	}
}

func TestFavicon(t *testing.T) {
	for _, row := range []struct{ query, want, wrong string }{
		{"", "", ""}, {"size=9", "", ""}, {"color=f00&padding=4", "color=%23ff0000&padding=4", ""}, {"padding=24", "", "padding"},
		{"dark=fff", "", "dark"},
	} {
		p, err := ParseQuery(row.query, FaviconParams...)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseFavicon(p)
		check(t, row.query, d.FaviconQuery(), err, row.want, row.wrong)
	}
}

// check compares the canonical form of a query, or the parameter that an error names.
func check(t *testing.T, query, got string, err error, want, wrong string) {
	t.Helper()
	if err != nil {
		name, detail := err.(*ParamError).BadParameter()
		if name != wrong || !strings.Contains(detail, wrong) {
			t.Errorf("%q: the error is about %q: %s", query, name, detail)
		}
	} else if wrong != "" || got != want {
		t.Errorf("%q: got %q, want %q, or an error about %q", query, got, want, wrong)
	}
}
