package accesslog

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

var token = "iel_" + strings.Repeat("aB3", 13) + "z"

func TestRedacted(t *testing.T) {
	for _, row := range []struct{ target, want string }{
		{"/mdi/home.svg", "/mdi/home.svg"},
		{"/mdi/home.svg?", "/mdi/home.svg?"},
		{"/api/v1/search?q=token&limit=5", "/api/v1/search?q=token&limit=5"},
		{"/x?a=1&Access_Token=abc&b=2", "/x?a=1&Access_Token=REDACTED&b=2"},
		{"/x?token=a=b&token", "/x?token=REDACTED&token"},
		{"/o?X-Amz-Signature=00ff&X-Amz-Date=1", "/o?X-Amz-Signature=REDACTED&X-Amz-Date=1"},
		{"/" + token + ".svg?q=" + token, "/iel_REDACTED.svg?q=iel_REDACTED"},
		{"/x?q=" + strings.Replace(token, "_", "%5F", 1), "/x?q=iel%5FREDACTED"},
		{"/field/shield.svg", "/field/shield.svg"},
	} {
		if got := string(Redacted([]byte(row.target))); got != row.want {
			t.Errorf("Redacted(%q) = %q, want %q", row.target, got, row.want)
		}
	}
}

// FuzzRedacted checks that no token is left, and that redacting twice changes nothing more.
func FuzzRedacted(f *testing.F) {
	f.Add("/x?a=" + token + "&token=" + token)
	f.Add("iel%5fiel_" + token)
	bearing := regexp.MustCompile(`iel(_|%5[fF])[0-9A-Za-z]{40}`)
	f.Fuzz(func(t *testing.T, target string) {
		given := []byte(target)
		once := Redacted(given)
		if bearing.Match(once) {
			t.Fatalf("Redacted(%q) = %q has a token", target, once)
		}
		if twice := Redacted(once); !bytes.Equal(once, twice) || string(given) != target {
			t.Fatalf("Redacted(%q) = %q, and again %q", target, once, twice)
		}
	})
}
