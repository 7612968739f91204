package api

import (
	"net/http/httptest"
	"slices"
	"testing"
)

// TestRoutes checks that each kind of address has a name and a pattern, and that an unknown address
// has no pattern.
func TestRoutes(t *testing.T) {
	var seen []string
	for _, row := range []struct{ target, route, pattern string }{
		{"/mdi/home.svg?size=24", "cdn", "/{pack}/{file}"},
		{"/mdi/home.png?size=24", "png", "/{pack}/{name}.png"},
		{"/search/home.ico", "ico", "/{pack}/{name}.ico"},
		{"/-/row.svg?icons=a:b", "row", "/-/row.svg"},
		{"/-/row.png?icons=a:b", "row", "/-/row.png"},
		{"/api/v1/icon/mdi/home", "icon", "/api/v1/icon/{pack}/{name}"},
		{"/api/v1/search?q=home", "search", "/api/v1/search"},
		{"/api/v1/suggest?q=ho", "suggest", "/api/v1/suggest"},
		{"/api/v1/packs", "packs", "/api/v1/packs"},
		{"/api/v1/packs/mdi", "pack", "/api/v1/packs/{pack}"},
		{"/api/v1/auth/verify", "verify", "/api/v1/auth/verify"},
		{"/api/v1/openapi.json", "openapi", "/api/v1/openapi.json"},
		{"/-/release", "release", "/-/release"},
		{"/-/names", "names", "/-/names"},
		{"/iconify/mdi.json", "iconify", "/iconify/{address}"},
		{"/healthz", "health", "/healthz"},
		{"/", "page", "/"},
		{"/search?q=home", "page", "/search"},
		{"/icon/mdi/home", "page", "/icon/{pack}/{name}"},
		{"/pack/mdi", "page", "/pack/{pack}"},
		{"/sitemap/mdi.xml", "page", "/sitemap/{file}"},
		{"/docs/", "page", "/docs/"},
		{"/docs/how-to/takedown", "page", "/docs/{folder}/{page}"},
		{"/docs/home.svg", "cdn", "/{pack}/{file}"},
		{"/-/site/app.0.js", "page", "/-/site/{file}"},
		// A pack may have the name of a page.
		{"/pack/home.svg", "cdn", "/{pack}/{file}"},
		{"/search/home.svg", "cdn", "/{pack}/{file}"},
		{"/api/v1/nothing", "unknown", ""},
		{"/api/v1/{pack}", "unknown", ""}, // a pattern is not an address
		{"/api/v1/packs/{pack}", "unknown", ""},
		{"/a/b/c.svg", "unknown", ""},
		{"/mdi/..", "unknown", ""},
	} {
		r := httptest.NewRequest("GET", row.target, nil)
		if route, pattern := Route(r), Pattern(r); route != row.route || pattern != row.pattern {
			t.Errorf("%s is of route %q, pattern %q; want %q, %q", row.target, route, pattern, row.route, row.pattern)
		}
		if !slices.Contains(seen, row.route) {
			seen = append(seen, row.route)
		}
	}
	if !slices.Equal(seen, Routes) {
		t.Errorf("Routes is %q, want %q", Routes, seen)
	}
}
