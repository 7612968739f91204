package cachepolicy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Rows are from the grammar of RFC 9875 and RFC 9651: strings are groups, everything else is not.
func TestGroups(t *testing.T) {
	many := make([]string, MaxGroups+3)
	for i := range many {
		many[i] = fmt.Sprintf("%q", fmt.Sprint("g", i))
	}
	for _, tt := range []struct {
		lines   []string
		want    string
		ignored int
	}{
		{nil, "", 0},
		{[]string{`"product-7", "home"`}, "product-7|home", 0},
		{[]string{`"a"`, `"b";x=1`}, "a|b", 0},
		{[]string{`"with \"quotes\" and spaces"`}, `with "quotes" and spaces`, 0},
		{[]string{`""`}, "", 0},
		{[]string{`token, 7, ("inner"), "a"`}, "a", 0},
		{[]string{`"unclosed`}, "", 0},
		{[]string{`"ä"`}, "", 0},
		{[]string{`"` + strings.Repeat("x", MaxGroupLength) + `"`}, strings.Repeat("x", MaxGroupLength), 0},
		{[]string{`"` + strings.Repeat("x", MaxGroupLength+1) + `", "a"`}, "a", 1},
	} {
		got, ignored := Groups(http.Header{"Cache-Groups": tt.lines})
		if strings.Join(got, "|") != tt.want || ignored != tt.ignored {
			t.Errorf("%q: %q, %d ignored; want %q, %d", tt.lines, got, ignored, tt.want, tt.ignored)
		}
	}
	got, ignored := Groups(http.Header{"Cache-Groups": {strings.Join(many, ", ")}})
	if len(got) != MaxGroups || ignored != 3 {
		t.Errorf("of %d groups %d count, and %d are ignored", len(many), len(got), ignored)
	}
}

// Only responses to unsafe methods invalidate groups (RFC 9875, section 3).
func TestInvalidatedGroups(t *testing.T) {
	h := http.Header{"Cache-Group-Invalidation": {`"a", "b"`}}
	for method, want := range map[string][]string{"GET": nil, "HEAD": nil, "OPTIONS": nil, "QUERY": nil,
		"POST": {"a", "b"}, "PUT": {"a", "b"}, "DELETE": {"a", "b"}, "MKCOL": {"a", "b"}} {
		if got, _ := InvalidatedGroups(method, h); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", method, got, want)
		}
	}
}

func FuzzGroups(f *testing.F) {
	f.Add(`"a", "b";q=1, (c)`)
	f.Fuzz(func(t *testing.T, line string) {
		got, _ := Groups(http.Header{"Cache-Groups": {line}})
		if len(got) > MaxGroups {
			t.Errorf("%d groups", len(got))
		}
		for _, name := range got {
			if len(name) > MaxGroupLength || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("group %q", name)
			}
		}
	})
}
