package wire

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

const splitHead = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 12\r\nContent-Type: " +
	"image/svg+xml\r\nEtag: \"a\"\r\nLast-Modified: Wed, 21 Oct 2026 07:28:00 GMT\r\n" +
	"Link: <a>; rel=\"license\"\r\nSurrogate-Key: a b\r\nDate: Thu, 26 Nov 2026 08:00:00 GMT\r\n\r\n"

func TestSplit(t *testing.T) {
	lines, v, n, ok := Split(nil, []byte(splitHead+"<svg/>"))
	want := Values{`"a"`, "Wed, 21 Oct 2026 07:28:00 GMT", "a b", "Thu, 26 Nov 2026 08:00:00 GMT", 12}
	if !ok || n != len(splitHead) || v != want || string(lines) != "Cache-Control: max-age=60\r\nContent-Type: "+
		"image/svg+xml\r\nLink: <a>; rel=\"license\"\r\n" {
		t.Errorf("%q, %+v, %d, %v", lines, v, n, ok)
	}
	for why, text := range map[string]string{
		"another status":      strings.Replace(splitHead, "200 OK", "404 Not Found", 1),
		"HTTP/1.0":            strings.Replace(splitHead, "1.1", "1.0", 1),
		"no length":           strings.Replace(splitHead, "Content-Length", "X", 1),
		"two lengths":         strings.Replace(splitHead, "Link: ", "Content-Length: 12\r\nLink: ", 1),
		"a signed length":     strings.Replace(splitHead, " 12", " +12", 1),
		"a space behind":      strings.Replace(splitHead, " 12", " 12 ", 1),
		"a control byte":      strings.Replace(splitHead, "\"a\"", "\"\x01\"", 1),
		"LF alone":            strings.Replace(splitHead, "\r\nLink", "\nLink", 1),
		"LF alone at the end": strings.TrimSuffix(splitHead, "\r\n") + "\n",
		"an edge's spelling":  strings.Replace(splitHead, "Etag", "ETag", 1),
		"lower case":          strings.Replace(splitHead, "Last-Modified", "last-modified", 1),
		"no space":            strings.Replace(splitHead, "Date: ", "Date:", 1),
		"incomplete":          splitHead[:len(splitHead)-2],
	} {
		if _, _, _, ok := Split(nil, []byte(text)); ok {
			t.Errorf("%s: ok", why)
		}
	}
}

// Whatever values a head has, Parse takes it as it takes another one with the same shared lines,
// and reads the same fields.
func FuzzSplit(f *testing.F) {
	f.Add([]byte(splitHead), `"b"`, "x y", "12")
	f.Add([]byte("HTTP/1.1 200 OK\r\ncontent-length: 3\r\nContent-Length: 4\r\n\r\n"), "", "", "3")
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nDate: x\r\n\r\n"), "", "", "3")
	f.Fuzz(func(t *testing.T, p []byte, etag, key, length string) {
		lines, v, n, ok := Split(nil, p)
		if !ok {
			return
		}
		h, size, form := Parse(p)
		if form == Incomplete || form == Plain && (size != n || h.Length != v.Length && !h.Bodyless || h.Code != http.StatusOK) {
			t.Fatalf("%d bytes, %+v; Parse: %d, %+v, %v", n, v, size, h, form)
		}
		other := []byte("HTTP/1.1 200 OK\r\nEtag: " + etag + "\r\n" + string(lines) + "Surrogate-Key: " + key +
			"\r\nContent-Length: " + length + "\r\n\r\n")
		same, w, m, ok := Split(nil, other)
		if !ok || string(same) != string(lines) {
			return
		}
		g, size, again := Parse(other)
		if again != form && len(p) < maxPlain-4<<10 && len(other) < maxPlain-4<<10 && fields(h, g) {
			t.Fatalf("%q is %v, and %q is %v", p, form, other, again)
		}
		if form != Plain || again != Plain {
			return
		}
		if size != m || w.ETag != etag || w.SurrogateKey != key || g.Length != w.Length {
			t.Fatalf("%+v, %+v", w, g)
		}
		for _, header := range []http.Header{h.Header, g.Header} {
			for _, name := range split {
				delete(header, strings.TrimSuffix(name, ": "))
			}
		}
		if !maps.EqualFunc(h.Header, g.Header, func(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }) {
			t.Fatalf("%v, %v", h.Header, g.Header)
		}
	})
}

// fields reports whether both heads have few enough fields.
func fields(h, g Head) bool { return len(h.Header) < maxFields-10 && len(g.Header) < maxFields-10 }
