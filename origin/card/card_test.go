package card

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func pack(name, author, spdx string) *icon.Pack {
	p := &icon.Pack{Key: "mdi", Name: name, Author: author, Count: 7447}
	p.SetLicense(icon.License{SPDX: spdx, Title: spdx + " License"})
	return p
}

// svgOf returns an SVG of 24 by 24.
func svgOf(inside string) []byte {
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24">` + inside + `</svg>`)
}

const home = `<path fill="currentColor" d="M10 20v-6h4v6h5v-8h3L12 3L2 12h3v8z"/>`

// TestCards checks size and repeatability of each kind of card. With ICONEDGE_CARDS=DIR it writes
// them there, for the eyes of a person.
func TestCards(t *testing.T) {
	mdi := pack("Material Design Icons", "Pictogrammers", "Apache-2.0")
	long := strings.Repeat("an-icon-of-many-words-", 5) + strings.Repeat("x", 128)
	hostile := pack("\x00<svg onload=alert(1)>\n\u202e房子🏠", strings.Repeat("W", 5000), "CC-BY-NC-4.0")
	for name, make := range map[string]func() ([]byte, error){
		"icon":  func() ([]byte, error) { return Icon(mdi, "home", svgOf(home)) },
		"white": func() ([]byte, error) { return Icon(mdi, "white", svgOf(`<path fill="#fff" d="M2 2h20v20z"/>`)) },
		"wide": func() ([]byte, error) {
			return Icon(mdi, "wide", []byte(`<svg viewBox="0 0 100 10"><path d="M0 0h100v10H0z"/></svg>`))
		},
		"refused":   func() ([]byte, error) { return Icon(mdi, "text", svgOf(`<text>a</text>`)) },
		"invisible": func() ([]byte, error) { return Icon(mdi, "nothing", svgOf(``)) },
		"long":      func() ([]byte, error) { return Icon(mdi, long, svgOf(home)) },
		"hostile":   func() ([]byte, error) { return Icon(hostile, "home", svgOf(home)) },
		"pack": func() ([]byte, error) {
			return Pack(mdi, [][]byte{svgOf(home), svgOf(`<text/>`), svgOf(home), svgOf(home), svgOf(home)})
		},
		"many":        func() ([]byte, error) { return Pack(mdi, slices.Repeat([][]byte{svgOf(home)}, 20)) },
		"no samples":  func() ([]byte, error) { return Pack(hostile, nil) },
		"not an icon": func() ([]byte, error) { return Icon(mdi, "x", []byte("\xff")) },
	} {
		got, err := make()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if dir := os.Getenv("ICONEDGE_CARDS"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".png"), got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		img, err := png.Decode(bytes.NewReader(got))
		if err != nil || img.Bounds().Dx() != Width || img.Bounds().Dy() != Height {
			t.Errorf("%s: no PNG of the size of a card: %v", name, err)
		}
		if again, _ := make(); !bytes.Equal(again, got) {
			t.Errorf("%s: two cards differ", name)
		}
		if len(got) > 200_000 {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

func TestWrapped(t *testing.T) {
	width := func(s string) float64 { return float64(len([]rune(s))) }
	for _, tt := range []struct {
		text string
		max  int
		want []string
	}{
		{"home", 2, []string{"home"}},
		{"arrow-left", 2, []string{"arrow-", "left"}},
		{"a b c d", 2, []string{"a b c d"}},
		{"one two three", 2, []string{"one two", "three"}},
		{"one two three four five", 2, []string{"one two", "three…"}},
		{"incomprehensible", 3, []string{"incompre", "hensible"}},
		{"incomprehensible", 1, []string{"incompr…"}},
		{"", 2, nil},
		{"ääääääääää", 2, []string{"ääääääää", "ää"}},
	} {
		got := wrapped(tt.text, 8, tt.max, width)
		if !slices.Equal(got, tt.want) {
			t.Errorf("wrapped(%q, 8, %d) = %q, want %q", tt.text, tt.max, got, tt.want)
		}
	}
}

func BenchmarkIcon(b *testing.B) {
	p := pack("Material Design Icons", "Pictogrammers", "Apache-2.0")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Icon(p, "home", svgOf(home)); err != nil {
			b.Fatal(err)
		}
	}
}
