package publish

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func TestInfo(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want func(p icon.Pack) bool
	}{
		{`{"height":24}`, func(p icon.Pack) bool { return slices.Equal(p.Height, []float64{24}) }},
		{`{"height":[32,16,32,0]}`, func(p icon.Pack) bool { return slices.Equal(p.Height, []float64{16, 32}) }},
		{`{"height":null}`, func(p icon.Pack) bool { return len(p.Height) == 0 }},
		{`{}`, func(p icon.Pack) bool { return p.Name == "key" }}, // it must be called something
		{`{"name":" A\n\tB\u0007\u202e "}`, func(p icon.Pack) bool { return p.Name == "A B" }},
		{`{"author":{"url":"javascript:alert(1)"}}`, func(p icon.Pack) bool { return p.AuthorURL == "" }},
		{`{"license":{"spdx":"MIT","url":"https://e.com/a>; rel=\"x\""}}`, func(p icon.Pack) bool { return p.LicenseURL == "https://e.com/a%3E;%20rel=%22x%22" }},
		{`{"license":{"spdx":"MIT","url":"/LICENSE"}}`, func(p icon.Pack) bool { return p.LicenseURL == "https://spdx.org/licenses/MIT.html" }},
		{`{"license":{"spdx":"MIT OR Apache-2.0"}}`, func(p icon.Pack) bool {
			return p.LicenseTitle == "MIT OR Apache-2.0" && p.LicenseURL == "https://spdx.org/licenses/"
		}},
		{`{"license":{"spdx":"CC-BY-NC-4.0"}}`, func(p icon.Pack) bool { return !p.CommercialUse }},
	} {
		in := info{key: "key"}
		if err := json.Unmarshal([]byte(tt.in), &in); err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if p := in.pack(); !tt.want(p) {
			t.Errorf("%s gives %+v", tt.in, p)
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"home", "home"},
		{"Öl & ✓", "Öl & ✓"},
		{"a\x1b[2Jb", `"a\x1b[2Jb"`}, // would clear the terminal
		{"\xff", `"\xff"`},
	} {
		if got := printable(tt.in); got != tt.want {
			t.Errorf("printable(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Who is told that a name is too long need not look for what is wrong with its letters.
func TestBadName(t *testing.T) {
	long := strings.Repeat("a", 140)
	for name, want := range map[string]string{long: "128 bytes", "Bad Name": "lower-case", strings.Repeat("a", 128) + "-b": "128 bytes", "a--b": "lower-case"} {
		c := collection{icons: map[string]*entry{name: {}}, aliases: map[string]*entry{"x" + name: {Parent: name}}, defaults: bare()}
		s, err := c.set(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.leftOut) != 2 || !strings.Contains(s.leftOut[0].Reason, want) || !strings.Contains(s.leftOut[1].Reason, want) {
			t.Errorf("%.20s: %+v, want %q", name, s.leftOut, want)
		}
	}
}

// Whatever a file says, its drawings are sorted, called as icons are, and its aliases are of icons among them.
func FuzzCollection(f *testing.F) {
	f.Add([]byte(`{"prefix":"a","icons":{"b":{"body":"<g/>","width":1e9,"rotate":1}},"aliases":{"c":{"parent":"b","hFlip":true},"d":{"parent":"d"}},"categories":{"X":["b","c"]},"height":3}`))
	f.Add([]byte(`{"icons":{"b":{"body":"<g/>"},"b":{"body":""},"B b":{}},"aliases":{"c":{"parent":"d","rotate":-7},"d":{"parent":"B b"},"b":{"parent":"c"}}}`))
	f.Add([]byte(`{"icons":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := collection{icons: map[string]*entry{}, aliases: map[string]*entry{}, defaults: bare()}
		if err := c.read(t.Context(), json.NewDecoder(bytes.NewReader(data))); err != nil {
			return
		}
		s, err := c.set(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		icons := map[string]bool{}
		for i, d := range s.drawings {
			if !icon.ValidKey(d.name) || i > 0 && s.drawings[i-1].name >= d.name {
				t.Fatalf("%q is no name, or out of order", d.name)
			}
			icons[d.name] = d.of == ""
		}
		for _, d := range s.drawings {
			if d.of != "" && !icons[d.of] {
				t.Fatalf("%s is an alias of %q, which is no icon of the pack", d.name, d.of)
			}
		}
		all := maps.Clone(c.icons)
		maps.Copy(all, c.aliases)
		if len(s.drawings)+len(s.leftOut) != len(all) {
			t.Fatalf("of %d names %d are drawn and %d left out", len(all), len(s.drawings), len(s.leftOut))
		}
	})
}
