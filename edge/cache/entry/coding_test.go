package entry

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
)

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
		e.AddCodings()
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

func TestConfirmedKeepsCodings(t *testing.T) {
	e := example("/a", strings.Repeat("abc ", 200))
	e.AddCodings()
	n := e.CopyConfirmed()
	n.AddCodings()
	if n.Variant(Brotli) != e.Variant(Brotli) || n.Variant(Brotli) == nil || n.Variant(Gzip) != e.Variant(Gzip) {
		t.Error("a confirmed entry lacks the codings of the old one")
	}
	plain := example("/b", strings.Repeat("abc ", 200))
	plain.DisableCodings()
	n = plain.CopyConfirmed()
	n.AddCodings()
	if n.Variant(Brotli) != nil {
		t.Error("AddCodings added codings to the confirmed copy of an entry with AsItIs")
	}
	// AddCodings ignores an entry whose body is still arriving.
	(&Entry{ContentType: []byte("text/plain")}).AddCodings()
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
