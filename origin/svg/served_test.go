package svg

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// Whatever form of a drawing is asked for, it is as harmless as the drawing: every hostile one that survives, and every odd
// one, in sizes, turns, flips and colours.
func TestServedForms(t *testing.T) {
	colours := []icon.Color{"#000", "#ff000080", "red", "transparent", "currentColor"}
	random := rand.New(rand.NewPCG(4, 7)) // any, but the same each time
	forms := 0
	for _, folder := range []string{"hostile", "odd"} {
		in := corpus(t, folder, 1)
		for _, name := range slices.Sorted(maps.Keys(in)) {
			d, err := CleanDocument(in[name], random.IntN(2) == 0)
			if err != nil {
				continue
			}
			for range 8 {
				v := icon.Variant{Width: random.IntN(icon.MaxSize + 1), Height: random.IntN(icon.MaxSize + 1), Rotate: random.IntN(4), HFlip: random.IntN(2) == 0, VFlip: random.IntN(2) == 0}
				served, _, _, err := Transform(d.SVG, v)
				if err != nil {
					t.Fatalf("%s as %+v: %v", name, v, err)
				}
				if d.Monochrome {
					served = icon.Recolour(served, colours[random.IntN(len(colours))])
				}
				checkServed(t, name, served)
				forms++
			}
		}
	}
	if forms < 3000 {
		t.Errorf("only %d forms were looked at", forms)
	}
}

// checkServed holds a form against the other reader, and against the cleaner itself, which finds nothing left to take.
func checkServed(t *testing.T, name string, served []byte) {
	t.Helper()
	for _, fault := range faults(served) {
		t.Errorf("%s: %s\n%s", name, fault, served)
	}
	again, err := CleanDocument(served, true)
	if err != nil {
		t.Errorf("%s: refused as it is served: %v\n%s", name, err, served)
		return
	}
	_, want, err1 := readRoot(served)
	if _, got, err2 := readRoot(again.SVG); err1 != nil || err2 != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: cleaned again it is (%v, %v)\n%s\nwas\n%s", name, err1, err2, again.SVG, served)
	}
}
