package bag

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/svg"
	"github.com/iconedge/iconedge/test/golden"
)

// pack returns a pack with a licence.
func pack(key, name, author, spdx string) *icon.Pack {
	p := &icon.Pack{Key: key, Name: name, Author: author, AuthorURL: "https://example.org/" + key}
	p.SetLicense(icon.License{SPDX: spdx, Title: spdx + " License", URL: "https://spdx.org/licenses/" + spdx + ".html"})
	return p
}

// item returns an icon of a pack.
func item(t *testing.T, p *icon.Pack, name, body string) Item {
	t.Helper()
	c, err := svg.Clean([]byte(body), svg.Box{Width: 16, Height: 16})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 9)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(c.SVG)
	w.Close()
	return Item{Ref: icon.Ref{Pack: p.Key, Name: name}, Pack: p, SVG: c.SVG, Deflated: b.Bytes()}
}

// items returns a bag with every kind of licence, a hostile name, and ids that collide.
func items(t *testing.T) []Item {
	const gradient = `<linearGradient id="a"><stop stop-color="red"/></linearGradient><path fill="url(#a)" d="M0 0h16v16z"/>`
	own := pack("own", "`<script>` [x](javascript:alert(1)) -- --> # a", "A|B", "LicenseRef-Own")
	own.AuthorURL = "javascript:alert(1)"
	mdi := pack("mdi", "Material Design Icons", "Pictogrammers", "Apache-2.0")
	all := []Item{
		item(t, mdi, "home", `<path fill="currentColor" d="M0 0h16v16z"/>`),
		item(t, mdi, "account", `<path fill="currentColor" d="M0 0h9v9z"/>`),
		item(t, pack("ps", "PrestaShop Icons", "PrestaShop", "CC-BY-NC-4.0"), "cart", gradient),
		item(t, pack("openmoji", "OpenMoji", "", "CC-BY-SA-4.0"), "sun", gradient),
		item(t, pack("gala", "Gala", "Jake Wells", "GPL-3.0"), "bag", `<g id="x"/><use xlink:href="#x"/>`),
		item(t, pack("logos", "SVG Logos", "Gil Barbara", "CC0-1.0"), "go", `<path fill="red" d="M0 0h9v9z"/>`),
		item(t, pack("a", "A", "", "MIT"), "b-c", `<path d="M0 0h9v9z"/>`),
		item(t, pack("a-b", "A B", "", "MIT"), "c", `<path d="M0 0h8v8z"/>`),
		item(t, own, "x", `<path d="M0 0h9v9z"/>`),
	}
	slices.SortFunc(all, func(a, b Item) int { return bytes.Compare([]byte(a.Ref.String()), []byte(b.Ref.String())) })
	return all
}

func TestFiles(t *testing.T) {
	all := items(t)
	archive, err := Zip(all)
	if err != nil {
		t.Fatal(err)
	}
	sprite, err := Sprite(all)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/"+LicensesName, Licenses(all))
	golden.Check(t, "testdata/sprite.svg", sprite)
	if again, _ := Zip(items(t)); !bytes.Equal(again, archive) {
		t.Error("two archives of the same icons differ")
	}

	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for n, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		name, want := LicensesName, Licenses(all)
		if n < len(all) {
			name, want = all[n].Ref.String()+".svg", all[n].SVG
		}
		if err != nil || f.Name != name || !bytes.Equal(got, want) || f.Mode() != 0o644 {
			t.Errorf("file %d is %s, mode %v: %s, %v", n, f.Name, f.Mode(), got, err)
		}
	}
	if len(r.File) != len(all)+1 {
		t.Errorf("%d files, want %d", len(r.File), len(all)+1)
	}
}

// TestUnzip lets Info-ZIP check an archive.
func TestUnzip(t *testing.T) {
	program, err := exec.LookPath("unzip")
	if err != nil {
		t.Skip("unzip is not installed")
	}
	archive, err := Zip(items(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "icons.zip")
	if err := os.WriteFile(file, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "-t", file).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("No errors detected")) {
		t.Errorf("unzip -t: %v\n%s", err, out)
	}
}

// TestSprite parses a sprite: it is well-formed, and its ids are unique.
func TestSprite(t *testing.T) {
	all := items(t)
	sprite, err := Sprite(all)
	if err != nil {
		t.Fatal(err)
	}
	ids, symbols := map[string]bool{}, 0
	for in := xml.NewDecoder(bytes.NewReader(sprite)); ; {
		token, err := in.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, sprite)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "symbol" {
			symbols++
		}
		for _, a := range start.Attr {
			if a.Name.Local == "id" && ids[a.Value] {
				t.Errorf("the id %s is there twice", a.Value)
			}
			if a.Name.Local == "id" {
				ids[a.Value] = true
			}
		}
	}
	for _, id := range []string{"mdi-home", "ps-cart", "a-b-c", "a--b-c", "ps-cart_a"} {
		if !ids[id] {
			t.Errorf("there is no id %s in %v", id, ids)
		}
	}
	if symbols != len(all) {
		t.Errorf("%d symbols, want %d", symbols, len(all))
	}
}

// FuzzLicenses checks that no name of a publisher begins a line or a link of its own, or ends the
// comment of a sprite.
func FuzzLicenses(f *testing.F) {
	f.Add("Name", "Author", "MIT", "https://example.org")
	f.Add("a\n# b", "-->", "MIT\r\n", "javascript:x")
	f.Fuzz(func(t *testing.T, name, author, spdx, url string) {
		p := &icon.Pack{Key: "k", Name: name, Author: author, AuthorURL: url}
		p.SetLicense(icon.License{SPDX: spdx, Title: name, URL: url})
		got := Licenses([]Item{{Ref: icon.Ref{Pack: "k", Name: "n"}, Pack: p}})
		for line := range bytes.Lines(got) {
			if !bytes.ContainsRune([]byte("#-\n"), rune(line[0])) && line[0] >= 0x20 &&
				!(line[0] >= 'A' && line[0] <= 'Z') && line[0] != '1' {
				t.Fatalf("a line of a name: %q", line)
			}
		}
		if n := bytes.Count(got, []byte("\n")); n > 60 {
			t.Fatalf("%d lines: %s", n, got)
		}
		if c := svg.Comment(string(got)); strings.Contains(c, "--") {
			t.Fatalf("the comment has two hyphens: %q", c)
		}
	})
}

func BenchmarkBag(b *testing.B) {
	p := pack("mdi", "Material Design Icons", "Pictogrammers", "Apache-2.0")
	c, err := svg.Clean([]byte(`<path fill="currentColor" d="M10 20v-6h4v6h5v-8h3L12 3L2 12h3v8z"/>`), svg.Box{Width: 24, Height: 24})
	if err != nil {
		b.Fatal(err)
	}
	var all []Item
	for n := range icon.MaxBag {
		all = append(all, Item{Ref: icon.Ref{Pack: "mdi", Name: fmt.Sprint("home", n)}, Pack: p, SVG: c.SVG})
	}
	b.Run("zip", func(b *testing.B) {
		for b.Loop() {
			if _, err := Zip(all); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sprite", func(b *testing.B) {
		for b.Loop() {
			if _, err := Sprite(all); err != nil {
				b.Fatal(err)
			}
		}
	})
}
