package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// JSON responses have no byte with a meaning in HTML, even if a parameter or an icon has one. The
// same holds for problems, which package problem writes.
func TestJSONIsNoMarkup(t *testing.T) {
	w := published(t)
	for _, path := range []string{
		"/api/v1/icon/mdi/home", "/api/v1/icon/mdi/home?color=f00", "/api/v1/icon/flat-color-icons/ok",
		"/api/v1/search?q=%3Cscript%3E%26", "/api/v1/suggest?q=%3Cb%3E%26",
		"/api/v1/packs", "/api/v1/packs?category=%3C%26", "/api/v1/packs/mdi", "/api/v1/openapi.json", "/-/release?since=%3C",
		"/api/v1/icon/mdi/%3Cscript%3E", "/api/v1/search?q=x&limit=%3C%26", "/%3Cscript%3E", "/api/v1/icon/mdi/home?color=%3C",
	} {
		got := body(t, w.do("GET", path, ""))
		if !json.Valid([]byte(got)) || strings.ContainsAny(got, "<>&") {
			t.Errorf("GET %s: %.200s", path, got)
		}
	}
	got := body(t, w.do("GET", "/api/v1/icon/mdi/home", ""))
	const want = `"svg":"\u003csvg xmlns=\"http://www.w3.org/2000/svg\" width=\"24\" height=\"24\" viewBox=\"0 0 24 24\"\u003e\u003cpath fill=\"currentColor\"`
	if !strings.Contains(got, want) {
		t.Errorf("%.300s does not have %s", got, want)
	}
	var ans icon.Answer
	svg := body(t, w.do("GET", "/mdi/home.svg?color=f00", ""))
	if err := json.Unmarshal(icon.RecolourAnswer([]byte(got), "#ff0000"), &ans); err != nil || ans.SVG != svg || !ans.Metadata.Recolored {
		t.Errorf("coloured by an edge: %v, %q, want %q", err, ans.SVG, svg)
	}
}
