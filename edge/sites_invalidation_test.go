package edge

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A POST invalidates the response to a GET of the same address, and a purge of the address removes
// it, whatever the rules put into its key (RFC 9111, section 4.4).
func TestRulesAndInvalidation(t *testing.T) {
	e := newFileEdge(t, `
version: 1
sites:
  - name: shop
    hosts: [a.example.org, b.example.org]
    origins: {app: {urls: ["http://10.0.0.5:3000"]}}
    origin: app
    rules:
      - {match: {path: "/old/**"}, rewrite: "/fresh/$1", key: {query: none}}
      - {match: {path: "/fresh/shared"}, key: {host: false}}
      - {match: {path: "/fresh/get", method: GET}, key: {query: none, cookies: [v]}}
  - name: other
    hosts: [other.example.org]
    origins: {app: {urls: ["http://10.0.0.5:3000"]}}
    origin: app
`)
	hit := func(url string) bool {
		resp, _ := e.ask(t, "GET "+url, "Cookie", "v=1")
		return strings.Contains(resp.Header.Get("Cache-Status"), "; hit")
	}
	for _, row := range []struct{ stored, unsafe string }{
		{"http://a.example.org/old/page?x=1", "http://a.example.org/old/page?x=1"},
		{"http://a.example.org/old/page?x=1", "http://a.example.org/old/page?x=2"},
		{"http://a.example.org/fresh/shared", "http://a.example.org/fresh/shared"},
		{"http://a.example.org/fresh/shared", "http://b.example.org/fresh/shared"},
		{"http://a.example.org/fresh/get?x=1", "http://a.example.org/fresh/get?x=2"},
	} {
		for what, do := range map[string]func(){
			"POST": func() { e.ask(t, "POST "+row.unsafe) },
			"purge": func() {
				resp, err := http.Post(e.admin+"/purge", "application/json", strings.NewReader(`{"urls":["`+row.unsafe+`"]}`))
				must(t, err)
				defer resp.Body.Close()
				if body, _ := io.ReadAll(resp.Body); string(body) != "{\"purged\":1}\n" {
					t.Errorf("purge of %s: %d %s", row.unsafe, resp.StatusCode, body)
				}
			},
		} {
			e.ask(t, "GET "+row.stored, "Cookie", "v=1")
			if e.ask(t, "POST http://other.example.org/fresh/shared"); !hit(row.stored) {
				t.Errorf("%s is not stored", row.stored)
			}
			if do(); hit(row.stored) {
				t.Errorf("%s of %s leaves %s stored", what, row.unsafe, row.stored)
			}
		}
	}
}

// A purge or a POST of an address invalidates the response that the address shares with others by
// No-Vary-Search, whatever the rules put into its key. A reload of the file keeps it.
func TestRulesAndSharedQueries(t *testing.T) {
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("No-Vary-Search", `params=("utm")`)
		io.WriteString(w, r.URL.RequestURI())
	})
	file := `
version: 1
sites:
  - name: shop
    hosts: [a.example.org, b.example.org]
    origins: {app: {urls: ["http://10.0.0.5:3000"]}}
    origin: app
    rules:
      - {match: {path: "/old/**"}, rewrite: "/fresh/$1", key: {query: {exclude: [x]}}}
      - {match: {path: "/fresh/shared"}, key: {host: false}}
      - {match: {path: "/fresh/get"}, key: {headers: [X-Tenant]}}
`
	e := newFileEdgeWith(t, map[string]http.Handler{"http://10.0.0.5:3000": app}, file)
	for _, row := range []struct{ stored, equal, unsafe string }{
		{"http://a.example.org/page?id=1&utm=a", "http://a.example.org/page?id=1", "http://a.example.org/page?utm=c&id=1"},
		{"http://a.example.org/old/page?id=1&utm=a&x=1", "http://a.example.org/old/page?id=1&x=2", "http://a.example.org/old/page?id=1&utm=c"},
		{"http://a.example.org/fresh/shared?utm=a", "http://b.example.org/fresh/shared", "http://b.example.org/fresh/shared?utm=c"},
		{"http://a.example.org/fresh/get?id=1&utm=a", "http://a.example.org/fresh/get?id=1&utm=b", "http://a.example.org/fresh/get?id=1"},
	} {
		hit := func() bool {
			resp, _ := e.ask(t, "GET "+row.equal)
			return strings.Contains(resp.Header.Get("Cache-Status"), "; hit")
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(row.unsafe, "http://a.example.org"), "?")
		purge := func(body string) func() {
			return func() {
				resp, err := http.Post(e.admin+"/purge", "application/json", strings.NewReader(body))
				must(t, err)
				resp.Body.Close()
			}
		}
		for what, do := range map[string]func(){
			"POST":            func() { e.ask(t, "POST "+row.unsafe) },
			"purge":           purge(`{"urls":["` + row.unsafe + `"]}`),
			"purge by path":   purge(`{"urls":["` + strings.NewReplacer("http://a.example.org", "", "http://b.example.org", "").Replace(row.unsafe) + `"]}`),
			"purge by prefix": purge(`{"prefixes":["` + strings.TrimPrefix(strings.Replace(path, "/old/", "/fresh/", 1), "http://b.example.org") + `?i"]}`),
		} {
			e.ask(t, "GET "+row.stored)
			e.write(t, file)
			must(t, e.sites.Reload())
			if !hit() {
				t.Errorf("%s is not answered by %s", row.equal, row.stored)
			}
			if do(); hit() {
				t.Errorf("%s of %s leaves what answers %s", what, row.unsafe, row.equal)
			}
		}
	}
}
