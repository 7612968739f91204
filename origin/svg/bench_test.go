package svg

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

var benchBody = []byte(`<g fill="none" stroke="currentColor" stroke-linecap="round" stroke-width="1.5"><path d="M2 12.204c0-2.289 0-3.433.52-4.381c.518-.949 1.467-1.537 ` +
	`3.364-2.715l2-1.241C9.889 2.622 10.892 2 12 2s2.11.622 4.116 1.867l2 1.241c1.897 1.178 2.846 1.766 3.365 2.715S22 9.915 22 12.203v1.522c0 3.9 0 5.851-1.172 7.063` +
	`S17.771 22 14 22h-4c-3.771 0-5.657 0-6.828-1.212S2 17.626 2 13.725z"/><path d="M12 15v3"/></g>`)

func BenchmarkClean(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(benchBody)))
	for b.Loop() {
		d, err := Clean(benchBody, Box{Width: 24, Height: 24})
		if err != nil || !d.Monochrome {
			b.Fatal(d, err)
		}
	}
}

func BenchmarkCleanDocument(b *testing.B) {
	doc, err := os.ReadFile("testdata/odd/illustrator.in.svg")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := CleanDocument(doc, true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTransform(b *testing.B) {
	d, err := Clean(benchBody, Box{Width: 24, Height: 24})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, w, _, err := Transform(d.SVG, icon.Variant{Height: 48, Rotate: 1}); err != nil || w != 48 {
			b.Fatal(w, err)
		}
	}
}
