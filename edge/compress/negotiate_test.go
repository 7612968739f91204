package compress

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
)

func TestCompressible(t *testing.T) {
	text := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	with := func(h http.Header, name, value string) http.Header {
		h = h.Clone()
		h[name] = append(h[name], value)
		return h
	}
	kind := func(s string) http.Header { return http.Header{"Content-Type": {s}} }
	for _, row := range []struct {
		name   string
		status int
		h      http.Header
		length int64
		want   bool
	}{
		{"a page", 200, text, 5000, true},
		{"of unknown length", 200, text, -1, true},
		{"an error", 404, text, 5000, true},
		{"too short", 200, text, 1023, false},
		{"just long enough", 200, text, 1024, true},
		{"too long", 200, text, 16<<20 + 1, false},
		{"empty", 200, text, 0, false},
		{"a part", 206, text, 5000, false},
		{"a part by its field", 200, with(text, "Content-Range", "bytes 0-4999/9999"), 5000, false},
		{"coded by the origin", 200, with(text, "Content-Encoding", "gzip"), 5000, false},
		{"coded as identity by the origin", 200, with(text, "Content-Encoding", "identity"), 5000, false},
		{"no-transform", 200, with(text, "Cache-Control", "max-age=60, no-transform"), 5000, false},
		{"No-Transform in a second line", 200, with(with(text, "Cache-Control", "max-age=60"), "Cache-Control",
			"No-Transform"), 5000, false},
		{"no-transform for CDNs", 200, with(text, "Cdn-Cache-Control", "max-age=60, no-transform"), 5000, false},
		{"no-transform in quotes", 200, with(text, "Cache-Control", `x="no-transform"`), 5000, true},
		{"a digest of its bytes", 200, with(text, "Repr-Digest", "sha-256=:AA==:"), 5000, false},
		{"an old digest", 200, with(text, "Content-Md5", "AA=="), 5000, false},
		{"signed", 200, with(text, "Signature-Input", "a=()"), 5000, false},
		{"without a type", 200, http.Header{}, 5000, false},
		{"JSON", 200, kind("application/json"), 5000, true},
		{"JSON of a kind", 200, kind("application/vnd.api+json; v=1"), 5000, true},
		{"in capitals", 200, kind(" Application/XML "), 5000, true},
		{"SVG", 200, kind("image/svg+xml"), 5000, true},
		{"WebAssembly", 200, kind("application/wasm"), 5000, true},
		{"a font", 200, kind("font/ttf"), 5000, true},
		{"a compressed font", 200, kind("font/woff2"), 5000, false},
		{"a photograph", 200, kind("image/jpeg"), 5000, false},
		{"a video", 200, kind("video/mp4"), 5000, false},
		{"an archive", 200, kind("application/zip"), 5000, false},
		{"unknown bytes", 200, kind("application/octet-stream"), 5000, false},
		{"events", 200, kind("text/event-stream"), -1, false},
		{"calls", 200, kind("application/grpc"), 5000, false},
	} {
		if got := Compressible(row.status, row.h, row.length); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// Vary gets Accept-Encoding once, and the origin's Vary comes back exactly.
func TestVary(t *testing.T) {
	for _, row := range []struct{ in, want []string }{
		{nil, []string{"Accept-Encoding"}},
		{[]string{"Origin"}, []string{"Origin, Accept-Encoding"}},
		{[]string{"origin ,Accept"}, []string{"origin ,Accept, Accept-Encoding"}},
		{[]string{"Origin", "Accept"}, []string{"Origin", "Accept, Accept-Encoding"}},
		{[]string{"Accept-Encoding"}, []string{"Accept-Encoding"}},
		{[]string{"Origin, accept-encoding"}, []string{"Origin, accept-encoding"}},
		{[]string{"accept-encoding", "Origin"}, []string{"accept-encoding", "Origin"}},
		{[]string{"X-Accept-Encoding"}, []string{"X-Accept-Encoding, Accept-Encoding"}},
	} {
		h := http.Header{"Vary": row.in}
		names, _ := cachepolicy.VaryNames(h)
		fields := []cache.Field{{Name: []byte("A"), Value: []byte("1")}}
		for _, line := range row.in {
			fields = append(fields, cache.Field{Name: []byte("Vary"), Value: []byte(line)})
		}
		before := len(fields)
		var got []string
		for _, f := range AddVary(fields, names) {
			if string(f.Name) == "Vary" {
				got = append(got, string(f.Value))
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("Vary %q becomes %q, want %q", row.in, got, row.want)
		}
		if len(fields) != before || len(row.in) > 0 && string(fields[before-1].Value) != row.in[len(row.in)-1] {
			t.Errorf("Vary %q: the fields of the origin were changed", row.in)
		}
		h["Vary"] = got
		if RemoveVary(h, names); !slices.Equal(h["Vary"], row.in) {
			t.Errorf("Vary %q comes back as %q", row.in, h["Vary"])
		}
	}
	h := http.Header{}
	if RemoveVary(h, nil); len(h) > 0 {
		t.Errorf("fields without Vary become %v", h)
	}
}

func TestChoose(t *testing.T) {
	short, long := entrytest.New("/short", text), entrytest.New("/long", strings.Repeat(text, 400))
	some := entrytest.New("/some", text)
	some.SetCoded(entry.Gzip, []byte("coded"))
	for _, row := range []struct {
		name        string
		e           *cache.Entry
		accept      string
		got, wanted entry.Coding
	}{
		{"a browser", short, "gzip, deflate, br, zstd", entry.Identity, entry.Brotli},
		{"a long body", long, "gzip, deflate, br, zstd", entry.Identity, entry.Zstd},
		{"a long body without zstd", long, "gzip, br", entry.Identity, entry.Gzip},
		{"another coding until then", some, "gzip, br", entry.Gzip, entry.Brotli},
		{"the coding that is there", some, "gzip", entry.Gzip, entry.Gzip},
		{"none", some, "deflate", entry.Identity, entry.Identity},
		{"identity preferred", some, "identity, gzip;q=0.5", entry.Identity, entry.Identity},
	} {
		if got, wanted := Choose(row.e, row.accept); got != row.got || wanted != row.wanted {
			t.Errorf("%s: %s, wanted %s; want %s, %s", row.name, got, wanted, row.got, row.wanted)
		}
	}
}

func TestHeld(t *testing.T) {
	const etag = `"abc"`
	br, gz := Tag(etag, entry.Brotli), Tag(etag, entry.Gzip)
	for _, row := range []struct{ name, held, accept, chosen, want string }{
		{"the chosen one", br, "br, gzip", br, br},
		{"identity, before the coding was made", etag, "br", br, etag},
		{"the coding, which is not made any more", br, "br", etag, br},
		{"another coding", gz, "br, gzip", br, gz},
		{"a coding that the client does not accept", br, "gzip", gz, gz},
		{"a coding, without Accept-Encoding", br, "", etag, etag},
		{"identity, which the client does not accept", etag, "br, identity;q=0", br, br},
		{"all, of which the chosen one is the best", etag + ", " + gz + ", " + br, "br, gzip", br, br},
		{"weak comparison", "W/" + br, "br", etag, br},
		{"any", "*", "br", br, br},
		{"another version", Tag(`"abd"`, entry.Brotli), "br", br, br},
		{"malformed", br + `"`, "br", etag, etag},
	} {
		if got := Held(row.held, row.accept, etag, row.chosen); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
	if got := Held(br, "br", "", ""); got != "" {
		t.Errorf("a response without a tag gets %s", got)
	}
}

// Text of at least 1 KiB and events are coded while they are sent, whatever their length, but
// nothing that will be stored without codings.
func TestSendable(t *testing.T) {
	type whether bool
	const toOne, stored, plain, coded whether = false, true, false, true
	kind := func(s string) http.Header { return http.Header{"Content-Type": {s}} }
	for _, row := range []struct {
		name   string
		status int
		h      http.Header
		length int64
		stored whether
		want   whether
	}{
		{"a page", 200, kind("text/html"), 5000, toOne, coded},
		{"an error", 500, kind("application/problem+json"), 5000, toOne, coded},
		{"of unknown length", 200, kind("text/html"), -1, toOne, coded},
		{"too short", 200, kind("text/html"), 1023, toOne, plain},
		{"long", 200, kind("text/csv"), 1 << 30, toOne, coded},
		{"long, about to be stored", 200, kind("text/csv"), 1 << 30, stored, plain},
		{"about to be stored", 200, kind("text/csv"), 5000, stored, coded},
		{"events", 200, kind("text/event-stream; charset=utf-8"), -1, toOne, coded},
		{"a picture", 200, kind("image/png"), -1, toOne, plain},
		{"a call of gRPC", 200, kind("application/grpc"), -1, toOne, plain},
		{"a call of gRPC in JSON", 200, kind("application/grpc+json"), -1, toOne, plain},
		{"a call of gRPC-Web", 200, kind("Application/grpc-web-text+json"), -1, toOne, plain},
		{"a call of Connect", 200, kind("application/connect+json"), -1, toOne, plain},
		{"no-transform", 200, http.Header{"Content-Type": {"text/html"}, "Cache-Control": {"private, no-transform"}}, 5000, toOne, plain},
		{"coded", 200, http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"br"}}, 5000, toOne, plain},
		{"a part", 206, kind("text/html"), 5000, toOne, plain},
		{"no content", 204, kind("text/html"), -1, toOne, plain},
		{"reset", 205, kind("text/html"), -1, toOne, plain},
		{"not modified", 304, kind("text/html"), -1, toOne, plain},
	} {
		if got := Sendable(row.status, row.h, row.length, bool(row.stored)); got != bool(row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
