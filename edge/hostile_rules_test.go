package edge

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// hostileRules has the rules of the cases below. Each site denies everything after its rule, so
// that a request which passes has evaded it.
const hostileRules = `version: 1
sites:
  - name: globs
    hosts: [globs.test]
    origins: {app: {urls: ["http://10.0.0.1:80"]}}
    rules:
      - {match: {path: "/slug/*-*-*/p/*"}, respond: {status: 299}}
      - {match: {path: "/two/**/x/**/y/**"}, respond: {status: 299}}
      - {match: {header: {X-Agent: "*bot*http*"}}, respond: {status: 299}}
      - {match: {cookie: {"*a*b": "*c*d*"}}, respond: {status: 299}}
      - {match: {query: {"*a*b": "*c*d*"}}, respond: {status: 299}}
      - {match: {path: "/denied/**"}, deny: [0.0.0.0/0, "::/0"]}
  - name: refusing
    hosts: [refusing.test]
    origins: {app: {urls: ["http://10.0.0.1:80"]}}
    rules:
      - {match: 'request.query.all(a, request.query.all(b, a + b != "x"))', ttl: 1m}
      - {match: {path: "/denied/**"}, deny: [0.0.0.0/0, "::/0"]}
  - name: passing
    hosts: [passing.test]
    origins: {app: {urls: ["http://10.0.0.1:80"]}}
    rules:
      - {match: {header: {X-A: "/(x+x+)+(.{300})*y/"}}, cache: bypass}
`

// TestHostileRules: requests that are dear for globs are answered as any other one. Where rules
// cost too much they are stopped, and a request that a rule might deny gets a 503 instead of a
// pass; the log and a metric name the site.
func TestHostileRules(t *testing.T) {
	t.Parallel()
	e := newFileEdge(t, hostileRules)
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	e.run(t, []fileStep{
		{"GET http://globs.test/slug/" + fill("-", 8000), nil, 200, ""},
		{"GET http://globs.test/slug/" + fill("-", 3000) + "/p/1", nil, 299, ""},
		{"GET http://globs.test/two" + fill("/x", 8000), nil, 200, ""},
		{"GET http://globs.test/two" + fill("/x", 3000) + "/y/", nil, 299, ""},
		{"GET http://globs.test/a", []string{"X-Agent", fill("bot", 13000)}, 200, ""},
		{"GET http://globs.test/a", []string{"X-Agent", fill("bot", 13000) + "http:"}, 299, ""},
		{"GET http://globs.test/a", []string{"Cookie", fill("aab=cc;", 8000)}, 200, ""},
		{"GET http://globs.test/a?" + fill("aab=cc&", 7000), nil, 200, ""},
		{"GET http://globs.test/denied/" + fill("/x", 8000), []string{"X-Agent", fill("bot", 8000)}, 403, ""},
	})
	if strings.Contains(e.log.String(), "rules of a site stopped") {
		t.Errorf("rules were stopped:\n%s", e.log.String())
	}
	var query strings.Builder
	for i := range 700 {
		fmt.Fprintf(&query, "p%d=1&", i)
	}
	long := fill("x", 16000)
	e.run(t, []fileStep{
		{"GET http://refusing.test/denied/x", nil, 403, ""},
		{"GET http://refusing.test/denied/x?" + query.String(), nil, 503, "cost too much time|no-store"},
		{"GET http://refusing.test/fresh?" + query.String(), nil, 200, "!stored"},
		{"GET http://passing.test/fresh", []string{"X-A", long}, 200, "!stored"},
		{"GET http://passing.test/fresh", []string{"X-A", long}, 200, "!hit"},
		{"GET http://passing.test/fresh", nil, 200, "stored"},
		{"GET http://passing.test/fresh", nil, 200, "hit"},
	})
	if want := `msg="rules of a site stopped, because they cost too much for a request" site=refusing line=`; !strings.Contains(
		e.log.String(), want) {
		t.Errorf("no %s in\n%s", want, e.log.String())
	}
	resp, err := http.Get(e.admin + "/metrics")
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	for _, want := range []string{`{result="refused",site="refusing"} 1`, `{result="passed",site="refusing"} 1`,
		`{result="passed",site="passing"} 2`} {
		if !strings.Contains(string(text), "iconedge_edge_site_rules_stopped_total"+want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}
