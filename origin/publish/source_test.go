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
		{`{}`, func(p icon.Pack) bool { return p.Name == "key" }}, // a pack must have a name
		{`{"name":" A\n\tB\u0007\u202e "}`, func(p icon.Pack) bool { return p.Name == "A B" }},
		{`{"author":{"url":"javascript:alert(1)"}}`, func(p icon.Pack) bool { return p.AuthorURL == "" }},
		{`{"license":{"spdx":"MIT","url":"https://e.com/a>; rel=\"x\""}}`,
			func(p icon.Pack) bool { return p.LicenseURL == "https://e.com/a%3E;%20rel=%22x%22" }},
		{`{"license":{"spdx":"MIT","url":"https://e.com/é b?a=é b%20c#ü"}}`,
			func(p icon.Pack) bool { return p.LicenseURL == "https://e.com/%C3%A9%20b?a=%C3%A9%20b%20c#%C3%BC" }},
		{`{"license":{"spdx":"MIT","url":"/LICENSE"}}`,
			func(p icon.Pack) bool { return p.LicenseURL == "https://spdx.org/licenses/MIT.html" }},
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
		{"a\x1b[2Jb", `"a\x1b[2Jb"`}, // would clear the terminal if unquoted
		{"\xff", `"\xff"`},
	} {
		if got := printable(tt.in); got != tt.want {
			t.Errorf("printable(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// The reason for an invalid name is its length if the name is too long, and its characters only
// otherwise.
func TestBadName(t *testing.T) {
	long := strings.Repeat("a", 140)
	for name, want := range map[string]string{long: "128 bytes", "Bad Name": "lower-case",
		strings.Repeat("a", 128) + "-b": "128 bytes", "a--b": "lower-case"} {
		c := collection{icons: map[string]*entry{name: {}}, aliases: map[string]*entry{"x" + name: {Parent: name}}, defaults: emptyEntry()}
		s, err := c.set(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.leftOut) != 2 || !strings.Contains(s.leftOut[0].Reason, want) || !strings.Contains(s.leftOut[1].Reason, want) {
			t.Errorf("%.20s: %+v, want %q", name, s.leftOut, want)
		}
	}
}

// For any file, the set is sorted, has only valid names, and has the icon of each of its aliases.
func FuzzCollection(f *testing.F) {
	f.Add([]byte(`{"prefix":"a","icons":{"b":{"body":"<g/>","width":1e9,"rotate":1}},"aliases":{"c":{"parent":"b","hFlip":true},"d":{"parent":"d"}},"categories":{"X":["b","c"]},"height":3}`))
	f.Add([]byte(`{"icons":{"b":{"body":"<g/>"},"b":{"body":""},"B b":{}},"aliases":{"c":{"parent":"d","rotate":-7},"d":{"parent":"B b"},"b":{"parent":"c"}}}`))
	f.Add([]byte(`{"icons":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := collection{icons: map[string]*entry{}, aliases: map[string]*entry{}, defaults: emptyEntry()}
		if err := c.read(t.Context(), json.NewDecoder(bytes.NewReader(data))); err != nil {
			return
		}
		s, err := c.set(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		icons := map[string]bool{}
		for i, d := range s.icons {
			if !icon.ValidKey(d.name) || i > 0 && s.icons[i-1].name >= d.name {
				t.Fatalf("%q is not a valid name, or out of order", d.name)
			}
			icons[d.name] = d.of == ""
		}
		for _, d := range s.icons {
			if d.of != "" && !icons[d.of] {
				t.Fatalf("%s is an alias of %q, which is not in the pack", d.name, d.of)
			}
		}
		all := maps.Clone(c.icons)
		maps.Copy(all, c.aliases)
		if len(s.icons)+len(s.leftOut) != len(all) {
			t.Fatalf("of %d names, %d are in the set and %d are left out", len(all), len(s.icons), len(s.leftOut))
		}
	})
}
