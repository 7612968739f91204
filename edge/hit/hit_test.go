package hit

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/qpack"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/request/requesttest"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/edge/vhosts/vhoststest"
)

// A testPath is a hit path alone: a cache that the test fills, and a clock that it moves.
type testPath struct {
	*Path
	set *vhosts.Set
	now time.Time
}

func newTestPath(t testing.TB, file string, change ...func(*Options)) *testPath {
	t.Helper()
	p := &testPath{now: entrytest.T0}
	clock := func() time.Time { return p.now }
	c, err := cache.New(cache.Options{MaxBytes: 16 << 20, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	metrics, log := observe.NewMetrics("test"), slog.New(slog.DiscardHandler)
	o := Options{AltSvc: func(netip.Addr) string { return "" }, Clock: clock, Cache: c,
		Compressor: compress.New(c, log), Metrics: metrics, Origin: upstream.New(upstream.Config{}),
		Clients:   access.Clients{Trusted: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}},
		Admission: access.NewAdmission(access.Options{Observer: metrics, Clock: clock})}
	for _, c := range change {
		c(&o)
	}
	metrics.ConfigReloaded(true)
	reports := observe.Reporting{}
	if o.Reports, err = reports.Open(nil, "test", log, o.Clients.OfEligible); err != nil {
		t.Fatal(err)
	}
	p.Path, p.set = New(o), vhoststest.New(t, clock, file)
	p.Use(p.set)
	for _, s := range p.set.All() {
		const mounted, ownPort = false, true
		p.RememberHost(p.set, []byte(s.Rules.Hosts[0]), s, mounted, ownPort)
	}
	return p
}

// put stores a response of another application as the pipeline does, by the key that the rules give
// to the request for it.
func (p *testPath) put(t testing.TB, host, target string, fields ...string) {
	t.Helper()
	site, _ := p.set.Find(host)
	q := rules.Request{Method: http.MethodGet, Host: host, Target: target, Header: http.Header{}, Now: p.now,
		Client: requesttest.Client, Unanswered: true}
	d := site.Rules.Decide(&q)
	p.store(t, p.Cache.Generation(), site.Rules.Key(&d, &q, "http", host), target, fields...)
}

// store stores the page of a target under a key, as the response to a request that began then.
func (p *testPath) store(t testing.TB, began cache.Generation, key, target string, fields ...string) {
	t.Helper()
	e := entrytest.New(key, "the page "+target)
	e.Date, e.ContentType, e.Policy = []byte("Sat, 21 Nov 2026 12:00:00 GMT"), []byte("text/plain"),
		cachepolicy.Entry{Stored: p.now, Lifetime: time.Minute}
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "Vary" {
			e.Vary = []string{fields[i+1]}
			e.Secondary = cachepolicy.VaryKey(e.Vary, func(string) []string { return nil })
		}
		e.Fields = append(e.Fields, cache.Field{Name: []byte(fields[i]), Value: []byte(fields[i+1])})
	}
	if !p.Cache.Put(e, began) {
		t.Fatalf("%s was not stored", key)
	}
}

// answer returns the response over HTTP/1.1; empty: the request is left to the pipeline.
func (p *testPath) answer(q *request.Request) string {
	out, ok := p.Answer(nil, q)
	if !ok {
		return ""
	}
	return string(out) + string(q.Body)
}

const shop = `
version: 1
sites:
  - name: shop
    hosts: [shop.test]
    origins: {app: {urls: ["http://192.0.2.9:80"]}}
    response_headers: {set: {X-Site: shop}}
    rules: [
`

// with returns a file of one site with these rules.
func with(rules ...string) string { return shop + strings.Join(rules, ",\n") + "]\n" }

// What the hit path answers, with what, and what it leaves to the pipeline. The stored page is
// fresh for a minute.
func TestAnswers(t *testing.T) {
	const ok, left = "HTTP/1.1 200 OK\r\n", ""
	for name, row := range map[string]struct {
		rules  []string
		target string
		fields []string
		want   string // how it begins, and parts of it behind bars
	}{
		"a fresh page": {nil, "/page", nil,
			ok + "|Age: 10\r\n|Cache-Status: iconedge; hit; ttl=50\r\n|X-Site: shop\r\n|\r\n\r\nthe page /page"},
		"a page that is not stored": {nil, "/other", nil, left},
		"another host":              {nil, "/page", []string{"host"}, left},
		"a condition that fails": {nil, "/page", []string{`If-None-Match: "x", W/"tag"`},
			"HTTP/1.1 304 Not Modified\r\n|ETag: \"tag\"\r\n"},
		"a part": {nil, "/page", []string{"Range: bytes=4-7"},
			"HTTP/1.1 206 Partial Content\r\n|Content-Range: bytes 4-7/14\r\n|\r\n\r\npage"},
		"a part outside of the body":  {nil, "/page", []string{"Range: bytes=99-"}, left},
		"a client that wants it anew": {nil, "/page", []string{"Cache-Control: no-cache"}, ok},
		"another cache before":        {nil, "/page", []string{"CDN-Loop: cloudflare; loops=1"}, ok},
		"this edge before":            {nil, "/page", []string{"CDN-Loop: " + strings.Repeat("iconedge, ", 20) + "x"}, left},
		"a field that varies":         {nil, "/vary", []string{"X-Device: phone"}, left},
		"the field of the stored one": {nil, "/vary", nil, ok},
		"an edit of the field":        {[]string{`{request_headers: {set: {X-Device: tv}}}`}, "/vary", nil, left},
		"an edit of another field":    {[]string{`{request_headers: {set: {X-Other: tv}}}`}, "/vary", nil, ok},
		"an edit of the response": {[]string{`{response_headers: {set: {X-Rule: "1"}, remove: [X-Site]}}`},
			"/page", nil, ok + "|X-Rule: 1\r\n"},
		"a rule that bypasses": {[]string{`{match: {cookie: session}, cache: bypass}`}, "/page",
			[]string{"Cookie: session=1"}, left},
		"a rule that does not match": {[]string{`{match: {cookie: session}, cache: bypass}`}, "/page", []string{"Cookie: a=b"}, ok},
		"a cookie that a rule strips": {[]string{`{strip_cookies: ["_*"], key: {cookies: ["_*", a]}}`}, "/page",
			[]string{"Cookie: _ga=1"}, ok},
		"one that it keeps": {[]string{`{strip_cookies: ["_*"], key: {cookies: ["_*", a]}}`}, "/page",
			[]string{"Cookie: _ga=1; a=b"}, left},
		"a redirect": {[]string{`{match: {path: "/old/**"}, redirect: {to: "/new/$1"}}`},
			"/old/a/b?c=d", nil, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n|Location: /new/a/b?c=d\r\n|X-Site: shop\r\n"},
		"a response of the operator": {[]string{`{match: {path: /robots.txt}, respond: {body: "none", type: text/plain}}`},
			"/robots.txt", nil, ok + "Content-Type: text/plain\r\nContent-Length: 4\r\n|\r\n\r\nnone"},
		"one without a body": {[]string{`{match: {path: /ping}, respond: {status: 204}}`}, "/ping", nil,
			"HTTP/1.1 204 No Content\r\nDate: "},
		"a target that a rule rewrites": {[]string{`{match: {path: "/to/*"}, rewrite: "/$1"}`}, "/to/page", nil,
			ok + "|the page /to/page"},
		"a signature":                  {[]string{`{signed: {secret: x, param: s, expires: e}}`}, "/page", nil, left},
		"a client that a rule refuses": {[]string{`{deny: [192.0.2.0/24]}`}, "/page", nil, left},
		"a client that a rule lets in": {[]string{`{allow: [192.0.2.0/24]}`}, "/page", nil, ok},
		"hints before the response":    {[]string{`{early_hints: ["</a.css>; rel=preload"]}`}, "/page", nil, left},
		"several limits with room": {[]string{`{limit: {rate: 9/1m}}`, `{limit: {rate: 9/1m, key: path}}`,
			`{limit: {rate: 9/1m, key: header X-User}}`}, "/page", nil, ok},
		"a proxy that names the address": {nil, "/page", []string{"X-Forwarded-For: 203.0.113.9"}, ok},
	} {
		p := newTestPath(t, with(row.rules...))
		p.put(t, "shop.test", "/page")
		p.put(t, "shop.test", "/vary", "Vary", "X-Device")
		p.put(t, "shop.test", "/to/page")
		p.now = p.now.Add(10 * time.Second)
		host := "shop.test"
		if slices.Equal(row.fields, []string{"host"}) {
			host, row.fields = "other.test", nil
		}
		got := p.answer(requesttest.New(t, host, row.target, row.fields...))
		parts := strings.Split(row.want, "|")
		if !strings.HasPrefix(got, parts[0]) || got != "" && row.want == left {
			t.Errorf("%s: got %q, want %q", name, got, parts[0])
		}
		for _, part := range parts[1:] {
			if !strings.Contains(got, part) {
				t.Errorf("%s: got %q, want %q in it", name, got, part)
			}
		}
	}
}

// A stale page is left to the pipeline, which begins to revalidate it; while it does, the hit path
// serves the page.
func TestStale(t *testing.T) {
	p := newTestPath(t, with())
	p.put(t, "shop.test", "/page")
	p.now = p.now.Add(time.Minute)
	if got := p.answer(requesttest.New(t, "shop.test", "/page")); got != "" {
		t.Errorf("a stale page that nobody revalidates: %q", got)
	}
}

// A request over one of its limits gets its refusal at once, with the edits of the rules up to that
// limit. The limits before it have counted the request, as in the pipeline, those behind it have
// not.
func TestLimits(t *testing.T) {
	p := newTestPath(t, with(
		`{limit: {rate: 4/1m, key: path}, response_headers: {set: {X-First: "1"}}}`,
		`{match: {header: {X-User: ann}}, limit: {rate: 1/1m, key: header X-User}, response_headers: {set: {X-Second: "1"}}}`,
		`{response_headers: {set: {X-Third: "1"}}}`))
	p.put(t, "shop.test", "/page")
	for i, row := range []struct {
		user    string
		status  int
		edits   []string
		without string
	}{
		{"ann", 200, []string{"X-First", "X-Second", "X-Third"}, "Retry-After"},
		{"ann", 429, []string{"X-First", "X-Second", "Retry-After: 60"}, "X-Third"},
		{"bob", 200, []string{"X-First", "X-Third"}, "X-Second"},
		{"bob", 200, nil, "Retry-After"},
		{"bob", 429, []string{"X-First", "Retry-After: 60"}, "X-Third"},
	} {
		got := p.answer(requesttest.New(t, "shop.test", "/page", "X-User: "+row.user))
		if !strings.HasPrefix(got, "HTTP/1.1 "+strconv.Itoa(row.status)+" ") || strings.Contains(got, row.without) {
			t.Errorf("request %d of %s: %q, want %d without %s", i+1, row.user, got, row.status, row.without)
		}
		for _, edit := range row.edits {
			if !strings.Contains(got, edit) {
				t.Errorf("request %d of %s: %q lacks %s", i+1, row.user, got, edit)
			}
		}
	}
}

// While the edge drains, and where requests without TLS are redirected, the pipeline answers. A
// trusted proxy may have received the request over TLS.
func TestLeft(t *testing.T) {
	p := newTestPath(t, with(), func(o *Options) { o.Redirects = true })
	p.put(t, "shop.test", "/page")
	if got := p.answer(requesttest.New(t, "shop.test", "/page")); got != "" {
		t.Errorf("without TLS: %q", got)
	}
	p.Redirects = false
	if got := p.answer(requesttest.New(t, "shop.test", "/page")); got == "" {
		t.Error("a hit was left to the pipeline")
	}
	p.Drain()
	if got := p.answer(requesttest.New(t, "shop.test", "/page")); got != "" {
		t.Errorf("while the edge drains: %q", got)
	}
}

// Each protocol gets the same fields and the same body, of a stored page, a redirect, a response of
// the operator and a refusal.
func TestProtocols(t *testing.T) {
	for _, target := range []string{"/page", "/old/a", "/robots.txt", "/few"} {
		for _, head := range []bool{false, true} {
			p := newTestPath(t, with(`{match: {path: "/old/*"}, redirect: {to: "/$1"}}`,
				`{match: {path: /robots.txt}, respond: {body: none}}`, `{match: {path: /few}, limit: {rate: 1/1h}}`))
			p.put(t, "shop.test", "/page")
			p.put(t, "shop.test", "/few")
			q := requesttest.New(t, "shop.test", target)
			if target == "/few" {
				p.answer(q)
			}
			q.Head = head
			first := p.answer(q)
			lines, body, _ := strings.Cut(first, "\r\n\r\n")
			status, lines, _ := strings.Cut(lines, "\r\n")
			want := ":status: " + strings.Fields(status)[1]
			for line := range strings.SplitSeq(lines, "\r\n") {
				name, value, _ := strings.Cut(line, ": ")
				want += "\n" + strings.ToLower(name) + ": " + value
			}
			want += "\n" + body
			out, block, ok := p.AnswerH2(nil, q, new(h2.ClientTable))
			if got := decodedH2(t, out, block); !ok || got != want {
				t.Errorf("%s over HTTP/2: %q, want %q", target, got, want)
			}
			out, ok = p.AnswerH3(nil, q)
			if got := decodedH3(t, out); !ok || got != want {
				t.Errorf("%s over HTTP/3: %q, want %q", target, got, want)
			}
		}
	}
}

// decodedH2 returns a response of HTTP/2 as lines.
func decodedH2(t *testing.T, out []byte, block int) (text string) {
	t.Helper()
	fields, err := hpack.NewDecoder(4096, nil).DecodeFull(out[:block])
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		text += f.Name + ": " + f.Value + "\n"
	}
	if len(out) > block {
		text += string(out[block+h2.Gap:])
	}
	return text
}

// decodedH3 returns a response of HTTP/3 as lines: the payload of its frames HEADERS and DATA.
func decodedH3(t *testing.T, out []byte) (text string) {
	t.Helper()
	section, rest := cutFrame(t, out)
	next := qpack.NewDecoder().Decode(section)
	for {
		f, err := next()
		if err != nil {
			break
		}
		text += f.Name + ": " + f.Value + "\n"
	}
	if len(rest) > 0 {
		body, _ := cutFrame(t, rest)
		text += string(body)
	}
	return text
}

// cutFrame returns the payload of the first frame, whose type has one byte (RFC 9114, section 7.1).
func cutFrame(t *testing.T, b []byte) (payload, rest []byte) {
	t.Helper()
	length, n := int(b[1]&0x3f), 2
	for range 1<<(b[1]>>6) - 1 {
		length, n = length<<8|int(b[n]), n+1
	}
	if len(b) < n+length {
		t.Fatalf("a frame of %d bytes in %d", length, len(b))
	}
	return b[n : n+length], b[n+length:]
}

// An icon is answered by its own path, in a colour too, and counts against the limit of its class.
func TestIcons(t *testing.T) {
	p := newTestPath(t, "version: 1\nsites: [{name: icons, hosts: [icons.test], icons: true, origins: {icons: {urls: "+
		"[\"http://192.0.2.9:80\"]}}}]\n", func(o *Options) {
		limits := access.Limits{}
		if err := limits.Set("cdn=3/1h"); err != nil {
			t.Fatal(err)
		}
		o.Admission.Use(limits)
	})
	if !p.Cache.Put(entrytest.Own("/mdi/home.svg", `<svg fill="currentColor"/>`), p.Cache.Generation()) {
		t.Fatal("the icon was not stored")
	}
	for i, row := range []struct{ target, field, want string }{
		{"/mdi/home.svg", "Accept: */*", `<svg fill="currentColor"/>`},
		{"/mdi/home.svg?color=%23f00", "Accept: */*", `<svg fill="#ff0000"/>`},
		{"/mdi/home.svg", `If-None-Match: "0123456789abcdef0123456789abcdef"`, "HTTP/1.1 304 Not Modified\r\n"},
		{"/mdi/home.svg", "Accept: */*", "HTTP/1.1 429 Too Many Requests\r\n"},
	} {
		got := p.answer(requesttest.New(t, "icons.test", row.target, row.field))
		if !strings.Contains(got, row.want) || !strings.Contains(got, fmt.Sprintf("RateLimit: \"cdn\";r=%d;", max(0, 2-i))) {
			t.Errorf("%s with %s: %q, want %q", row.target, row.field, got, row.want)
		}
	}
}
