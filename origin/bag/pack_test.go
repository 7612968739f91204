package bag

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// files returns the files of an archive of a pack by their names.
func files(t *testing.T, p Whole, kind Kind) map[string]string {
	t.Helper()
	var b, again bytes.Buffer
	if err := errors.Join(p.Write(&b, kind), p.Write(&again, kind)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("two archives %s of the same pack differ", kind)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(f.Name, err)
		}
		all[f.Name] = string(content)
	}
	return all
}

func whole(p *icon.Pack, items ...Item) Whole {
	return Whole{Pack: p, Count: len(items), Icons: func(yield func(Item, error) bool) {
		for _, i := range items {
			if !yield(i, nil) {
				return
			}
		}
	}}
}

func TestWhole(t *testing.T) {
	mdi := pack("mdi", "Material\n`<script>` -- --> Icons", "Pictogrammers", "Apache-2.0")
	const gradient = `<linearGradient id="a"><stop stop-color="red"/></linearGradient><path fill="url(#a)" d="M0 0h16v16z"/>`
	p := whole(mdi, item(t, mdi, "a-1", `<path fill="currentColor" d="M0 0h9v9z"/>`), item(t, mdi, "a1", gradient),
		item(t, mdi, "home", gradient))
	for kind, want := range map[Kind][]string{
		SVGs:   {"mdi/a-1.svg", "mdi/a1.svg", "mdi/home.svg"},
		React:  {"mdi/a-1.tsx", "mdi/a1.tsx", "mdi/home.tsx", "mdi/index.ts"},
		Symbol: {"sprite.svg"},
	} {
		all := files(t, p, kind)
		for _, name := range append(want, LicensesName, AuthorsName) {
			if all[name] == "" {
				t.Errorf("%s lacks %s", kind, name)
			}
		}
		if len(all) != len(want)+2 {
			t.Errorf("%s has %d files, want %d", kind, len(all), len(want)+2)
		}
		if s := all[LicensesName]; !strings.Contains(s, "3 icons of 1 pack") || !strings.Contains(s, "- Icons: all of the pack\n") {
			t.Errorf("%s: %s", kind, s)
		}
		if lines := strings.Count(all[AuthorsName], "\n"); lines != 3 || !strings.Contains(all[AuthorsName], "Pictogrammers") {
			t.Errorf("%s: %d lines of %q", kind, lines, all[AuthorsName])
		}
	}
	if got := files(t, p, SVGs)["mdi/home.svg"]; got != string(item(t, mdi, "home", gradient).SVG) {
		t.Error(got)
	}

	// Each component has a name of its own, and no text of a publisher leaves its comment.
	components := files(t, p, React)
	exports := regexp.MustCompile(`(?m)^export \{ default as (\w+) \} from '\./([a-z0-9-]+)';$`).
		FindAllStringSubmatch(components["mdi/index.ts"], -1)
	names := map[string]bool{}
	for _, e := range exports {
		names[e[1]] = true
	}
	if len(exports) != 3 || len(names) != 3 || strings.Count(components["mdi/index.ts"], "\n") != 4 {
		t.Error(components["mdi/index.ts"])
	}
	if home := components["mdi/home.tsx"]; !strings.HasPrefix(home, "// mdi/home: ") || !strings.Contains(home, "function MdiHome(") {
		t.Error(home)
	}

	// The sprite is well-formed, and its ids are unique.
	ids := map[string]bool{}
	for in := xml.NewDecoder(strings.NewReader(files(t, p, Symbol)["sprite.svg"])); ; {
		token, err := in.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, _ := token.(xml.StartElement)
		for _, a := range start.Attr {
			if a.Name.Local == "id" && ids[a.Value] {
				t.Errorf("the id %s is there twice", a.Value)
			}
			if a.Name.Local == "id" {
				ids[a.Value] = true
			}
		}
	}
	for _, id := range []string{"mdi-a-1", "mdi-a1", "mdi-home"} {
		if !ids[id] {
			t.Errorf("there is no id %s in %v", id, ids)
		}
	}
}

// An icon that can't be read ends the archive with its error: without it, it would look complete.
func TestWholeBroken(t *testing.T) {
	mdi := pack("mdi", "Icons", "", "MIT")
	broken := errors.New("broken")
	p := Whole{Pack: mdi, Count: 2, Icons: func(yield func(Item, error) bool) { _ = yield(Item{}, broken) }}
	for _, kind := range Kinds {
		if err := p.Write(io.Discard, kind); !errors.Is(err, broken) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if err := whole(mdi).Write(io.Discard, "exe"); err == nil {
		t.Error("an unknown kind is written")
	}
}
