package svg

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// TestServedForms checks that every variant of a clean icon is as harmless as the icon: all hostile
// and odd SVGs that are accepted, in random sizes, rotations, flips and colours.
func TestServedForms(t *testing.T) {
	colours := []icon.Color{"#000000", "#ff000080", "#ff0000", "#00000000", "#abcdef"}
	random := rand.New(rand.NewPCG(4, 7)) // a fixed seed repeats the same variants
	variants := 0
	for _, folder := range []string{"hostile", "odd", "drawn"} {
		in := corpus(t, folder, 1)
		for _, name := range slices.Sorted(maps.Keys(in)) {
			d, err := CleanDocument(in[name], random.IntN(2) == 0)
			if err != nil || bytes.HasSuffix(d.SVG, []byte(`"></svg>`)) {
				continue // refused, or without content, of which a turn makes an empty group
			}
			for range 8 {
				v := icon.Variant{Width: random.IntN(icon.MaxSize + 1), Height: random.IntN(icon.MaxSize + 1),
					Rotate: random.IntN(4), HFlip: random.IntN(2) == 0, VFlip: random.IntN(2) == 0,
					ID: []string{"", "p-", "1_"}[random.IntN(3)]}
				plain := d.SVG
				dark := d.Monochrome && random.IntN(2) == 0
				if dark {
					light := append(colours, "")[random.IntN(len(colours)+1)]
					if plain, err = Darken(plain, light, colours[random.IntN(len(colours))]); err != nil {
						t.Fatalf("%s on dark pages: %v", name, err)
					}
				}
				served, _, _, err := Transform(plain, v)
				if err != nil {
					t.Fatalf("%s as %+v: %v", name, v, err)
				}
				if d.Monochrome && !dark {
					served = icon.Recolour(served, colours[random.IntN(len(colours))])
				}
				checkServed(t, name, served)
				variants++
			}
		}
	}
	if variants < 3000 {
		t.Errorf("only %d variants were checked", variants)
	}
}

// checkServed checks a variant with faults, and with the cleaner, which must not remove anything.
func checkServed(t *testing.T, name string, served []byte) {
	t.Helper()
	for _, fault := range faults(served) {
		t.Errorf("%s: %s\n%s", name, fault, served)
	}
	body, box, err := Body(served)
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, served)
		return
	}
	again, err := cleanAsIs(body, box) // a document would get names of its content
	if err != nil {
		t.Errorf("%s: the variant is refused: %v\n%s", name, err, served)
		return
	}
	_, want, err1 := readRoot(served)
	if _, got, err2 := readRoot(again.SVG); err1 != nil || err2 != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: cleaned again (%v, %v):\n%s\nbefore:\n%s", name, err1, err2, again.SVG, served)
	}
}
