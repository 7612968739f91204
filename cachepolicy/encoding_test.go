package cachepolicy

import (
	"slices"
	"strings"
	"testing"
)

func TestEncoding(t *testing.T) {
	both, three := []string{"br", "gzip"}, []string{"br", "zstd", "gzip"}
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
		{"a tie in the order of have", "gzip, zstd, br", []string{"zstd", "br", "gzip"}, Zstd},
		{"a coding that an application adds", "x-own, br", []string{"x-own", "br"}, "x-own"},
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
		{"*", []string{"br", "zstd", "gzip", "identity", "compress"}},
		{"*;q=0", nil},
		{"*;q=0, identity", []string{"identity"}},
		{"identity;q=0, br", []string{"br"}},
		{"br;q=0, *", []string{"zstd", "gzip", "identity", "compress"}},
		{"deflate", []string{"identity"}},
		{"compress;q=0.1", []string{"identity", "compress"}}, // a coding that an application adds
	} {
		var got []string
		for _, coding := range []string{"br", "zstd", "gzip", "identity", "compress"} {
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

func TestNormalEncoding(t *testing.T) {
	for _, row := range []struct {
		lines string // with |: several
		want  string
	}{
		{"", "identity"}, {"gzip", "gzip"}, {"GZIP", "gzip"}, {"x-gzip", "gzip"}, {" gzip ;q=1.0 ", "gzip"},
		{"gzip, deflate, br, zstd", "gzip, br, zstd"}, {"zstd,br,gzip", "gzip, br, zstd"},
		{"gzip|br", "gzip, br"}, {"br;q=0.1, gzip;q=0.9", "gzip, br"}, {"gzip;q=0, br", "br"},
		{"gzip;q=0", "identity"}, {"deflate", "identity"}, {"identity", "identity"}, {"identity;q=0", "identity"},
		{"gzip, identity;q=0", "gzip"}, {"*", "gzip, br, zstd"}, {"*;q=0", "identity"}, {"gzip, *;q=0", "gzip"},
		{"*, br;q=0", "gzip, zstd"}, {"*;q=0.5, gzip;q=0", "br"}, {"identity;q=1, *;q=0", "identity"},
		{"identity, gzip;q=0.5", "identity"}, {"identity;q=0.5, gzip;q=0.5", "gzip"}, {"gzip;q=0.5, *;q=1", "br"},
		{"br, zstd", "br"}, {"zstd", "zstd"}, {"gzip, gzip;q=0", "identity"}, {"gzip;q=2", "identity"},
		{"gzip;q=x", "identity"}, {"gzip, br;level=4", "gzip"}, {",,gzip,", "gzip"}, {"gzip, x-1", "gzip"},
		{"dcb", "identity"}, {"gzip, br, zstd, dcb, dcz", "gzip, br, zstd"},
	} {
		if got := NormalEncoding(strings.Split(row.lines, "|"), false); got != row.want {
			t.Errorf("%q: %q, want %q", row.lines, got, row.want)
		}
	}
	if got := NormalEncoding(nil, true); got != "" {
		t.Errorf("no field: %q", got)
	}
	for list, want := range map[string]string{
		"gzip, br, zstd, dcb, dcz": "gzip, br, zstd, dcb, dcz", "DCZ, dcb;q=0.5, *": "gzip, br, zstd, dcb, dcz",
		"gzip, br, zstd, dcb, dcz;q=0": "gzip, br, zstd", "dcb, dcz": "identity", "gzip, br, zstd": "gzip, br, zstd", "*": "gzip, br, zstd",
	} {
		if got := NormalEncoding([]string{list}, true); got != want {
			t.Errorf("%q with a dictionary: %q, want %q", list, got, want)
		}
	}
}

// There are at most eight forms, and one more with a dictionary. A form has a form of its own, and
// names only codings that the client accepts, none of which it likes less than identity. Where the
// client does not weigh codings against each other, each coding is chosen as without the form.
func FuzzNormalEncoding(f *testing.F) {
	for _, list := range []string{"", "gzip, deflate, br, zstd", "*;q=0, br", "identity;q=1, *;q=0",
		"br;q=0.1,gzip;q=0.9", "gzip, br, zstd, dcb, dcz", "x-gzip;q=0, *"} {
		f.Add(list, false)
		f.Add(list, true)
	}
	forms := map[string]bool{"identity": true, "gzip": true, "br": true, "zstd": true, "gzip, br": true,
		"gzip, zstd": true, "gzip, br, zstd": true, "gzip, br, zstd, dcb, dcz": true}
	f.Fuzz(func(t *testing.T, list string, dictionary bool) {
		form := NormalEncoding([]string{list}, dictionary)
		if !forms[form] || !dictionary && strings.Contains(form, "dc") {
			t.Fatalf("%q has the form %q", list, form)
		}
		if again := NormalEncoding([]string{form}, dictionary); again != form {
			t.Fatalf("%q has the form %q, which has the form %q", list, form, again)
		}
		for coding := range strings.SplitSeq(form, ", ") {
			if coding == Gzip || coding == Brotli || coding == Zstd {
				if !Accepts(list, coding) || Encoding(list, coding) != coding {
					t.Fatalf("%q has the form %q, with %s, for which the client gets %s", list, form, coding, Encoding(list, coding))
				}
			}
		}
		codings := []string{Brotli, Zstd, Gzip}
		w := readWeights(list, codings...)
		for have := range 8 {
			var made []string
			unweighed := true
			for i, coding := range codings {
				if have&(1<<i) != 0 {
					made = append(made, coding)
					q := w.of(w.named[i])
					unweighed = unweighed && (q == 0 || q == 1000)
				}
			}
			before, after := Encoding(list, made...), Encoding(form, made...)
			if before != after && after != Identity && !Accepts(list, after) ||
				unweighed && before != after && !(form == Brotli && before == Zstd) {
				t.Fatalf("%q with %q: %s, and in the form %q %s", list, made, before, form, after)
			}
		}
	})
}
