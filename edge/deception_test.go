package edge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// deceived is a file whose rules cache by the ends of paths, as guides write them. An application
// that ignores such an end answers with the page of the user whose Cookie it gets.
const deceived = `
version: 1
sites:
  - name: shop
    hosts: [shop.test]
    origins: {app: {urls: ["ORIGIN"]}}
    rules:
      - match: {path: ["**.css", "**.js", "**.png", "**.CSS", "**.woff2", "**.pdf", "**.json", "**.html", "/loose/**"]}
        ttl: 1h
      - match: {path: "/loose/**"}
        cookies: ignore
      - match: {path: "/loose/account/**"}
        cookies: respect
      - match: {path: "/lang/**"}
        ttl: 1h
        key: {cookies: [lang]}
      - match: {path: "/keyed/**"}
        ttl: 1h
        key: {headers: [Cookie]}
      - match: {path: "/plain/**"}
        cache: "on"
      - match: {path: "/forced/**"}
        ttl: 1h
        cache: force
`

// newDeceived starts an edge with the file, before an application that answers with the fields that
// the request names in X-Say, a Content-Type in X-Type, and the user of its Cookie.
func newDeceived(t *testing.T) *fileEdge {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if kind := r.Header.Get("X-Type"); kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		for line := range strings.SplitSeq(r.Header.Get("X-Say"), "|") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				w.Header().Set(name, value)
			}
		}
		fmt.Fprintf(w, "the page of %q", r.Header.Get("Cookie")+r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	return newFileEdge(t, strings.ReplaceAll(deceived, "ORIGIN", s.URL))
}

// A lifetime of a rule makes no page of a user one for all: of a response that does not itself
// say that others may get it, the rule stores only a file that belongs to the end of the path.
func TestHostileDeception(t *testing.T) {
	e := newDeceived(t)
	const html, css, json = "text/html; charset=utf-8", "text/css", "application/json"
	for i, row := range []struct {
		path, kind, say string
		with            string // the field of the first request
		stored          bool
	}{
		{"/account/x.css", html, "", "Cookie", false},
		{"/account/x.css", html, "", "Authorization", false},
		{"/account/x.css", html, "", "X-None", true},
		{"/account/x.css", json, "", "Cookie", false},
		{"/account/x.css", "", "", "Cookie", false},
		{"/account/x.css", "text/css, text/html", "", "Cookie", false},
		{"/account/x.css", css, "", "Cookie", true},
		{"/account/x.css", "TEXT/CSS;charset=utf-8", "", "Cookie", true},
		{"/account/x.css", css, "", "Authorization", false}, // RFC 9111, section 3.5
		{"/account/x.css", "image/png", "", "Cookie", false},
		{"/account/x.png", "image/webp", "", "Cookie", true},
		{"/account/x.png", html, "", "Cookie", false},
		{"/account/x.png", css, "", "Cookie", false},
		{"/account/x.js", "application/javascript", "", "Cookie", true},
		{"/account/x.js", json, "", "Cookie", false},
		{"/account/x.woff2", "font/woff2", "", "Cookie", true},
		{"/account/x.json", json, "", "Cookie", false},
		{"/account/x.html", html, "", "Cookie", false},
		{"/account/x.pdf", "application/pdf", "", "Cookie", false}, // an invoice is a real one
		// Spellings of the path, of which some applications ignore a part.
		{"/account/;x.css", html, "", "Cookie", false},
		{"/account%2Fx.css", html, "", "Cookie", false},
		{"/account%3Bx.css", html, "", "Cookie", false},
		{"/account%00x.css", html, "", "Cookie", false},
		{"/account%0Ax.css", html, "", "Cookie", false},
		{"/account%3Fx.css", html, "", "Cookie", false},
		{"/account%23x.css", html, "", "Cookie", false},
		{"/account/x%2ecss", html, "", "Cookie", false},
		{"/account/x.css%3F", html, "", "Cookie", false},
		{"/account/x.css%3F", css, "", "Cookie", false},
		{"/account/x.css/", css, "", "Cookie", false},
		{"/account/X.CSS", html, "", "Cookie", false},
		{"/account/X.CSS", css, "", "Cookie", true},
		{"/account/.css", html, "", "Cookie", false},
		{"/assets/../account/x.css", html, "", "Cookie", false},
		{"/assets%2F..%2Faccount/x.css", html, "", "Cookie", false},
		{"/account/x.css?y.css", html, "", "Cookie", false},
		// What the response says of its storing.
		{"/account/x.css", html, "Cache-Control: public", "Cookie", true},
		{"/account/x.css", html, "Cache-Control: max-age=60", "Cookie", true},
		{"/account/x.css", html, "Cache-Control: s-maxage=60", "Cookie", true},
		{"/account/x.css", html, "CDN-Cache-Control: max-age=60", "Cookie", true},
		{"/account/x.css", html, "Expires: Fri, 01 Jan 2100 00:00:00 GMT", "Cookie", true},
		{"/account/x.css", html, "Expires: 0", "Cookie", false},
		{"/account/x.css", html, "Cache-Control: no-cache", "Cookie", false},
		{"/account/x.css", html, "Cache-Control: max-age=0, must-revalidate", "Cookie", false},
		{"/account/x.css", html, "Cache-Control: no-transform", "Cookie", false},
		{"/account/x.css", html, "Cache-Control: ", "Cookie", false},
		{"/account/x.css", html, "Last-Modified: Fri, 01 Jan 2010 00:00:00 GMT", "Cookie", false},
		{"/account/x.css", css, "Cache-Control: private", "Cookie", false},
		{"/account/x.css", css, "Set-Cookie: a=b", "Cookie", false},
		// What the rules say.
		{"/loose/x", html, "", "Cookie", true},
		{"/loose/x.css", html, "", "Cookie", true},
		{"/loose/account/x.css", html, "", "Cookie", false},
		{"/loose/x.css", html, "", "Authorization", false},
		{"/lang/x", html, "", "Cookie", false},
		{"/plain/x", html, "Last-Modified: Fri, 01 Jan 2010 00:00:00 GMT", "Cookie", false},
		{"/forced/x", html, "", "Cookie", true},
	} {
		address := fmt.Sprintf("http://shop.test/%d%s", i, row.path)
		if strings.HasPrefix(row.path, "/l") || strings.HasPrefix(row.path, "/plain") || strings.HasPrefix(row.path, "/forced") {
			address = fmt.Sprintf("http://shop.test%s?%d", row.path, i)
			if strings.Contains(row.path, ".css") {
				address = fmt.Sprintf("http://shop.test%s", strings.Replace(row.path, "x.css", fmt.Sprintf("%d.css", i), 1))
			}
		}
		for _, method := range []string{"HEAD", "GET"} {
			e.ask(t, method+" "+address, row.with, "secret=alice", "X-Type", row.kind, "X-Say", row.say)
		}
		resp, body := e.ask(t, "GET "+address, "X-Type", row.kind, "X-Say", row.say)
		if hit := strings.Contains(resp.Header.Get("Cache-Status"), "; hit"); hit != row.stored {
			t.Errorf("%+v: stored %v, want %v: %s", row, hit, row.stored, resp.Header.Get("Cache-Status"))
		}
		if !row.stored && strings.Contains(body, "alice") {
			t.Errorf("%+v: another client gets %s", row, body)
		}
	}
}

// A request with Cookie gets what a request without one has stored: the page of nobody. Its own
// response, also one that confirms the stored one, leaves the stored one as it is.
func TestDeceptionHits(t *testing.T) {
	e := newDeceived(t)
	const html = "text/html"
	e.run(t, []fileStep{
		{"GET http://shop.test/account/x.css", []string{"X-Type", html}, 200, `uri-miss; stored|of ""`},
		{"GET http://shop.test/account/x.css", []string{"Cookie", "user=alice"}, 200, `hit|of ""`},
		// Cookies in the key choose the response, if all of them are there.
		{"GET http://shop.test/lang/x", []string{"Cookie", "lang=de", "X-Type", html}, 200, "stored"},
		{"GET http://shop.test/lang/x", []string{"Cookie", "lang=de"}, 200, `hit|of "lang=de"`},
		{"GET http://shop.test/lang/x", []string{"Cookie", "lang=en; user=alice", "X-Type", html}, 200, "uri-miss|!stored"},
		{"GET http://shop.test/lang/x", []string{"Cookie", "lang=en"}, 200, `uri-miss|of "lang=en"`},
		{"GET http://shop.test/keyed/x", []string{"Cookie", "user=alice", "X-Type", html}, 200, "stored"},
		{"GET http://shop.test/keyed/x", []string{"Cookie", "user=bob"}, 200, `uri-miss|of "user=bob"`},
		{"GET http://shop.test/keyed/x", []string{"Cookie", "user=alice"}, 200, `hit|of "user=alice"`},
		// So does a Vary that names Cookie.
		{"GET http://shop.test/vary.css", []string{"Cookie", "user=alice", "X-Type", html, "X-Say", "Vary: Cookie"}, 200, "stored"},
		{"GET http://shop.test/vary.css", []string{"Cookie", "user=bob", "X-Type", html, "X-Say", "Vary: Cookie"},
			200, `!hit|of "user=bob"`},
		{"GET http://shop.test/vary.css", []string{"Cookie", "user=alice"}, 200, `hit|of "user=alice"`},
		{"GET http://shop.test/vary.css", []string{"X-Type", html, "X-Say", "Vary: Cookie"}, 200, `!hit|of ""`},
	})
}
