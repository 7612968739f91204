package icon

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseBag(t *testing.T) {
	many := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("b%03d", i))
		}
		return "a/" + strings.Join(names, ",")
	}
	for _, tt := range []struct{ in, want string }{
		{"mdi/home", "mdi/home"},
		{"mdi/home,lucide/house", "lucide/house,mdi/home"}, // one order
		{"mdi/home,mdi/home", "mdi/home"},                  // each once
		{",mdi/home,,", "mdi/home"},
		{many(500), many(500)},
		{many(500) + ",a/b000", many(500)}, // 500 different ones
		{many(501), ""},
		{"mdi/home,mdi/account,a/b,mdi/star", "a/b,mdi/account,home,star"}, // a pack once
		{"mdi/home,account,a/b", "a/b,mdi/account,home"},
		{"home,mdi/account", ""}, // of no pack
		{"mdi", ""},
		{"mdi/home/x", ""},
		{"MDI/home", ""},
		{" mdi/home, mdi/account", "mdi/account,home"},
		{"../x", ""},
	} {
		refs, err := ParseBag(tt.in)
		if got := FormatBag(refs); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("ParseBag(%.60q) = %.60q, %v; want %.60q", tt.in, got, err, tt.want)
		}
	}
}

func TestEmptyBag(t *testing.T) {
	for _, s := range []string{"", ",", " , "} {
		if refs, err := ParseBag(s); err != nil || len(refs) != 0 {
			t.Errorf("ParseBag(%q) = %v, %v", s, refs, err)
		}
	}
}

// FuzzParseBag checks that the canonical form is read back as itself.
func FuzzParseBag(f *testing.F) {
	for _, s := range []string{"mdi/home", "b/a,a/b,a/b", ",,", "a/b,", "a//b", "b/a,c,a/x,c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		refs, err := ParseBag(s)
		if err != nil {
			return
		}
		canonical := FormatBag(refs)
		again, err := ParseBag(canonical)
		if err != nil || FormatBag(again) != canonical || len(canonical) > len(s) {
			t.Fatalf("ParseBag(%q): %q is read as %v, %v", s, canonical, again, err)
		}
	})
}
