package fetch

import (
	"net/http"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func TestIsPage(t *testing.T) {
	const html, policy = "text/html; charset=utf-8", icon.PagePolicy + "; style-src 'self'"
	own := http.Header{"Content-Type": {html}, icon.FieldRelease: {"r"}}
	through := http.Header{"Content-Type": {html}, "Content-Security-Policy": {policy}}
	for _, row := range []struct {
		name string
		key  string
		h    http.Header
		want bool
	}{
		{"of our origin", "/icon/mdi/home", own, true},
		{"with parameters", "/search?q=home", own, true},
		{"through an edge without a tier secret, by its policy", "/icon/mdi/home", through, true},
		{"an archive of a bag", "/-/bag/icons.zip?icons=mdi/home",
			http.Header{"Content-Type": {"application/zip"}, icon.FieldRelease: {"r"}}, true},
		{"a problem at the address of a page", "/icon/mdi/home",
			http.Header{"Content-Type": {"application/problem+json"}, icon.FieldRelease: {"r"}}, false},
		{"a page of other software", "/icon/mdi/home", http.Header{"Content-Type": {html}}, false},
		{"a page of other software, with a policy of its own", "/icon/mdi/home",
			http.Header{"Content-Type": {html}, "Content-Security-Policy": {"default-src 'self'"}}, false},
		{"HTML at the address of an icon", "/mdi/home.svg", own, false},
		{"HTML at an address of the API", "/api/v1/search?q=home", own, false},
		{"HTML at a forwarded address", "http://example.org/search?q=home", own, false},
	} {
		if got := isPage(row.key, row.h); got != row.want {
			t.Errorf("isPage of %s (%s) = %v, want %v", row.name, row.key, got, row.want)
		}
	}
}
