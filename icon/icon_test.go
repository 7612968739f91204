package icon

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestParseRef(t *testing.T) {
	long := strings.Repeat("a", MaxKey)
	for _, row := range []struct {
		in string
		ok bool
	}{
		{"mdi/home", true}, {"bi/123", true}, {"a/b-c-1", true}, {long + "/" + long, true},
		{long + "a/b", false}, {"mdi", false}, {"mdi/", false}, {"/home", false}, {"mdi/home/x", false},
		{"MDI/home", false}, {"mdi/-home", false}, {"mdi/home-", false}, {"mdi/a--b", false}, {"mdi/..", false},
		{"mdi/a_b", false}, {"mdi/a\x00", false}, {"mdi/ä", false}, {"mdi/home.svg", false},
	} {
		if ref, err := ParseRef(row.in); (err == nil) != row.ok || row.ok && ref.String() != row.in {
			t.Errorf("ParseRef(%q) = %v, %v; want ok %v", row.in, ref, err, row.ok)
		}
	}
}

func TestParseColor(t *testing.T) {
	for _, row := range []struct {
		in   string
		want Color
	}{
		{"#f00", "#ff0000"}, {"f00", "#ff0000"}, {"F00", "#ff0000"}, {"#FF0000", "#ff0000"}, {"ff0000ff", "#ff0000"},
		{"#f00f", "#ff0000"}, {"#f008", "#ff000088"}, {"12345678", "#12345678"}, {"0000ffff", "#0000ff"},
		{"", ""}, {"#", ""}, {"#ff", ""}, {"red", ""}, {"##f00", ""}, {"#ggg", ""}, {"#12345", ""}, {"#1234567", ""},
		{"url(#a)", ""}, {"#f00\x00", ""}, {"#ｆ00", ""},
	} {
		got, err := ParseColor(row.in)
		if got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("ParseColor(%q) = %q, %v; want %q", row.in, got, err, row.want)
		}
	}
	if s := ErrColor.Error(); !strings.Contains(s, "color") || !strings.Contains(s, "hex") {
		t.Errorf("%q must say color and hex, because clients look for these words", s)
	}
}

func TestRecolour(t *testing.T) {
	svg := []byte(`<svg><path fill="currentColor" stroke="currentColor"/></svg>`)
	if got, want := string(Recolour(svg, "#ff0000")), `<svg><path fill="#ff0000" stroke="#ff0000"/></svg>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Recolour(svg, ""); &got[0] != &svg[0] {
		t.Error("without a colour, Recolour must return its argument")
	}
	answer, err := json.Marshal(Answer{SVG: string(svg), Metadata: Metadata{Tags: []string{`currentColor`, `"recolored":false`}}})
	if err != nil {
		t.Fatal(err)
	}
	var got Answer
	if err := json.Unmarshal(RecolourAnswer(answer, "#ff0000"), &got); err != nil {
		t.Fatal(err)
	}
	if got.SVG != string(Recolour(svg, "#ff0000")) || !got.Metadata.Recolored ||
		got.Metadata.Tags[0] != "currentColor" || got.Metadata.Tags[1] != `"recolored":false` {
		t.Errorf("got %+v", got)
	}
	for _, row := range []struct{ svg, literal, red, translucent string }{
		{`<svg viewBox="0 0 9 9"><path fill="currentColor"/></svg>`, "currentColor", `<svg viewBox="0 0 9 9"><path fill="#ff0000"/></svg>`,
			`<svg viewBox="0 0 9 9"><g opacity="0.502"><path fill="#ff0000"/></g></svg>`},
		{`<svg color="#1A1f71"><use href="#a"/><path id="#b" style="fill:#1A1f71"/></svg>`, "#1A1f71",
			`<svg color="#ff0000"><use href="#a"/><path id="#b" style="fill:#ff0000"/></svg>`,
			`<svg color="#ff0000"><g opacity="0.502"><use href="#a"/><path id="#b" style="fill:#ff0000"/></g></svg>`},
		{`<svg><use href="#ab"/><use href="#abcd"/><path fill="#fff"/></svg>`, "#fff",
			`<svg><use href="#ab"/><use href="#abcd"/><path fill="#ff0000"/></svg>`,
			`<svg><g opacity="0.502"><use href="#ab"/><use href="#abcd"/><path fill="#ff0000"/></g></svg>`},
		{`<svg><path fill="none"/></svg>`, "", `<svg><path fill="none"/></svg>`, `<svg><g opacity="0.502"><path fill="none"/></g></svg>`},
		{``, "", ``, `<g opacity="0.502"></g>`},
	} {
		if got := string(Literal([]byte(row.svg))); got != row.literal {
			t.Errorf("%s is painted in %q, want %q", row.svg, got, row.literal)
		}
		for c, want := range map[Color]string{"#ff0000": row.red, "#ff000080": row.translucent} {
			got := string(Recolour([]byte(row.svg), c))
			if n := PaintOf([]byte(row.svg)).RecolouredLen(len(row.svg), c); got != want || n != len(got) {
				t.Errorf("%s in %s: %d bytes\n%s, want\n%s", row.svg, c, n, got, want)
			}
			answer, err := json.Marshal(Answer{SVG: row.svg})
			if err != nil {
				t.Fatal(err)
			}
			var a Answer
			if err := json.Unmarshal(RecolourAnswer(answer, c), &a); err != nil || a.SVG != want {
				t.Errorf("%s in %s, in JSON: %v\n%s, want\n%s", row.svg, c, err, a.SVG, want)
			}
		}
	}
	for _, odd := range []string{``, `{}`, `{"svg":"`, `{"svg":"a\`, `{"svg":"currentColor"}`} {
		if got := string(RecolourAnswer([]byte(odd), "#ff0000")); got != odd {
			t.Errorf("RecolourAnswer(%q) = %q, want it unchanged", odd, got)
		}
	}
}

// An alias is the parameter, so that both together are given twice.
func TestAliases(t *testing.T) {
	for _, row := range []struct{ raw, want string }{
		{"colour=f00&w=20&h=30", "color=f00 height=30 width=20"},
		{"fill=f00", "color=f00"},
		{"color=f00", "color=f00"},
		{"fill=f00&color=f00", "color is given more than once; colour and fill are the same parameter"},
		{"w=1&width=1", "width is given more than once; w is the same parameter"},
		{"Fill=f00", ""},
	} {
		p, err := ParseQuery(row.raw, VariantParams...)
		got := []string{}
		for name, value := range p {
			got = append(got, name+"="+value)
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); err != nil && err.Error() != row.want || err == nil && s != row.want {
			t.Errorf("ParseQuery(%q) = %s, %v; want %s", row.raw, s, err, row.want)
		}
	}
}

func TestParseQuery(t *testing.T) {
	known := []string{"q", "limit"}
	for _, row := range []struct{ raw, wrong, q string }{
		{"q=home", "", "home"}, {"q=a+b%20c", "", "a b c"}, {"", "", ""}, {"q", "", ""}, {"&&q=1&", "", "1"},
		{"x=%zz&x=%ff&q=1", "", "1"}, // malformed unknown parameters are ignored
		{"q=1&q=1", "q", ""}, {"q=%ff", "q", ""}, {"q=%zz", "q", ""}, {"limit=1&%6cimit=2", "limit", ""}, {"q=a;b", "", "a;b"},
	} {
		p, err := ParseQuery(row.raw, known...)
		bad, _ := err.(*ParamError)
		if (bad == nil) != (row.wrong == "") || bad != nil && bad.Parameter != row.wrong || p["q"] != row.q {
			t.Errorf("ParseQuery(%q) = %v, %v; want q %q, wrong %q", row.raw, p, err, row.q, row.wrong)
		}
	}
}

func TestParams(t *testing.T) {
	for _, row := range []struct {
		in   string
		want int
		ok   bool
	}{{"1", 1, true}, {"50", 50, true}, {"0", 0, false}, {"-1", 0, false}, {"51", 0, false}, {"1e9", 0, false},
		{"abc", 0, false}, {"", 0, false}, {"+5", 0, false}, {"1.5", 0, false}, {"99999999999999999999", 0, false}} {
		if n, err := (Params{"limit": row.in}).Int("limit", 1, 50, 20); n != row.want || (err == nil) != row.ok {
			t.Errorf("limit=%s: %d, %v; want %d", row.in, n, err, row.want)
		}
	}
	if n, err := (Params{}).Int("limit", 1, 50, 20); n != 20 || err != nil {
		t.Errorf("absent: %d, %v; want the default", n, err)
	}
	for in, ok := range map[string]bool{"true": true, "false": true, "1": false, "": false, "TRUE": false} {
		if _, err := (Params{"commercial": in}).Bool("commercial"); (err == nil) != ok {
			t.Errorf("commercial=%s: %v, want ok %v", in, err, ok)
		}
	}
	for in, ok := range map[string]bool{"mdi": true, "": false, "MDI": false, "a/b": false} {
		if _, err := (Params{"pack": in}).Key("pack"); (err == nil) != ok {
			t.Errorf("pack=%s: %v, want ok %v", in, err, ok)
		}
	}
}

func TestParseVariant(t *testing.T) {
	for _, row := range []struct{ raw, canonical, wrong string }{
		{"", "", ""}, {"size=24", "height=24", ""}, {"height=24", "height=24", ""}, {"width=1&height=4096", "height=4096&width=1", ""},
		{"rotate=90", "rotate=90", ""}, {"rotate=3", "rotate=270", ""}, {"flip=horizontal", "flip=horizontal", ""},
		{"rotate=-90", "rotate=270", ""}, {"id=a-B_1", "id=a-B_1", ""}, {"id=x&size=9&rotate=90", "height=9&id=x&rotate=90", ""},
		{"dark=FFF", "dark=%23ffffff", ""}, {"dark=rgb(1,2,3)&size=9", "dark=%23010203&height=9", ""},
		{"dark=00000080", "dark=%2300000080", ""}, {"dark=", "", "dark"}, {"dark=currentColor", "", "dark"}, {"dark=x", "", "dark"},
		{"id=", "", "id"}, {"id=a.b", "", "id"}, {"id=a%20", "", "id"}, {"id=%C3%A4", "", "id"},
		{"id=" + strings.Repeat("a", 64), "id=" + strings.Repeat("a", 64), ""}, {"id=" + strings.Repeat("a", 65), "", "id"},
		{"flip=vertical,horizontal", "rotate=180", ""},  // both flips are half a turn
		{"flip=horizontal,vertical&rotate=180", "", ""}, // with another half turn, nothing changes
		{"size=024", "height=24", ""},                   // leading zeros are not canonical
		{"size=0", "", "size"}, {"size=4097", "", "size"}, {"size=1.5", "", "size"}, {"width=auto", "", "width"}, {"height=", "", "height"},
		{"stroke=2", "stroke=2", ""}, {"stroke=02.0", "stroke=2", ""}, {"stroke=.5", "stroke=0.5", ""},
		{"stroke=1.333333", "stroke=1.33", ""},
		{"stroke=4.001", "stroke=4", ""}, {"stroke=0.25&size=9&width=9", "", "size"}, {"stroke=0.25&size=9", "height=9&stroke=0.25", ""},
		{"stroke-width=1.50", "stroke=1.5", ""}, {"stroke=0.2", "", "stroke"},
		{"stroke=4.1", "", "stroke"}, {"stroke-width=5", "", "stroke"}, {"stroke=", "", "stroke"}, {"stroke=%2B2", "", "stroke"},
		{"stroke=1e0", "", "stroke"}, {"stroke=2px", "", "stroke"}, {"stroke=NaN", "", "stroke"}, {"stroke=0x1p0", "", "stroke"},
		{"secondary=F00", "secondary=%23ff0000", ""}, {"secondary=red&stroke=1", "secondary=%23ff0000&stroke=1", ""},
		{"secondary=F00F", "secondary=%23ff0000ff", ""}, {"secondary=%23ff000080", "secondary=%23ff000080", ""},
		{"secondary=rgba(255,0,0,0.5)", "secondary=%23ff000080", ""}, {"secondary=currentcolor", "", ""}, {"secondary=x", "", "secondary"},
		{"size=1&width=1", "", "size"}, {"rotate=45", "", "rotate"}, {"rotate=0", "", "rotate"},
		{"rotate=-45", "", "rotate"}, {"rotate=-180", "", "rotate"},
		{"flip=", "", "flip"}, {"flip=x", "", "flip"}, {"flip=horizontal,horizontal", "", "flip"}, {"flip=horizontal,", "", "flip"},
	} {
		p, err := ParseQuery(row.raw, VariantParams...)
		if err != nil {
			t.Fatal(err)
		}
		v, err := ParseVariant(p)
		bad, _ := err.(*ParamError)
		if v.Query() != row.canonical || (bad == nil) != (row.wrong == "") || bad != nil && bad.Parameter != row.wrong {
			t.Errorf("ParseVariant(%q) = %q, %v; want %q, wrong %q", row.raw, v.Query(), err, row.canonical, row.wrong)
		}
	}
}

func TestCommercialUse(t *testing.T) {
	for spdx, want := range map[string]bool{"MIT": true, "CC-BY-4.0": true, "GPL-3.0": true, "CC-BY-NC-4.0": false,
		"CC-BY-NC-SA-4.0": false,
		"cc-by-nc-2.5":    false, "CC-BY-NC-4.0 OR MIT": true, "LicenseRef-Own": true} {
		if got := (License{SPDX: spdx}).CommercialUse(); got != want {
			t.Errorf("%s: %v, want %v", spdx, got, want)
		}
	}
	p := Pack{Name: "Material Design Icons", Author: "Pictogrammers"}
	p.SetLicense(License{"Apache-2.0", "Apache License 2.0", "https://example.org/"})
	if want := "Material Design Icons by Pictogrammers, Apache-2.0"; p.Attribution != want {
		t.Errorf("attribution %q, want %q", p.Attribution, want)
	}
	p.AuthorURL = "https://pictogrammers.com"
	if got, want := p.Credit(),
		"Material Design Icons by Pictogrammers (https://pictogrammers.com), Apache-2.0 (https://example.org/)"; got != want {
		t.Errorf("credit %q, want %q", got, want)
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"mdi/home", "a/b/c", "../x", "mdi/%2e", "bi/123"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if ref, err := ParseRef(s); err == nil && ref.String() != s {
			t.Fatalf("ParseRef(%q).String() = %q, want the accepted string unchanged", s, ref)
		}
	})
}

func FuzzParseColor(f *testing.F) {
	for _, s := range []string{"#f00", "F00F", "#12345678", "red"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseColor(s)
		if err != nil {
			return
		}
		if again, err := ParseColor(string(c)); err != nil || again != c {
			t.Fatalf("ParseColor(%q) = %q, which ParseColor reads as %q, %v; want it unchanged", s, c, again, err)
		}
	})
}

func FuzzParseVariant(f *testing.F) {
	for _, s := range []string{"size=24&rotate=90", "flip=vertical,horizontal",
		"width=1&height=2&flip=vertical&rotate=3", "size=1&size=2", "dark=red", "stroke=02.50&secondary=f00f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := ParseQuery(raw, VariantParams...)
		if err != nil {
			return
		}
		v, err := ParseVariant(p)
		if err != nil {
			return
		}
		p, err = ParseQuery(v.Query(), VariantParams...)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseVariant(p); err != nil || again != v {
			t.Fatalf("%q gives %+v, whose query %q gives %+v, %v", raw, v, v.Query(), again, err)
		}
	})
}

// AppendHexColor gives the same colour as ParseColor, or none.
func TestAppendHexColor(t *testing.T) {
	for _, s := range []string{"", "f", "f0", "f00", "F0a", "ff0", "ff00", "ff000", "ff0000", "AbCdEf", "00000g",
		"#f00", "xyz", "12345678", "é0", "12345é"} {
		got, ok := AppendHexColor([]byte("x"), []byte(s))
		want, err := ParseColor(s)
		if ok && (err != nil || string(got) != "x"+string(want)) || !ok && string(got) != "x" ||
			!ok && err == nil && (len(s) == 3 || len(s) == 6) {
			t.Errorf("%s: %q, %v; want %q, %v", s, got, ok, want, err)
		}
	}
}
