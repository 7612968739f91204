package icon_test

import (
	"fmt"

	"github.com/iconedge/iconedge/icon"
)

// An icon is named by its pack and its name.
func ExampleParseRef() {
	ref, err := icon.ParseRef("mdi/home")
	fmt.Println(ref.Pack, ref.Name, err)
	_, err = icon.ParseRef("../home")
	fmt.Println(err == icon.ErrRef)
	// Output:
	// mdi home <nil>
	// true
}

// A colour replaces every currentColor of a cleaned SVG.
func ExampleRecolour() {
	red, err := icon.ParseColor("#F00")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", icon.Recolour([]byte(`<svg viewBox="0 0 24 24"><path fill="currentColor" d="M0 0h24v24z"/></svg>`), red))
	// Output: <svg viewBox="0 0 24 24"><path fill="#ff0000" d="M0 0h24v24z"/></svg>
}

// CanonicalQuery gives all spellings of a search one form, and one cache entry.
func ExampleCanonicalQuery() {
	fmt.Println(icon.CanonicalQuery("  Arrow   LEFT "))
	// Output: arrow left
}
