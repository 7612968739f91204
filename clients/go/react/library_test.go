package react

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var opens = regexp.MustCompile(`<[a-zA-Z]`)

// unclosed is an icon with an unclosed url(, which publishing repairs.
const unclosed = "logos/waffle-icon"

// TestLibrary: every icon of the real library can be a component, and no element is lost. `make
// conformance` runs it.
func TestLibrary(t *testing.T) {
	dir := os.Getenv("ICONEDGE_LIBRARY")
	if dir == "" {
		t.Skip("wants the whole library: ICONEDGE_LIBRARY=FOLDER runs it")
	}
	files, err := filepath.Glob(filepath.Join(dir, "json", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	icons, refused, withIDs := 0, 0, 0
	for _, file := range files {
		var pack struct {
			Prefix string
			Icons  map[string]struct{ Body string }
		}
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &pack)
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, i := range pack.Icons {
			icons++
			d, err := Render(fmt.Sprintf(`<svg xmlns="%s" xmlns:xlink="%s" viewBox="0 0 24 24">%s</svg>`, svgSpace, xlinkSpace, i.Body))
			if err != nil {
				refused++
				if pack.Prefix+"/"+name != unclosed {
					t.Errorf("%s/%s: %v", pack.Prefix, name, err)
				}
				continue
			}
			if d.IDs {
				withIDs++
			}
			if got, want := len(opens.FindAllString(jsString.ReplaceAllString(d.Children, ""), -1)),
				len(opens.FindAllString(i.Body, -1)); got != want {
				t.Errorf("%s/%s: %d elements of %d", pack.Prefix, name, got, want)
			}
		}
	}
	t.Logf("%d icons of %d packs, %d with ids, %d refused", icons, len(files), withIDs, refused)
}
