package svg

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares with a file, or writes it: one is read by eyes, in git diff.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (after a look at what it gives, -update writes it)\n%s", err, got)
	}
	if string(want) != string(got) {
		t.Errorf("%s:\ngot  %s\nwant %s", file, got, want)
	}
}

// corpus lists the drawings of a folder of testdata.
func corpus(t testing.TB, folder string, least int) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.in.svg"))
	if err != nil || len(files) < least {
		t.Fatalf("%d drawings in %s, want %d (%v)", len(files), folder, least, err)
	}
	drawings := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		drawings[strings.TrimSuffix(file, ".in.svg")] = data
	}
	return drawings
}

// Each hostile drawing comes out harmless, as NAME.out.svg, or is refused, as NAME.out.txt says.
func TestHostile(t *testing.T) {
	for name, in := range corpus(t, "hostile", 600) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			d, err := CleanDocument(in, true)
			if err == nil {
				comesOut(t, name, d)
				return
			}
			if !errors.Is(err, ErrUnclean) {
				t.Errorf("%v does not wrap ErrUnclean", err)
			}
			golden(t, name+".out.txt", []byte(err.Error()+"\n"))
		})
	}
}

// Each odd drawing is one that browsers draw, and none may be refused.
func TestOdd(t *testing.T) {
	for name, in := range corpus(t, "odd", 100) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			d, err := CleanDocument(in, true)
			if err != nil {
				t.Fatalf("it is refused: %v", err)
			}
			comesOut(t, name, d)
		})
	}
}

// comesOut compares what came out with its golden file, and looks for what must not be in it.
func comesOut(t *testing.T, name string, d Drawing) {
	t.Helper()
	golden(t, name+".out.svg", append(d.SVG, '\n'))
	for _, fault := range faults(d.SVG) {
		t.Errorf("%s\n%s", fault, d.SVG)
	}
}

// One golden file stands for each drawing: those of drawings that are gone, or that have changed from one kind to the other,
// are not left behind.
func TestGoldenFiles(t *testing.T) {
	for _, folder := range []string{"hostile", "odd"} {
		outs, err := filepath.Glob(filepath.Join("testdata", folder, "*.out.*"))
		if err != nil {
			t.Fatal(err)
		}
		if in := corpus(t, folder, 1); len(outs) != len(in) {
			t.Errorf("%s has %d drawings and %d golden files", folder, len(in), len(outs))
		}
	}
}
