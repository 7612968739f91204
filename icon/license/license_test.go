package license

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

func TestOf(t *testing.T) {
	const by = Attribution | Notice
	for _, tt := range []struct {
		spdx  string
		want  Obligations
		known bool
	}{
		{"MIT", Notice, true},
		{"mit", Notice, true}, // SPDX identifiers match in any case
		{"CC0-1.0", 0, true},
		{"Unlicense", 0, true},
		{"CC-BY-4.0", by, true},
		{"CC-BY-SA-3.0", by | ShareAlike, true},
		{"CC-BY-NC-4.0", by | NonCommercial, true},
		{"CC-BY-NC-SA-4.0", by | NonCommercial | ShareAlike, true},
		{"CC-BY-NC-ND-2.5", by | NonCommercial | NoDerivatives, true}, // follows from the name
		{"CC-BY-SA-2.0-UK", by | ShareAlike, true},
		{"CC-BY-NC-SA-2.0-FR", by | NonCommercial | ShareAlike, true},
		{"CC-BY-NC", by | NonCommercial, false},
		{"CC-BY-NC-X", by | NonCommercial, false},
		{"CC-BYPASS-1.0", 0, false},
		{"CC-BY-NCX-1.0", by, false},
		{"GPL-2.0-or-later", Copyleft | Notice, true},
		{"GPL-3.0", Copyleft | Notice, true},
		{"GPL-2.0+", Copyleft | Notice, true},
		{"MPL-2.0", Copyleft | Notice, true},
		{"OFL-1.1", Copyleft | Notice, true},
		// The user chooses the alternative.
		{"MIT OR GPL-2.0-only", Notice, true},
		{"CC0-1.0 OR CC-BY-NC-4.0", 0, true},
		{"LicenseRef-Own OR MIT", Notice, true},
		{"MIT OR LicenseRef-Own", Notice, true},
		{"LicenseRef-Own OR LicenseRef-Other", 0, false},
		{"MIT AND CC-BY-4.0", by, true},
		{"MIT AND LicenseRef-Own", Notice, false},
		{"MIT OR CC-BY-4.0 AND GPL-3.0-only", Notice, true}, // AND binds more closely
		{"(MIT OR CC-BY-4.0) AND GPL-3.0-only", Copyleft | Notice, true},
		{"GPL-2.0-only WITH Font-exception-2.0", Copyleft | Notice, true},
		{"", 0, false},
		{"LicenseRef-Own", 0, false},
		{"MIT OR", 0, false},
		{"MIT MIT", Notice, false},
		{"(MIT", Notice, false},
		{"MIT WITH", Notice, false},
		{strings.Repeat("(", 1000) + "MIT" + strings.Repeat(")", 1000), 0, false},
	} {
		if got, known := Of(tt.spdx); got != tt.want || known != tt.known {
			t.Errorf("Of(%.60q) = %s, %v; want %s, %v", tt.spdx, got, known, tt.want, tt.known)
		}
	}
}

func TestNames(t *testing.T) {
	for o := range All().Each {
		got, ok := Parse(o.String())
		if !ok || got != o || o.Text() == "" || !All().Has(o) {
			t.Errorf("Parse(%q) = %v, %v", o.String(), got, ok)
		}
	}
	if _, ok := Parse(None); ok || Obligations(0).String() != None || Obligations(0).Text() != "" {
		t.Error("the empty set is no obligation")
	}
	if got := (Attribution | NonCommercial).String(); got != "non-commercial, attribution" {
		t.Errorf("String of two: %q", got)
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		filter, spdx string
		want         bool
	}{
		{"mit", "MIT", true},
		{"MIT", "ISC", false},
		{"notice", "MIT", true},
		{"notice", "CC-BY-4.0", false}, // attribution is heavier
		{"attribution", "CC-BY-4.0", true},
		{"attribution", "CC-BY-SA-4.0", false},
		{"share-alike", "CC-BY-SA-4.0", true},
		{"copyleft", "GPL-3.0-only", true},
		{"non-commercial", "CC-BY-NC-SA-4.0", true},
		{"none", "CC0-1.0", true},
		{"none", "LicenseRef-Own", false}, // unknown
		{"", "CC0-1.0", false},
	} {
		if got := Matches(tt.filter, tt.spdx); got != tt.want {
			t.Errorf("Matches(%q, %q) = %v", tt.filter, tt.spdx, got)
		}
	}
}

func TestAdvice(t *testing.T) {
	for spdx, want := range map[string][]string{
		"MIT": {Notice.Text()}, "CC0-1.0": {FreeText}, "LicenseRef-Own": {UnknownText},
		"CC-BY-NC-4.0": {NonCommercial.Text(), Attribution.Text(), Notice.Text()},
	} {
		if got := Advice(spdx); !slices.Equal(got, want) {
			t.Errorf("Advice(%q) = %q", spdx, got)
		}
	}
}

// FuzzOf checks that two copies of an expression, as alternatives or together, oblige to the same.
func FuzzOf(f *testing.F) {
	for _, s := range []string{"MIT", "MIT OR GPL-2.0-only", "(MIT AND CC-BY-4.0) OR ISC",
		"GPL-2.0+ WITH Font-exception-2.0", "((", "CC-BY-NC-SA-2.0-FR", "OR", "LicenseRef-a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, known := Of(s)
		if o&^All() != 0 {
			t.Fatalf("Of(%q) = %b", s, o)
		}
		if !known || strings.Count(s, "(") >= maxDepth-1 { // deeper nesting is refused
			return
		}
		for _, twice := range []string{s + " OR (" + s + ")", "(" + s + ") AND (" + s + ")", "LicenseRef-Own OR (" + s + ")"} {
			if again, known := Of(twice); again != o || !known {
				t.Fatalf("Of(%q) = %s, but Of(%q) = %s, %v", s, o, twice, again, known)
			}
		}
	})
}

// TestLibrary checks that the table has the licence of every pack of the pinned library.
func TestLibrary(t *testing.T) {
	folder := cmp.Or(os.Getenv("ICONEDGE_LIBRARY"), filepath.FromSlash("../../tools/library/node_modules/@iconify/json"))
	data, err := os.ReadFile(filepath.Join(folder, "collections.json"))
	if err != nil {
		t.Skip("the library is not installed: ", err)
	}
	var packs map[string]struct {
		License struct{ SPDX string }
		Hidden  bool
	}
	if err := json.Unmarshal(data, &packs); err != nil {
		t.Fatal(err)
	}
	shown, groups := 0, map[string]int{}
	for key, p := range packs {
		o, known := Of(p.License.SPDX)
		if !known || Title(p.License.SPDX) == "" || Source(p.License.SPDX) == "" {
			t.Errorf("pack %s: the table lacks %q", key, p.License.SPDX)
		}
		if p.Hidden {
			continue
		}
		shown++
		groups[None] += map[bool]int{true: 1}[o == 0]
		for _, name := range o.Names() {
			groups[name]++
		}
	}
	if shown != 222 {
		t.Errorf("%d packs are not hidden, want the 222 of the pinned library", shown)
	}
	t.Log(groups)
}

// TestDocs checks the table in the documentation.
func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Licences\n\n<!-- Made from the table of package icon/license by `go test ./icon/license " +
		"-update`: do not edit. -->\n\n" +
		"**In short:** Most packs allow every use as long as the notice of the licence stays; some ask for a credit, " +
		"few forbid commercial use. The licence of each icon is in its response,\n" +
		"and the table says what it obliges you to do.\n\n" +
		"The obligations are those of the licences that icon packs have, as search filters, the site and the bag's " +
		"LICENSES.md group them. This page is a summary and no legal advice:\n" +
		"the text of a licence decides. A licence expression (`MIT OR GPL-2.0-only`) obliges to what all alternatives " +
		"require, and one with `AND` to what any of its licences requires; a licence that is not listed here has unknown obligations.\n\n" +
		"| obligation | instruction |\n|---|---|\n")
	for o := range All().Each {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o, o.Text())
	}
	b.WriteString("\n| SPDX | licence | obligations | stated at |\n|---|---|---|---|\n")
	for _, id := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | <%s> |\n", id, Title(id), table[id].obliges, Source(id))
	}
	b.WriteString("\nOther versions and ports of Creative Commons licences (`CC-BY-SA-2.0-UK`) follow from their names.\n")
	golden.Check(t, filepath.FromSlash("../../docs/reference/licences.md"), []byte(b.String()))
}
