package frameworks

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

// Each field is in the list once, in one of the two groups, with everything that a reader needs.
func TestFields(t *testing.T) {
	for i, f := range Fields {
		name := strings.TrimSuffix(f.Name, "*")
		if f.Framework == "" || f.Versions == "" || f.Effect == "" || !strings.HasPrefix(f.Source, "https://") ||
			strings.Contains(name, "*") {
			t.Errorf("%+v is not complete", f)
		}
		if f.Name != name {
			name += "Any"
		}
		if name = http.CanonicalHeaderKey(name); Internal(name) == f.OfScripts || OfScripts(name) != f.OfScripts {
			t.Errorf("%s: internal %v, of scripts %v", f.Name, Internal(name), OfScripts(name))
		}
		for _, other := range Fields[:i] {
			if strings.EqualFold(other.Name, f.Name) {
				t.Errorf("%s is in the list twice", f.Name)
			}
		}
	}
	for _, name := range []string{"Accept", "Cookie", "Host", "Origin", "Range", "X-Middleware", "X-Inerti", "Hx",
		"X-Request-Id", "X-Turbo-Request-Id", "X-Forwarded-For", "Next", ""} {
		if Internal(name) || OfScripts(name) {
			t.Errorf("%q is a field of a framework", name)
		}
	}
}

// The page about caching has the list.
func TestDocs(t *testing.T) {
	const page = "../../docs/reference/caching.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, ofScripts := range []bool{false, true} {
		var table bytes.Buffer
		table.WriteString("| field | framework | versions | effect |\n|---|---|---|---|\n")
		for _, f := range Fields {
			if f.OfScripts == ofScripts {
				fmt.Fprintf(&table, "| `%s` | %s | %s | [%s](%s) |\n", f.Name, f.Framework, f.Versions, f.Effect, f.Source)
			}
		}
		begin, end := []byte(fmt.Sprintf("<!-- fields of scripts %v -->\n", ofScripts)), []byte("<!-- end of the fields -->\n")
		before, rest, found := bytes.Cut(text, begin)
		_, after, ends := bytes.Cut(rest, end)
		if !found || !ends {
			t.Fatalf("%s has no place for the fields", page)
		}
		text = slices.Concat(before, begin, table.Bytes(), end, after)
	}
	golden.Check(t, page, text)
}
