// Package likeness tests that icons look as they should when they are cleaned and drawn.
package likeness

import (
	"errors"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon/raster"
	"github.com/iconedge/iconedge/origin/svg"
)

// TestLibraryResvg draws the cases of the test suite of resvg in the folder that ICONEDGE_RESVG
// names, and compares them with the pictures beside them. testdata/resvg.txt lists the cases that
// may differ, with the reason.
func TestLibraryResvg(t *testing.T) {
	folder := os.Getenv("ICONEDGE_RESVG")
	if folder == "" {
		t.Skip("ICONEDGE_RESVG does not name the folder of the test suite of resvg")
	}
	reasons := readReasons(t)
	count := map[string]int{}
	for _, file := range cases(t, folder) {
		name, _ := filepath.Rel(folder, strings.TrimSuffix(file, ".svg"))
		reason, listed := reasons[name]
		delete(reasons, name)
		got := compareCase(t, file)
		kind, _, _ := strings.Cut(reason, ":")
		switch {
		case got == "refused":
			count["refused by the cleaner"]++
		case got == "" && listed:
			t.Errorf("%s is right, but is listed with %q", name, reason)
		case got == "":
			count["right"]++
		case !listed:
			count["wrong"]++
			t.Errorf("%s: %s", name, got)
		default:
			count[kind]++
			t.Logf("%s: %s (%s)", name, reason, got)
		}
	}
	for name := range reasons {
		t.Errorf("%s is listed, but is no case", name)
	}
	concerned := count["right"] + count["wrong"] + count["missed"]
	share := 100 * float64(count["right"]) / float64(concerned)
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%4d %s", count[kind], kind)
	}
	if t.Logf("%.1f %% of the %d cases that concern icons are right", share, concerned); share < 97 {
		t.Errorf("%.1f %% are right, want 97 %%", share)
	}
}

// readReasons reads testdata/resvg.txt: on each line a case, and the reason why it may differ. The
// word before the colon of a reason is its kind: "missed" counts as wrong, the others do not
// concern icons, are the cleaner's, or are drawn as Chromium draws them.
func readReasons(t *testing.T) map[string]string {
	data, err := os.ReadFile("testdata/resvg.txt")
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, reason, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			reasons[name] = strings.TrimSpace(reason)
		}
	}
	return reasons
}

func cases(t *testing.T, folder string) (files []string) {
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".svg" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	return files
}

// compareCase returns "" if a case looks right, and otherwise the fault.
func compareCase(t *testing.T, file string) string {
	want := readPNG(t, strings.TrimSuffix(file, ".svg")+".png")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	clean, err := svg.CleanDocument(source, true)
	if err != nil {
		return "refused"
	}
	size := want.Bounds().Size()
	got, err := raster.Draw(clean.SVG, size.X, size.Y, color.Black)
	switch {
	case errors.Is(err, raster.ErrUnsupported):
		return strings.TrimPrefix(err.Error(), raster.ErrUnsupported.Error()+": ")
	case err != nil:
		return err.Error()
	case different(got, want) > size.X*size.Y/100:
		return "another picture"
	}
	return ""
}

func readPNG(t *testing.T, file string) image.Image {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(file, err)
	}
	return img
}

// different counts the pixels in which a channel differs by more than 24 of 255.
func different(a *image.RGBA, b image.Image) (n int) {
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			p, q := a.RGBAAt(x, y), color.RGBAModel.Convert(b.At(x, y)).(color.RGBA)
			if max(apart(p.R, q.R), apart(p.G, q.G), apart(p.B, q.B), apart(p.A, q.A)) > 24 {
				n++
			}
		}
	}
	return n
}

func apart(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }
