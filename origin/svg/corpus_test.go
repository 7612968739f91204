package svg

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

// corpus reads the SVGs of a folder of testdata, and fails if there are fewer than least.
func corpus(t testing.TB, folder string, least int) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.in.svg"))
	if err != nil || len(files) < least {
		t.Fatalf("%d SVGs in %s, want at least %d (%v)", len(files), folder, least, err)
	}
	svgs := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		svgs[strings.TrimSuffix(file, ".in.svg")] = data
	}
	return svgs
}

// TestHostile checks that each hostile SVG becomes harmless, as in NAME.out.svg, or is refused with
// the error in NAME.out.txt.
func TestHostile(t *testing.T) {
	for name, in := range corpus(t, "hostile", 600) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			d, err := CleanDocument(in, true)
			if err == nil {
				checkOutput(t, name, d)
				return
			}
			if !errors.Is(err, ErrUnclean) {
				t.Errorf("%v does not wrap ErrUnclean", err)
			}
			golden.Check(t, name+".out.txt", []byte(err.Error()+"\n"))
		})
	}
}

// TestBombs checks that no small SVG occupies the cleaner for long, or gigabytes of memory. Before,
// each of these took from minutes to hours.
func TestBombs(t *testing.T) {
	long, paths := strings.Repeat("a ", 30<<10), strings.Repeat(`<path d="M0"/>`, 20_000)
	for name, content := range map[string]string{
		"class": "<style>" + strings.Repeat(strings.Repeat(".x", 16)+"{fill:red}", 15_000) + "</style>" +
			strings.Repeat(`<path class="`+strings.Repeat("a ", 511)+`x"/>`, 330),
		"paint":  "<style>path{fill:" + long + "}</style>" + paths,
		"filter": "<style>path{filter:" + long + "}</style>" + paths, "mask": "<style>path{mask:" + long + "}</style>" + paths,
		"marker":       `<g marker="` + long + `url(#m)">` + paths + "</g>",
		"variable":     `<style>path{--x:` + long + `url(#m)}</style><marker id="m"/>` + paths,
		"references":   `<style>path{` + strings.Repeat("--x:url(#m);", 20_000) + `}</style><marker id="m"/>` + paths,
		"declarations": "<style>path{" + strings.Repeat("a:b;", 100_000) + "}</style>" + paths,
		"selectors":    "<style>" + strings.Repeat(":not(a),", 20_000) + "a{fill:" + long + "}</style>",
	} {
		doc := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">` + content + "</svg>"
		d, err := CleanDocument([]byte(doc), false)
		if err != nil && !errors.Is(err, ErrUnclean) {
			t.Errorf("%s: %v", name, err)
		}
		if len(d.SVG) > 4<<20 {
			t.Errorf("%s: %d bytes became %d", name, len(doc), len(d.SVG))
		}
	}
}

// TestOdd checks that unusual SVGs which browsers render are never refused.
func TestOdd(t *testing.T) {
	for name, in := range corpus(t, "odd", 100) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			d, err := CleanDocument(in, true)
			if err != nil {
				t.Fatalf("it is refused: %v", err)
			}
			checkOutput(t, name, d)
		})
	}
}

// TestDrawn checks that SVGs as designers' programs write them are never refused. TestDrawnSVGs in
// cmd/iconedge compares their pictures in a browser with those of the clean forms.
func TestDrawn(t *testing.T) {
	for name, in := range corpus(t, "drawn", 80) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			d, err := CleanDocument(in, true)
			if err != nil {
				t.Fatalf("it is refused: %v", err)
			}
			checkOutput(t, name, d)
			checkClean(t, d, cleanAgain)
		})
	}
}

// checkOutput compares a clean SVG with its golden file, and looks for content that is not allowed.
func checkOutput(t *testing.T, name string, d Icon) {
	t.Helper()
	golden.Check(t, name+".out.svg", append(d.SVG, '\n'))
	for _, fault := range faults(d.SVG) {
		t.Errorf("%s\n%s", fault, d.SVG)
	}
}

// TestGoldenFiles checks that each SVG has exactly one golden file, so that none is left behind
// when an SVG is removed or changes from accepted to refused.
func TestGoldenFiles(t *testing.T) {
	for _, folder := range []string{"hostile", "odd", "drawn"} {
		outs, err := filepath.Glob(filepath.Join("testdata", folder, "*.out.*"))
		if err != nil {
			t.Fatal(err)
		}
		if in := corpus(t, folder, 1); len(outs) != len(in) {
			t.Errorf("%s has %d SVGs and %d golden files", folder, len(in), len(outs))
		}
	}
}
