package svg

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// iconifyTurn is a Turn in the form of @iconify/utils.
type iconifyTurn struct {
	Rotate       int
	HFlip, VFlip bool
}

// iconifyCases is the content of cases.json, which testdata/iconify/generate.mjs writes.
type iconifyCases struct {
	Cases []struct {
		Name, Body string
		Box        Box
		Turn       iconifyTurn
		Shown      []struct {
			Then iconifyTurn
			Size struct{ Width, Height int }
			SVG  string
		}
	}
	Numbers [][2]string
	Follows [][3]float64
}

func readIconify(t *testing.T) (c iconifyCases) {
	t.Helper()
	data, err := os.ReadFile("testdata/iconify/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &c); err != nil || len(c.Cases) < 100 {
		t.Fatalf("%d cases: %v", len(c.Cases), err)
	}
	return c
}

// TestTurnsAsIconify checks that an alias, turned when published and then turned and sized when
// requested, equals the output of Iconify's renderer for both.
func TestTurnsAsIconify(t *testing.T) {
	for _, c := range readIconify(t).Cases {
		d, err := CleanTurned([]byte(c.Body), c.Box, Turn{HFlip: c.Turn.HFlip, VFlip: c.Turn.VFlip, Rotate: c.Turn.Rotate})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		before := bytes.Clone(d.SVG)
		for _, s := range c.Shown {
			v := icon.Variant{Width: s.Size.Width, Height: s.Size.Height, Rotate: s.Then.Rotate, HFlip: s.Then.HFlip, VFlip: s.Then.VFlip}
			got, width, height, err := Transform(d.SVG, v)
			// Only our root names the colour of an icon of one colour.
			if err != nil || ownColor.ReplaceAllString(string(got), "$1") != s.SVG {
				t.Errorf("%s %+v, then %+v: %v\ngot  %s\nwant %s", c.Name, c.Turn, v, err, got, s.SVG)
			}
			if r, _, err := readRoot(got); err != nil || r.width != width || r.height != height {
				t.Errorf("%s: Transform returned %v by %v, but the root says %v by %v (%v)", c.Name, width, height, r.width, r.height, err)
			}
		}
		if !bytes.Equal(before, d.SVG) {
			t.Fatalf("%s: Transform changed its argument", c.Name)
		}
	}
}

var ownColor = regexp.MustCompile(`^(<svg [^>]*) color="#[0-9a-f]+"`)

func TestNumbersAsJavaScript(t *testing.T) {
	c := readIconify(t)
	for _, n := range c.Numbers {
		f, err := strconv.ParseFloat(n[0], 64)
		if got := viewbox.Number(f); err != nil || got != n[1] {
			t.Errorf("number(%s) = %s, want %s (%v)", n[0], got, n[1], err)
		}
	}
	for _, f := range c.Follows {
		if got := viewbox.Scaled(f[0], f[1]); got != f[2] {
			t.Errorf("scaledSide(%v, %v) = %v, want %v", f[0], f[1], got, f[2])
		}
	}
}

func TestTransformOfInvalidInput(t *testing.T) {
	good, err := Clean([]byte("<path/>"), Box{Width: 24, Height: 24})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "<svg/>", string(good.SVG[1:]), string(good.SVG[:len(good.SVG)-1]),
		`<svg xmlns="http://www.w3.org/2000/svg" width="x" height="24" viewBox="0 0 24 24"></svg>`,
		`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="24" viewBox="0 0 24"></svg>`,
		`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="24" viewBox="0 0 24 24" id="a"></svg>`,
		`<svg xmlns="http://www.w3.org/2000/svg" width="NaN" height="24" viewBox="0 0 24 24"></svg>`,
	} {
		if out, _, _, err := Transform([]byte(s), icon.Variant{Rotate: 1}); err == nil {
			t.Errorf("Transform(%s) = %s, want an error", s, out)
		}
	}
	// The one icon of the library without an area can still be transformed.
	flat, err := Clean([]byte("<path/>"), Box{Left: -28.989, Top: -29, Width: 0, Height: 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, w, h, err := Transform(flat.SVG, icon.Variant{Height: 48, Rotate: 1}); err != nil || w != 48 || h != 48 {
		t.Errorf("a box without area is %v by %v, %v; want 48 by 48", w, h, err)
	}
}
