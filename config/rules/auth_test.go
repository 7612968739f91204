package rules

import (
	"net/http"
	"testing"
)

// Segments that some origin resolves are found in every spelling, and others are not.
func TestUnclear(t *testing.T) {
	for target, want := range map[string]bool{
		"/": false, "/a.b/..c/d..": false, "/...": false, "/a?/../": false, "/%2e%2e%2e": false, "/a%2fb": false, "/.well-known/x": false,
		"/.": true, "/..": true, "/a/./b": true, "/%2E/": true, "/a%2f..": true, `/a\..\b`: true, "/a/%5c../b": true, "/..;x/": true,
		"/..%3bx/": true, "/%252e%252e/": true, "/..%00/": true, "/.%20/": true,
	} {
		if got := Unclear(target); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
}

// All spellings of a field that CGI takes for one are removed, and no others.
func TestStrip(t *testing.T) {
	h := http.Header{"X-User": {"a"}, "X_user": {"a"}, "X.user": {"a"}, "x-USER": {"a"}, "X-Users": {"a"}, "Xuser": {"a"}, "X-User-": {"a"}}
	newIdentity([]string{"X-User"}).Strip(h)
	if len(h) != 3 || h["X-Users"] == nil || h["Xuser"] == nil || h["X-User-"] == nil {
		t.Errorf("%v", h)
	}
}
