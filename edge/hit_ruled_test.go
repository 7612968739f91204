package edge

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/test/sequential"
)

// ruledSites is a file with rules of every kind of match and action that a hit may meet.
const ruledSites = `
version: 1
defaults: {compress: true}
sites:
  - name: shop
    hosts: [shop.test, "*.shop.test"]
    origins: {app: {urls: ["http://10.0.0.1:80"]}, files: {urls: ["http://10.0.0.2:80"], host: origin}}
    origin: app
    response_headers: {set: {X-Site: shop}}
    rules:
      - match: {path: "/fresh/assets/**"}
        origin: files
        key: {query: none}
        ttl: 30d
        response_headers: {set: {X-Asset: "yes"}, remove: [X-Amz-Request-Id]}
      - match: {cookie: session}
        cache: bypass
      - match: {header: {X-Device: "phone*"}}
        key: {headers: [X-Device]}
        response_headers: {add: {X-For: phones}}
      - match: {method: HEAD}
        response_headers: {set: {X-Head: "1"}}
      - match: {query: {debug: "1"}}
        response_headers: {set: {X-Debug: "1"}}
      - match: {path: "/fresh/old/**"}
        redirect: {to: "/fresh/new/$1"}
      - match: {path: "/fresh/moved/*"}
        rewrite: /fresh/to/$1
      - match: {path: "/fresh/closed/**"}
        deny: [127.0.0.0/8]
      - match: {path: "/fresh/open/**"}
        allow: [127.0.0.0/8]
      - match: {path: "/fresh/limited/**"}
        limit: {rate: 100000/1s}
      - match: {path_regex: "/fresh/(a|b)+"}
        key: {query: {include: [id, "p_*"]}, cookies: [lang]}
        strip_cookies: [tracking]
      - match: 'request.path.startsWith("/fresh/cel") && request.query["x"] == "1"'
        response_headers: {set: {X-Cel: "1"}}
      - match: 'request.headers["x-cel"] == "1"'
        response_headers: {set: {X-Cel: header}}
      - match: {not: {host: shop.test}}
        key: {host: false}
      - match: {path: "/fresh/stop"}
        stop: true
      - match: {path: "/fresh/**", client: 127.0.0.1}
        response_headers: {set: {X-Last: "1"}}
        compress: false
  - name: plain
    hosts: [plain.test]
    origins: {app: {urls: ["http://10.0.0.3:80"]}}
    origin: app
    limits: {client: 1000000/1m}
  - name: split
    hosts: [split.test]
    origins: {a: {urls: ["http://10.0.0.4:80"]}, b: {urls: ["http://10.0.0.5:80"]}}
    origin: {a: 1, b: 1, sticky: client}
`

// moments are the values in a response that depend on the time.
var moments = regexp.MustCompile(`(?m)^(Age: \d+|Date: .*|RateLimit: .*)\r$|ttl=-?\d+`)

// The hit path and the pipeline give the same response to random requests for sites with rules.
func TestRuledHitEqualsPipeline(t *testing.T) {
	e := newFileEdge(t, ruledSites)
	taken := &countedHits{Handler: e.proxy}
	fast, slow := e.serveBy(t, taken), e.serveBy(t, pipelineOnly{e.proxy})
	random := rand.New(rand.NewPCG(3, 4))
	paths := []string{"/fresh", "/fresh/assets/a.css", "/fresh/old/x", "/fresh/moved/x", "/fresh/closed/x",
		"/fresh/open/x", "/fresh/limited/x", "/fresh/ab", "/fresh/cel", "/fresh/stop", "/fresh/missing",
		"/fresh//assets/../assets/b.css", "/fresh/%61ssets/c.css", "/private", "/wrong", "/fresh/cookie"}
	queries := []string{"", "", "?debug=1", "?id=1&p_a=2&x=3", "?x=1", "?debug=%31&debug=2"}
	hosts := []string{"shop.test", "www.shop.test", "SHOP.test", "plain.test", "split.test", "none.test", "shop.test."}
	fields := []string{"X-Device: phone 1\r\n", "X-Device: desktop\r\n", "Cookie: session=1\r\n",
		"Cookie: lang=de; tracking=1\r\n", "X-Cel: 1\r\n", "If-None-Match: \"1\"\r\n", "Range: bytes=0-4\r\n",
		"Accept-Encoding: gzip, br\r\n", "X-Forwarded-For: 192.0.2.1\r\n", "Cache-Control: no-cache\r\n"}
	rounds := 1500
	if testing.Short() {
		rounds = 200
	}
	for range rounds {
		host := hosts[random.IntN(len(hosts))]
		request := []string{"GET", "GET", "GET", "HEAD"}[random.IntN(4)] + " " + paths[random.IntN(len(paths))] +
			queries[random.IntN(len(queries))] + " HTTP/1.1\r\nHost: " + host + "\r\n"
		for range random.IntN(3) {
			request += fields[random.IntN(len(fields))]
		}
		request += "\r\nGET /end HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n"
		ask(t, slow, request)
		a, b := sorted(ask(t, fast, request)), sorted(ask(t, slow, request))
		const hit = "iconedge; hit"
		if (strings.Contains(a, hit) || strings.Contains(b, hit)) && a != b {
			t.Fatalf("%q\nhit path: %q\npipeline: %q", request, a, b)
		}
	}
	if n := taken.n.Load(); n < int64(rounds)/6 {
		t.Errorf("the hit path answered only %d of %d requests", n, rounds)
	}
}

// sorted returns the first response with its fields in order, without what depends on the time:
// the edits of a rule have no order.
func sorted(answer string) string {
	head, body, _ := strings.Cut(answer, "\r\n\r\n")
	body, _, _ = strings.Cut(body, "HTTP/1.1 ")
	lines := strings.Split(moments.ReplaceAllString(head, ""), "\r\n")
	slices.Sort(lines)
	return fmt.Sprint(lines, body)
}

// Hits of sites with rules allocate no memory, unless the rules have expressions, or make addresses
// of the groups of regular expressions. Redirects do not either.
func TestRuledHitDoesNotAllocate(t *testing.T) {
	sequential.Test(t)
	e := newFileEdge(t, strings.Join(slices.DeleteFunc(strings.Split(ruledSites, "      - "),
		func(rule string) bool { return strings.HasPrefix(rule, "match: 'request") }), "      - "))
	const hit = "iconedge; hit"
	for _, row := range []struct{ host, target, fields, want string }{
		{"shop.test", "/fresh/assets/a.css?v=1", "", hit},
		{"shop.test", "/fresh/page", "X-Device: phone1\r\nAccept: */*\r\nUser-Agent: M\r\n", hit},
		{"www.shop.test", "/fresh/ab?id=1", "", hit},
		{"plain.test", "/fresh/page", "", hit},
		{"split.test", "/fresh/page", "", hit}, // of the origin that the client's address chooses
		{"shop.test", "/fresh/limited/x", "", hit},
		{"shop.test", "/fresh/moved/x?a=1", "", hit}, // the target for the origin is another one
		{"shop.test", "/fresh/bb", "Cookie: tracking=1\r\nCookie: tracking=2\r\n", hit},
		{"shop.test", "/fresh/page", "CDN-Loop: cloudflare; loops=1; subreqs=1\r\n", hit},
		{"shop.test", "/fresh/old/a/b?c=d", "", "\r\nLocation: /fresh/new/a/b?c=d\r\n"},
	} {
		q := eligibleRequest(t, row.target, row.fields)
		q.Host, q.Client = []byte(row.host), netip.MustParseAddr("127.0.0.1")
		var fields []string
		for line := range strings.SplitSeq(strings.TrimSuffix(row.fields, "\r\n"), "\r\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				fields = append(fields, name, value)
			}
		}
		e.ask(t, "GET http://"+row.host+row.target, fields...)
		out, ok := e.proxy.Answer(make([]byte, 0, 64<<10), q)
		if !ok || !strings.Contains(string(out), row.want) {
			t.Errorf("%s%s took the pipeline, or got another response: %q", row.host, row.target, out)
			continue
		}
		if n := testing.AllocsPerRun(200, func() { e.proxy.Answer(out[:0], q) }); n > 0 {
			t.Errorf("a hit of %s%s allocates %v times", row.host, row.target, n)
		}
	}
}

// countedHits counts the requests that the hit path answers.
type countedHits struct {
	listen.Handler
	n atomic.Int64
}

func (h *countedHits) Answer(dst []byte, q *request.Request) ([]byte, bool) {
	out, ok := h.Handler.Answer(dst, q)
	if ok {
		h.n.Add(1)
	}
	return out, ok
}

// BenchmarkForwardedHitPath measures a hit of a forwarded path, without a connection.
func BenchmarkForwardedHitPath(b *testing.B) {
	e := newFileEdge(b, ruledSites)
	browser := "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\nAccept: " +
		"text/html,*/*;q=0.8\r\nAccept-Language: en\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nCookie: " +
		"a=b\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\n"
	for _, row := range []struct{ name, host, target, fields string }{
		{"plain", "plain.test", "/fresh/page", ""},
		{"browser", "plain.test", "/fresh/page", browser},
		{"rules", "shop.test", "/fresh/assets/a.css?v=1", ""},
		{"limit", "shop.test", "/fresh/limited/a", ""},
		{"rewrite", "shop.test", "/fresh/moved/a", ""},
		{"redirect", "shop.test", "/fresh/old/a", ""},
	} {
		b.Run(row.name, func(b *testing.B) {
			e.ask(b, "GET http://"+row.host+row.target)
			q, out := eligibleRequest(b, row.target, row.fields), make([]byte, 0, 64<<10)
			q.Host = []byte(row.host)
			b.ReportAllocs()
			for b.Loop() {
				q.Now = time.Now()
				if _, ok := e.proxy.Answer(out, q); !ok {
					b.Fatal("the request took the pipeline")
				}
			}
		})
	}
}
