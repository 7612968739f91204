package edge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A hit of a request with plain fields alone is the hit of the same request in the form that an
// origin would get. An unknown field makes the edge take that form.
func TestPlainHits(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("words that become shorter ", 60)
	pages := map[string]http.HandlerFunc{
		"/plain":    says(text, "Cache-Control", "max-age=600", "Content-Type", "text/plain", "ETag", `"a"`, "Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT"),
		"/short":    says("a", "Cache-Control", "max-age=600", "Content-Type", "image/png"),
		"/weak":     says(text, "Cache-Control", "max-age=600", "Content-Type", "text/html", "ETag", `W/"a"`),
		"/coding":   says(text, "Cache-Control", "max-age=600", "Content-Type", "text/html", "Vary", "Accept-Encoding", "ETag", `"c"`),
		"/language": says("hallo", "Cache-Control", "max-age=600", "Content-Type", "text/html", "Vary", "Accept-Language, Origin"),
		"/script":   says("{}", "Cache-Control", "max-age=600", "Content-Type", "application/json", "Vary", "X-Requested-With"),
		"/forward":  says("{}", "Cache-Control", "max-age=600", "Content-Type", "application/json", "Vary", "X-Forwarded-Proto"),
		"/session":  says("hello", "Cache-Control", "max-age=600", "Content-Type", "text/html", "Vary", "Cookie"),
		"/cookie":   says("hello", "Cache-Control", "max-age=600", "Content-Type", "text/html", "Set-Cookie", "a=b"),
		"/guess":    says("hello", "Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT", "Content-Type", "text/html"),
		"/private":  says("hello", "Cache-Control", "private, max-age=600", "Content-Type", "text/html"),
	}
	e := newEdgeTest(t, newSite(pages), func(c *Config) {
		c.ProxyAll = true
		must(t, c.Limits.Set("forwarded=1000000/1s"))
	})
	e.Sites().Only().Compress = true
	choices := map[string][]string{
		"Accept":            {"text/html", "*/*"},
		"Accept-Encoding":   {"gzip", "br, gzip", "identity", "zstd;q=0"},
		"Accept-Language":   {"de", "en, de;q=0.5"},
		"Cookie":            {"session=1", "a=b; c=d"},
		"If-None-Match":     {`"a"`, `"a-gzip"`, `W/"a"`, `"other"`, "*"},
		"If-Modified-Since": {"Mon, 02 Jan 2006 15:04:05 GMT", "Sun, 01 Jan 2006 15:04:05 GMT", "yesterday"},
		"Origin":            {"https://a.test"},
		"User-Agent":        {"curl/8"},
		"X-Requested-With":  {"XMLHttpRequest"},
		"X-Forwarded-Proto": {"https"},
		"Cache-Control":     {"no-cache", "only-if-cached"},
		"Range":             {"bytes=0-3"},
		"Authorization":     {"Basic YTpi"},
		"Connection":        {"keep-alive", "accept-language", "close, cookie"},
	}
	random := rand.New(rand.NewPCG(1, 2))
	paths, names := slices.Sorted(maps.Keys(pages)), slices.Sorted(maps.Keys(choices))
	for range 3000 {
		path := paths[random.IntN(len(paths))]
		var fields []string
		for range random.IntN(5) {
			name := names[random.IntN(len(names))]
			fields = append(fields, name, choices[name][random.IntN(len(choices[name]))])
		}
		e.get(t, path, fields...) // so that it may be stored
		var plain, other string
		if !e.agree(t, func() bool {
			plain, other = told(e.get(t, path, fields...)), told(e.get(t, path, append(slices.Clone(fields), "X-Nothing", "1")...))
			return plain == other
		}) {
			t.Fatalf("%s with %q:\n%s\nbut with an unknown field\n%s", path, fields, plain, other)
		}
	}
}

// told returns a response without what depends on the time.
func told(a answer) string {
	for _, name := range []string{"Age", "Date", "Ratelimit"} {
		a.Header.Del(name)
	}
	status, _, _ := strings.Cut(a.Header.Get("Cache-Status"), "ttl=")
	a.Header.Set("Cache-Status", status)
	return fmt.Sprint(a.StatusCode, a.Header, a.body)
}
