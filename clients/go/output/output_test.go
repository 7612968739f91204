package output

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/icon"
)

type row struct {
	About, Icon, Form, Language string
	Color, Size                 json.RawMessage
	Separator, Prefix           string
	NoCredit                    bool `json:"no_credit"`
	Want                        string
}

func load(t testing.TB) (icons map[string]icon.Answer, cdn string, rows []row) {
	var table struct {
		CDN   string
		Icons map[string]icon.Answer
		Rows  []row
	}
	data, err := os.ReadFile("../../testdata/output.json")
	if err == nil {
		err = json.Unmarshal(data, &table)
	}
	if err != nil || len(table.Rows) < 20 {
		t.Fatal("clients/testdata/output.json is not complete: ", err)
	}
	return table.Icons, table.CDN, table.Rows
}

func TestInsert(t *testing.T) {
	icons, cdn, rows := load(t)
	for _, r := range rows {
		a, ok := icons[r.Icon]
		ref, err := icon.ParseRef(r.Icon)
		if !ok || err != nil {
			t.Fatalf("%s: no icon %q", r.About, r.Icon)
		}
		i, err := Of(ref, &a)
		if err != nil {
			t.Fatalf("%s: %v", r.About, err)
		}
		o := Options{CDN: cdn, Separator: r.Separator, Prefix: r.Prefix}
		if r.Color != nil {
			json.Unmarshal(r.Color, &o.Color)
		}
		if r.Size != nil {
			json.Unmarshal(r.Size, &o.Height)
		}
		if got, err := Insert(r.Form, r.Language, i, o, !r.NoCredit); err != nil || got != r.Want {
			t.Errorf("%s: %v\n%q, want\n%q", r.About, err, got, r.Want)
		}
	}
}

// TestUnsafe: an SVG that could run a script gets no form at all; an unknown form is named.
func TestUnsafe(t *testing.T) {
	for _, svg := range []string{`<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`,
		`<svg xmlns="http://www.w3.org/2000/svg" onload="x"/>`, `<html>`, ``} {
		if i, err := Of(icon.Ref{Pack: "mdi", Name: "home"}, &icon.Answer{SVG: svg}); err == nil {
			t.Errorf("Of(%q) = %+v", svg, i)
		}
	}
	if _, err := Write("gif", Icon{}, Options{}); err == nil || !strings.Contains(err.Error(), "svg, react") {
		t.Errorf("an unknown form: %v", err)
	}
}

// FuzzComment: no text of the API ends a comment, and none becomes code.
func FuzzComment(f *testing.F) {
	for _, s := range []string{"*/", "-->", "--!>", "*/}", "a\nb", "</script>", "/*", "*\u202e/", "<!--", "--->", "**//", "`${x}`"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, attribution, spdx string) {
		i := Icon{Ref: icon.Ref{Pack: "mdi", Name: "home"}, SVG: "<svg/>", Credit: client.CreditOf(spdx, attribution, true)}
		for _, language := range []string{"html", "typescriptreact"} {
			text, err := Insert("svg", language, i, Options{}, true)
			above, svg, _ := strings.Cut(text, "\n")
			inner, ok := between(above)
			if err != nil || svg != "<svg/>" || !ok || strings.Contains(inner, "--") ||
				strings.Contains(inner, "*/") || strings.ContainsAny(inner, "{}`\r\n\u2028") {
				t.Fatalf("%q, %q in %s: %q", attribution, spdx, language, text)
			}
		}
		text, _ := Insert("css", "css", i, Options{CDN: "http://x"}, true)
		if strings.Count(text, "*/") != 1 || strings.Count(text, "\n") < 1 ||
			!strings.HasPrefix(text[strings.Index(text, "*/"):], "*/\nbackground: url(") {
			t.Fatalf("%q, %q: %q", attribution, spdx, text)
		}
	})
}

func between(comment string) (inner string, ok bool) {
	for _, ends := range [][2]string{{"<!-- ", " -->"}, {"{/* ", " */}"}} {
		if inner, ok := strings.CutPrefix(comment, ends[0]); ok {
			return strings.CutSuffix(inner, ends[1])
		}
	}
	return "", false
}
