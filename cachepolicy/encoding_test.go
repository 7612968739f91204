package cachepolicy

import (
	"slices"
	"testing"
)

func TestEncoding(t *testing.T) {
	both, three := []string{"br", "gzip"}, []string{"br", "gzip", "zstd"}
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
		{"only gzip is available", "gzip, br", []string{"gzip"}, Gzip},
		{"no coding is available", "gzip, br", nil, Identity},
		{"the highest weight, RFC 9110 section 12.5.3", "br;q=0.5, gzip", both, Gzip},
		{"br on a tie", "gzip;q=0.5, br;q=0.500", both, Brotli},
		{"br refused", "br;q=0, gzip", both, Gzip},
		{"any", "*", both, Brotli},
		{"any but br", "br;q=0, *", both, Gzip},
		{"none", "*;q=0", both, Identity},
		{"none but gzip", "*;q=0, gzip", both, Gzip},
		{"none but identity", "*;q=0, identity", both, Identity},
		{"identity preferred", "gzip;q=0.5, identity", both, Identity},
		{"gzip preferred to identity", "gzip;q=0.5, identity;q=0.1", both, Gzip},
		{"any coding preferred to identity", "*, identity;q=0.5", both, Brotli},
		{"anything but identity", "identity;q=0, *", both, Brotli},
		{"nothing acceptable", "identity;q=0, deflate", both, Identity},
		{"the smallest weight", "gzip;q=0.001", both, Gzip},
		{"without case", "GZIP;Q=1", both, Gzip},
		{"x-gzip, section 8.4.1.3", "x-gzip", both, Gzip},
		{"the lower of two weights", "br, br;q=0, gzip", both, Gzip},
		{"spaces", " br\t; q=1 , gzip;q=0.9", both, Brotli},
		{"a weight above 1", "br;q=1.001, gzip;q=0.1", both, Gzip},
		{"four digits", "br;q=0.9999, gzip;q=0.1", both, Gzip},
		{"no weight", "br;q=, gzip;q=0.1", both, Gzip},
		{"a weight that is no number", "br;q=NaN, gzip;q=0.1", both, Gzip},
		{"another parameter", "br;level=9, gzip;q=0.1", both, Gzip},
		{"longer names", "brotli, gzipped", both, Identity},
		{"empty elements", ",,gzip,", both, Gzip},
		{"Chromium, with zstd", "gzip, deflate, br, zstd", three, Brotli},
		{"zstd before gzip on a tie", "gzip, zstd", three, Zstd},
		{"zstd preferred", "gzip;q=0.9, br;q=0.9, ZSTD", three, Zstd},
		{"zstd refused", "zstd;q=0, *", three, Brotli},
		{"zstd is not available", "zstd, gzip;q=0.1", both, Gzip},
	} {
		if got := Encoding(c.header, c.have...); got != c.want {
			t.Errorf("%s: Encoding(%q, %v) = %q, want %q", c.name, c.header, c.have, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Encoding("gzip, deflate, br;q=0.9, zstd", "br", "gzip") }); n != 0 {
		t.Errorf("Encoding allocates %v times", n)
	}
}

func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		header string
		want   []string // of br, zstd, gzip, identity
	}{
		{"", []string{"identity"}},
		{"gzip, br", []string{"br", "gzip", "identity"}},
		{"zstd;q=0.1, x-gzip", []string{"zstd", "gzip", "identity"}},
		{"*", []string{"br", "zstd", "gzip", "identity"}},
		{"*;q=0", nil},
		{"*;q=0, identity", []string{"identity"}},
		{"identity;q=0, br", []string{"br"}},
		{"br;q=0, *", []string{"zstd", "gzip", "identity"}},
		{"deflate", []string{"identity"}},
	} {
		var got []string
		for _, coding := range []string{"br", "zstd", "gzip", "identity", "deflate"} {
			if Accepts(c.header, coding) {
				got = append(got, coding)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q accepts %q, want %q", c.header, got, c.want)
		}
	}
}

// Encoding returns an available coding, and never one that the client refuses with a weight of 0.
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
		for _, rejected := range have {
			if Encoding(header+", "+rejected+";q=0", have...) == rejected {
				t.Fatalf("Encoding(%q) is %q, which the client refuses", header, rejected)
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
