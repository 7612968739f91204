package entry

import (
	"bytes"
	stdgzip "compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"github.com/iconedge/iconedge/edge/coding"
)

func addCodings(e *Entry) {
	e.AddCoding(Gzip)
	e.AddCoding(Brotli)
}

func TestCodings(t *testing.T) {
	icon := strings.Repeat(`<path d="M10 20v-6h4v6h5v-8h3L12 3 2 12h3v8z"/>`, 20)
	tests := []struct {
		name, media, body, accept string
		want                      Coding
	}{
		{"br is preferred", "image/svg+xml", icon, "gzip, br", Brotli},
		{"only gzip accepted", "application/json; charset=utf-8", icon, "gzip", Gzip},
		{"no Accept-Encoding", "image/svg+xml", icon, "", Identity},
		{"refused", "image/svg+xml", icon, "br;q=0, gzip;q=0", Identity},
		{"too small", "image/svg+xml", icon[:100], "br, gzip", Identity},
		{"a media type that does not compress", "image/png", icon, "br, gzip", Identity},
	}
	for _, tt := range tests {
		e := example("/"+tt.name, tt.body)
		e.ContentType = []byte(tt.media)
		addCodings(e)
		v, coding := e.Choose(tt.accept)
		if coding != tt.want {
			t.Errorf("%s: coding %v, want %v", tt.name, coding, tt.want)
			continue
		}
		want := map[Coding]string{Identity: `"tag"`, Gzip: `"tag-gzip"`, Brotli: `"tag-br"`}[coding]
		if v.ETag != want {
			t.Errorf("%s: entity tag %s, want %s", tt.name, v.ETag, want)
		}
		if got := decode(t, coding, v.Body); got != tt.body {
			t.Errorf("%s: decoded to %d bytes, not the %d of the body", tt.name, len(got), len(tt.body))
		}
	}
}

func TestInflate(t *testing.T) {
	body := []byte(strings.Repeat("<path/>", 100))
	coded := coding.Encode(Gzip, body)
	if got, err := Inflate(coded, len(body)); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%q, %v", got, err)
	}
	change := func(at int) []byte {
		c := bytes.Clone(coded)
		c[at] ^= 1
		return c
	}
	last := len(coded) - 1
	for why, wrong := range map[string][]byte{
		"empty": nil, "no gzip": body, "cut off": coded[:last], "a byte too many": append(bytes.Clone(coded), 0),
		"two members":      append(bytes.Clone(coded), coded...),
		"another checksum": change(last - 7), "another length": change(last - 3), "far too long": change(last),
		"another magic": change(0), "other data": change(15),
	} {
		if got, err := Inflate(wrong, 1<<30); err == nil {
			t.Errorf("%s: %q, want an error", why, got)
		}
	}
	if _, err := Inflate(coded, len(body)-1); err == nil {
		t.Error("a body above the limit: no error")
	}
}

// What Inflate accepts, the standard library reads as the same body.
func FuzzInflate(f *testing.F) {
	f.Add(coding.Encode(Gzip, []byte("<svg/>")))
	f.Add(coding.Encode(Gzip, nil))
	f.Add(append(coding.Encode(Gzip, []byte("a")), coding.Encode(Gzip, []byte("b"))...))
	f.Fuzz(func(t *testing.T, coded []byte) {
		got, err := Inflate(coded, 1<<20)
		if err != nil {
			return
		}
		r, err := stdgzip.NewReader(bytes.NewReader(coded))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("Inflate: %q, the standard library: %q, %v", got, want, err)
		}
	})
}

func TestConfirmedKeepsCodings(t *testing.T) {
	e := example("/a", strings.Repeat("abc ", 200))
	addCodings(e)
	n := e.CopyConfirmed()
	addCodings(n)
	if n.Variant(Brotli) != e.Variant(Brotli) || n.Variant(Brotli) == nil || n.Variant(Gzip) != e.Variant(Gzip) {
		t.Error("a confirmed entry lacks the codings of the old one")
	}
	plain := example("/b", strings.Repeat("abc ", 200))
	plain.DisableCodings()
	n = plain.CopyConfirmed()
	addCodings(n)
	if n.Variant(Brotli) != nil {
		t.Error("AddCoding added codings to the confirmed copy of an entry with AsItIs")
	}
	// AddCoding ignores an entry whose body is still arriving.
	addCodings(&Entry{ContentType: []byte("text/plain")})
}

func TestSuffixed(t *testing.T) {
	for _, row := range []struct{ etag, want string }{{`"abc"`, `"abc-br"`}, {`W/"abc"`, `W/"abc-br"`}, {"", ""}} {
		if got := Suffixed(row.etag, "br"); got != row.want {
			t.Errorf("Suffixed(%q) = %q, want %q", row.etag, got, row.want)
		}
	}
}

func decode(t *testing.T, c Coding, b []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(b)
	var err error
	switch c {
	case Gzip:
		r, err = gzip.NewReader(r)
	case Brotli:
		r = brotli.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
