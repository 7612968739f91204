package listen

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/exchange"
)

// The Date of a response takes its place among the other fields, once, and the case of names stays.
func TestFieldsOverHTTP1(t *testing.T) {
	var out exchange.Response
	for _, f := range []string{"Xate: an origin's field", "ETag: \"x\"", "Date: Sun, 06 Nov 1994 08:49:37 GMT",
		"RateLimit: 1", "Link: a", "Link: b"} {
		name, value, _ := strings.Cut(f, ": ")
		out.Add(name, value)
	}
	want := string(out.Lines)
	var h fasthttp.ResponseHeader
	h.SetNoDefaultContentType(true)
	writeH1(&h, &out)
	var list []string
	for name, value := range h.All() {
		list = append(list, string(name)+": "+string(value)+"\r\n")
	}
	if got := strings.Join(list, ""); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
