package cachepolicy

import (
	"slices"
	"testing"
)

func TestEncoding(t *testing.T) {
	both := []string{"br", "gzip"}
	for _, c := range []struct {
		name   string
		header string
		have   []string
		want   string
	}{
		{"no field", "", both, Identity},
		{"Chromium", "gzip, deflate, br, zstd", both, Brotli},
		{"Safari", "gzip, deflate, br", both, Brotli},
		{"curl --compressed without brotli", "deflate, gzip", both, Gzip},
		{"only gzip is there", "gzip, br", []string{"gzip"}, Gzip},
		{"nothing is there", "gzip, br", nil, Identity},
		{"what it likes best, RFC 9110 section 12.5.3", "br;q=0.5, gzip", both, Gzip},
		{"on a tie br", "gzip;q=0.5, br;q=0.500", both, Brotli},
		{"not that one", "br;q=0, gzip", both, Gzip},
		{"any", "*", both, Brotli},
		{"any but", "br;q=0, *", both, Gzip},
		{"none", "*;q=0", both, Identity},
		{"none but", "*;q=0, gzip", both, Gzip},
		{"none but identity", "*;q=0, identity", both, Identity},
		{"identity is liked better", "gzip;q=0.5, identity", both, Identity},
		{"identity is liked less", "gzip;q=0.5, identity;q=0.1", both, Gzip},
		{"identity is liked less than any", "*, identity;q=0.5", both, Brotli},
		{"anything but identity", "identity;q=0, *", both, Brotli},
		{"nothing will do", "identity;q=0, deflate", both, Identity},
		{"the smallest weight", "gzip;q=0.001", both, Gzip},
		{"without case", "GZIP;Q=1", both, Gzip},
		{"x-gzip, section 8.4.1.3", "x-gzip", both, Gzip},
		{"of two the lower", "br, br;q=0, gzip", both, Gzip},
		{"spaces", " br\t; q=1 , gzip;q=0.9", both, Brotli},
		{"a weight above 1", "br;q=1.001, gzip;q=0.1", both, Gzip},
		{"four digits", "br;q=0.9999, gzip;q=0.1", both, Gzip},
		{"no weight", "br;q=, gzip;q=0.1", both, Gzip},
		{"a name that begins alike", "brotli, gzipped", both, Identity},
		{"empty elements", ",,gzip,", both, Gzip},
	} {
		if got := Encoding(c.header, c.have...); got != c.want {
			t.Errorf("%s: Encoding(%q, %v) = %q, want %q", c.name, c.header, c.have, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Encoding("gzip, deflate, br;q=0.9, zstd", "br", "gzip") }); n != 0 {
		t.Errorf("Encoding allocates %v times", n)
	}
}

// What is chosen is there, and is nothing that a client refuses with a q of 0.
func FuzzEncoding(f *testing.F) {
	for _, s := range []string{"gzip, deflate, br", "*;q=0", "identity;q=0", "br;q=1.000, gzip;q=0.5", ";;;", "br;q="} {
		f.Add(s, true, true)
	}
	f.Fuzz(func(t *testing.T, header string, br, gzip bool) {
		var have []string
		if br {
			have = append(have, Brotli)
		}
		if gzip {
			have = append(have, Gzip)
		}
		got := Encoding(header, have...)
		if got != Identity && !slices.Contains(have, got) {
			t.Fatalf("Encoding(%q, %v) = %q", header, have, got)
		}
		for _, refused := range have {
			if Encoding(header+", "+refused+";q=0", have...) == refused {
				t.Fatalf("Encoding(%q) is %q though it is refused", header, refused)
			}
		}
	})
}

func BenchmarkEncoding(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if Encoding("gzip, deflate, br, zstd", "br", "gzip") != Brotli {
			b.Fatal("not br")
		}
	}
}
