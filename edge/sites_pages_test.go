package edge

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Pages stand in the place of errors of the edge, and of the origin where the operator says so.
func TestErrorPages(t *testing.T) {
	dir := www(t)
	must(t, os.WriteFile(filepath.Join(dir, "404.html"), []byte("<h1>Nothing</h1>"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "404.json"), []byte(`{"own":true}`), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "50x.html"), []byte("<h1>Down</h1>"), 0o600))
	e := newFileEdge(t, fmt.Sprintf(`version: 1
sites:
  - name: a
    hosts: [a.test]
    origins: {files: {dir: %[1]s}, app: {urls: ["http://10.0.0.5:3000"]}, down: {urls: ["http://127.0.0.1:1"]}}
    origin: app
    response_headers: {set: {X-Site: a}}
    errors:
      "404": {file: %[1]s/404.html}
      5xx: {file: %[1]s/404.html}
      "502, 503": {file: %[1]s/50x.html, status: 503, retry_after: 30s}
      "403": {file: %[1]s/404.json}
    rules:
      - {match: {path: "/files/**"}, origin: files}
      - {match: {path: "/down/**"}, origin: down}
      - {match: {path: "/shown/**"}, errors: {4xx: {file: %[1]s/404.html, origin: true, status: 410}}}
      - {match: {path: "/denied"}, deny: [127.0.0.0/8]}
      - {match: {path: "/own"}, respond: {status: 404, body: own}}
`, dir))
	html := []string{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}
	e.run(t, []fileStep{
		{"GET http://a.test/files/x", html, 404, "<h1>Nothing</h1>|Content-Type: text/html|X-Site: a|Vary: Accept|Content-Length: 16"},
		{"GET http://a.test/files/x", nil, 404, "problem+json|!Nothing|Vary: Accept"},
		{"HEAD http://a.test/files/x", html, 404, "Content-Type: text/html|Content-Length: 16|!Nothing"},
		{"GET http://a.test/missing", html, 404, "GET /missing|!Nothing"}, // the origin's
		{"GET http://a.test/shown/missing-fresh", html, 410, `<h1>Nothing</h1>|!GET /shown|!Etag|Cache-Control: max-age=600`},
		{"GET http://a.test/shown/missing-fresh", html, 410, `<h1>Nothing</h1>|hit`},
		{"GET http://a.test/shown/missing-fresh", nil, 410, `problem+json|"status":410|!GET /shown`},
		{"GET http://a.test/shown/fresh", html, 200, "GET /shown/fresh"},
		{"GET http://a.test/down/x", html, 503, "<h1>Down</h1>|Retry-After: 30|no-store"},
		{"GET http://a.test/down/x", []string{"Accept", "application/json"}, 503, `problem+json|"status":503|Retry-After: 30`},
		{"GET http://a.test/denied", nil, 403, `{"own":true}|Content-Type: application/json`},
		{"GET http://a.test/own", html, 404, "own|!Nothing"},
	})
}

// A site is closed while a file exists, also to hits, except for some clients.
func TestMaintenance(t *testing.T) {
	file := filepath.Join(t.TempDir(), "closed.html")
	e := newFileEdge(t, fmt.Sprintf(`version: 1
trusted_proxies: [127.0.0.0/8]
sites:
  - name: a
    hosts: [a.test]
    health_path: /up
    maintenance: {file: %s, allow: [192.0.2.0/24], retry_after: 90s}
    origins: {app: {urls: ["http://10.0.0.5:3000"]}}
`, file))
	closed := "problem+json|Retry-After: 90|no-store"
	open := func(want string) []fileStep { return []fileStep{{"GET http://a.test/fresh", nil, 200, want}} }
	e.run(t, open("uri-miss"))
	e.run(t, open("hit"))
	must(t, os.WriteFile(file, []byte("<h1>Closed</h1>"), 0o600))
	e.run(t, open("hit")) // not looked at yet
	e.ages.move(time.Second)
	for range 2 {
		e.run(t, []fileStep{
			{"GET http://a.test/fresh", nil, 503, closed},
			{"GET http://a.test/fresh", []string{"Accept", "text/html"}, 503, "<h1>Closed</h1>|Retry-After: 90"},
			{"POST http://a.test/x", nil, 503, closed},
			{"GET http://a.test/fresh", []string{"X-Forwarded-For", "192.0.2.7"}, 200, "GET /fresh"},
			{"GET http://a.test/fresh", []string{"X-Forwarded-For", "198.51.100.7"}, 503, closed},
			{"GET http://a.test/up", nil, 200, ""},
		})
	}
	must(t, os.WriteFile(file, []byte("<h1>Closed for long</h1>"), 0o600))
	e.ages.move(time.Second)
	e.run(t, []fileStep{{"GET http://a.test/", []string{"Accept", "text/html"}, 503, "<h1>Closed for long</h1>"}})
	must(t, os.Remove(file))
	e.ages.move(time.Second)
	e.run(t, open("hit"))
}

// The operator says which responses have a line in the access log, and in which form.
func TestLogRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.log")
	e := newFileEdge(t, fmt.Sprintf(`version: 1
access_log: %s
access_log_format: '{site} {method} {path} {status} {user_agent}'
defaults: {log: {skip: {path: "/none/**"}}}
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.5:3000"]}, down: {urls: ["http://127.0.0.1:1"]}}
    origin: app
    rules:
      - {match: {path: "/down/**"}, origin: down, log: {sample: 0}}
      - {match: {path: "/quiet/**"}, log: {sample: 0}}
      - {match: {path: "/part/**"}, log: {skip: {query: secret}}, stop: true}
  - name: b
    hosts: [b.test]
    log: {skip: {method: HEAD}}
    origins: {app: {urls: ["http://10.0.0.5:3000"]}}
`, file))
	for _, request := range []string{"GET http://a.test/fresh", "GET http://a.test/fresh", "GET http://a.test/none/fresh",
		"GET http://a.test/none/fresh", "GET http://a.test/quiet/fresh", "GET http://a.test/quiet/fresh", "GET http://a.test/down/x",
		"GET http://a.test/part/fresh?secret=1", "GET http://a.test/part/fresh?secret=1", "GET http://a.test/part/fresh?a=1",
		"GET http://b.test/none/x", "HEAD http://b.test/none/x", "GET http://a.test/last"} {
		e.ask(t, request, "User-Agent", `agent 200 "x"`)
	}
	agent := ` agent\x20200\x20\x22x\x22` + "\n"
	want := "a GET /fresh 200" + agent + "a GET /fresh 200" + agent + "a GET /down/x 502" + agent +
		"a GET /part/fresh?a=1 200" + agent + "b GET /none/x 200" + agent + "a GET /last 200" + agent
	settled(t, "the lines of the access log", func() bool {
		text, err := os.ReadFile(file)
		must(t, err)
		return len(text) >= len(want)
	})
	text, err := os.ReadFile(file)
	must(t, err)
	if string(text) != want {
		t.Errorf("the access log is\n%s\nwant\n%s", text, want)
	}
}
