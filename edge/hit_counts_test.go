package edge

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/internal/trace/tracetest"
)

// countedSites is a file with limits of all kinds, most of which a client reaches, beside rules
// that redirect, answer, rewrite, strip cookies and edit the fields of the request for the origin.
const countedSites = `
version: 1
trusted_proxies: [127.0.0.0/8]
defaults: {compress: false}
sites:
  - name: shop
    hosts: [shop.test]
    origins: {app: {urls: ["http://10.0.0.1:80"]}, b: {urls: ["http://10.0.0.2:80"]}}
    origin: {app: 3, b: 1, sticky: client}
    limits: {client: 240/1h, forwarded: 150/1h}
    response_headers: {set: {X-Site: shop}}
    request_headers: {set: {X-Variant: a}}
    rules:
      - {match: {path: "/fresh/old/**"}, redirect: {to: "/fresh/new/$1"}, response_headers: {set: {X-Old: "1"}}}
      - {match: {path_regex: "/fresh/(old|gone)-([0-9]+)"}, redirect: {to: "https://other.test/$2/$1?from=shop", status: 308}}
      - {match: {path: "/fresh/few/**"}, limit: {rate: 9/1h}, response_headers: {set: {X-Few: "1"}}}
      - {match: {path: "/fresh/few/a*"}, limit: {rate: 5/1h, key: path}, response_headers: {set: {X-A: "1"}}}
      - {match: {header: {X-User: "*"}}, limit: {rate: 40/1h, key: "header X-User"}, response_headers: {set: {X-Limited: "1"}}}
      - {match: {path: "/fresh/few/to/*"}, redirect: {to: "/$1", status: 302}}
      - {match: {path: "/robots.txt"}, respond: {body: "User-agent: *\\n"}, response_headers: {set: {X-Robots: "1"}}}
      - {match: {path: "/fresh/nothing"}, respond: {status: 204}}
      - {match: {path: "/fresh/page"}, respond: {status: 410, type: text/html, body: "<p>gone"}}
      - {match: {path: "/fresh/moved/*/*"}, rewrite: "/fresh/to/$2?of=$1"}
      - {match: {path: "/fresh/moved/**"}, rewrite: "/fresh/both/$1", response_headers: {set: {X-Moved: "1"}}}
      - {match: {path_regex: "/fresh/r(.)(.*)"}, rewrite: "/fresh/$2/$1"}
      - {match: {path: "/fresh/static/**"}, strip_cookies: true}
      - {match: {path: "/fresh/some*"}, strip_cookies: ["_*"], key: {cookies: [lang]}}
      - {match: {header: {X-Device: tablet}}, request_headers: {set: {X-Device: phone}}}
  - name: plain
    hosts: [plain.test]
    origins: {app: {urls: ["http://10.0.0.3:80"]}}
    bypass_cookie: [session]
    limits: {client: 200/1h}
    rules: [{match: {path: "/fresh/static/**"}, strip_cookies: [session]}]
`

// countedRequests returns random requests for the sites of countedSites.
func countedRequests(random *rand.Rand) string {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	path := one("/fresh", "/fresh/old/a", "/fresh/old/b%20c?x=1", "/fresh/old-12", "/fresh/gone-7?y", "/fresh/few/b",
		"/fresh/few/a1", "/fresh/few/a2", "/fresh/few/to/x", "/robots.txt", "/fresh/nothing",
		"/fresh/page", "/fresh/moved/a/b", "/fresh/moved/a/b/c?z=1", "/fresh/moved/e", "/fresh/rabc", "/fresh/both/e",
		"/fresh/static/vary", "/fresh/static/x.css", "/fresh/some", "/fresh/some-vary", "/fresh/vary", "/fresh/cookie", "/private")
	fields := ""
	for range random.IntN(4) {
		fields += one("X-Forwarded-For: 192.0.2.1\r\n", "X-Forwarded-For: 192.0.2.2\r\n", "X-User: ann\r\n",
			"X-User: bob\r\n", "X-Device: phone\r\n", "X-Device: tablet\r\n", "Cookie: _ga=1; lang=de\r\n", "Cookie: _ga=2\r\n",
			"Cookie: session=1\r\n", "CDN-Loop: cloudflare; loops=1\r\n", "Traceparent: "+sampled+"\r\n",
			"Traceparent: "+unsampled+"\r\n", "If-None-Match: \"1\"\r\n", "Range: bytes=2-5\r\n",
			"User-Agent: test\r\n", "X-Forwarded-Proto: https\r\n")
	}
	return one("GET", "GET", "GET", "HEAD") + " " + path + " HTTP/1.1\r\nHost: " +
		one("shop.test", "shop.test", "plain.test", "none.test") + "\r\n" + fields + "\r\n"
}

// A transcript is what two edges with the same requests have in common, if one of them has a hit
// path.
type transcript struct {
	answers            []string
	log, spans, counts string
}

var (
	momentsOfLine = regexp.MustCompile(`"(time|duration_seconds)":("[^"]*"|[0-9.e-]+),?`)
	datesOfMade   = regexp.MustCompile(`(?m)^Date: .*\r$`)
	// countsOfRequests are those of metrics that each request changes, however it is answered.
	countsOfRequests = regexp.MustCompile(
		`(?m)^iconedge_edge_(requests_total|limit_decisions_total|response_bytes_total|site_responses_total)\{.*$`)
)

// The hit path and the pipeline give the same responses to the same requests, write the same lines
// in the access log, trace the same requests and count the same, also for clients over limits, and
// where a rule answers. Two edges get the same requests in the same order: one with the hit path.
func TestHitsCountLikeThePipeline(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 60
	}
	through := func(name string, handler func(*fileEdge) listen.Handler) (w transcript) {
		collector, log := tracetest.New(t), filepath.Join(t.TempDir(), "log")
		t.Run(name, func(t *testing.T) { // at its end the edge writes its log, and sends all spans
			e := newFileEdge(t, countedSites+"access_log: "+log+"\ntrace_endpoint: "+collector.URL+"\ntrace_sample: 0\n")
			address := e.serveBy(t, handler(e))
			random := rand.New(rand.NewPCG(5, 6))
			for range rounds {
				var requests strings.Builder
				for range 8 {
					requests.WriteString(countedRequests(random))
				}
				answers := ask(t, address, requests.String()+"GET /end HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
				w.answers = append(w.answers, requests.String()+"\n"+linesInOrder(datesOfMade.ReplaceAllString(answers, "Date:\r")))
			}
			metrics := httptest.NewRecorder()
			e.metrics.Handler().ServeHTTP(metrics, httptest.NewRequest("GET", "/metrics", nil))
			w.counts = strings.Join(countsOfRequests.FindAllString(metrics.Body.String(), -1), "\n")
		})
		text, err := os.ReadFile(log)
		must(t, err)
		w.log = momentsOfLine.ReplaceAllString(string(text), "")
		var spans []string
		for _, s := range collector.Spans() {
			if s.Kind == "server" {
				spans = append(spans, fmt.Sprint(s.Trace, s.Parent, s.Attributes, s.Failed))
			}
		}
		slices.Sort(spans)
		w.spans = strings.Join(spans, "\n")
		return w
	}
	var taken *countedHits
	fast := through("hit path", func(e *fileEdge) listen.Handler {
		taken = &countedHits{Handler: e.proxy}
		return taken
	})
	slow := through("pipeline", func(e *fileEdge) listen.Handler { return pipelineOnly{e.proxy} })
	for i := range fast.answers {
		sameLines(t, "responses", fast.answers[i], slow.answers[i])
	}
	sameLines(t, "log", fast.log, slow.log)
	sameLines(t, "spans", fast.spans, slow.spans)
	sameLines(t, "counts", fast.counts, slow.counts)
	if n := taken.n.Load(); n < int64(rounds)*4 {
		t.Errorf("the hit path answered only %d of %d requests", n, 8*rounds)
	}
	for _, part := range []string{"429 Too Many Requests", "308 Permanent Redirect", "X-Robots: 1",
		"RateLimit: \"client\"", "RateLimit: \"forwarded\""} {
		if !strings.Contains(strings.Join(slow.answers, ""), part) {
			t.Errorf("no response has %q", part)
		}
	}
	if fast.spans == "" {
		t.Error("no request was traced")
	}
}

// sameLines compares two texts by lines.
func sameLines(t *testing.T, what, fast, slow string) {
	t.Helper()
	a, b := strings.Split(fast, "\n"), strings.Split(slow, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			from := max(0, i-12)
			t.Fatalf("%s differ in line %d\nhit path:\n%s\npipeline:\n%s", what, i+1,
				strings.Join(a[min(from, len(a)):min(i+12, len(a))], "\n"), strings.Join(b[min(from, len(b)):min(i+12, len(b))], "\n"))
		}
	}
}

// linesInOrder returns responses with the fields of each head in order: several edits have none.
func linesInOrder(answers string) string {
	var out []string
	for part := range strings.SplitSeq(answers, "\r\n\r\n") {
		begin := max(strings.LastIndex(part, "HTTP/1.1 "), 0) // behind a body
		lines := strings.Split(part[begin:], "\r\n")
		slices.SortStableFunc(lines[1:], func(a, b string) int { return cmp.Compare(a, b) })
		out = append(out, part[:begin]+strings.Join(lines, "\n"))
	}
	return strings.Join(out, "\n\n")
}

// serveBy serves an edge by a handler too, and returns the address.
func (e *fileEdge) serveBy(t testing.TB, h listen.Handler) string {
	t.Helper()
	ln := listenTest(t)
	s, err := listen.New(e.listening(), &listen.Sockets{Public: ln}, h)
	must(t, err)
	s.Serve(make(chan error, 4))
	t.Cleanup(func() { s.Drain(drainFor); s.Close() })
	return ln.Addr().String()
}
