package edge

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// normalised returns a response as text, without the state of limits and the parts that only TLS
// has.
func normalised(resp *http.Response, body string) string {
	resp.Header.Del("Alt-Svc")
	resp.Header.Del("Connection")
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d\r\n", resp.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		fmt.Fprintf(&b, "%s: %s\r\n", strings.Replace(name, "Ratelimit", "RateLimit", 1), strings.Join(resp.Header[name], "|"))
	}
	return uncounted(b.String() + "\r\n" + body)
}

// differing returns the first lines in which a response differs from the wanted one.
func differing(got, want string) string {
	a, b := strings.Split(got, "\r\n"), strings.Split(want, "\r\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%.200q, want %.200q", a[i], b[i])
		}
	}
	return "one response is longer"
}

// call sends a request with the given header line and returns the normalised response.
func (e *edgeTest) call(t testing.TB, method, target, line string, body io.Reader) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://edge.test", body)
	must(t, err)
	path, query, hasQuery := strings.Cut(target, "?")
	r.URL.Opaque, r.URL.RawQuery, r.URL.ForceQuery = "//edge.test"+path, query, hasQuery && query == ""
	fields, err := textproto.NewReader(bufio.NewReader(strings.NewReader(line + "\r\n"))).ReadMIMEHeader()
	if err != nil {
		t.Fatalf("%.100q: %v", line, err)
	}
	r.Header = http.Header(fields)
	resp, err := e.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %.100s %.100q: %v", method, target, line, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %.100s %.100q: %v", method, target, line, err)
	}
	return normalised(resp, string(b))
}

// aside is a client of HTTP/2 whose connections, in the clear, are served in another way than the
// edge would.
func (s *securedTest) aside(t testing.TB, h listen.Handler, change ...func(*listen.Options)) *edgeTest {
	t.Helper()
	ln := listenTest(t)
	s.serveToo(t, ln, h, change...)
	e := *s.edgeTest
	client := s.over(ln.Addr().String(), (*http.Protocols).SetUnencryptedHTTP2)
	t.Cleanup(client.(*http.Transport).CloseIdleConnections)
	e.via, e.plainly = client, true
	return &e
}

// ofStreams are those of manyFields that any protocol can carry.
func ofStreams() []string {
	return slices.DeleteFunc(slices.Clone(manyFields), func(line string) bool {
		name, _, _ := strings.Cut(line, ":")
		return slices.Contains([]string{"Connection", "Upgrade", "TE", "Expect", "Content-Length", "X A"}, name)
	})
}

// The response to a request is the same over HTTP/1.1, over HTTP/2 on the hit path, in the
// pipeline and by the reference server, and over HTTP/3.
func TestSameByEveryProtocol(t *testing.T) {
	t.Parallel()
	s := newSecured(t, lifetime{owntest.NewOrigin()}, func(c *Config) {
		for _, limit := range []string{"search=1000000/1h", "icon=1000000/1h", "packs=1000000/1h"} {
			c.Limits.Set(limit)
		}
	})
	want := s.aside(t, s.Proxy, func(o *listen.Options) { o.Secure.HTTP2Reference = true })
	got := map[string]*edgeTest{"h1": s.by(t, "h1 over TLS").edgeTest, "h2": s.by(t, "h2").edgeTest,
		"h2, the pipeline": s.aside(t, pipelineOnly{s.Proxy}), "h3": s.by(t, "h3").edgeTest}
	for _, target := range manyTargets {
		for range 2 { // a variant is stored at the second request
			want.call(t, http.MethodGet, target, "Authorization: Bearer "+good+"\r\n", nil)
		}
		lines := ofStreams()
		if !slices.Contains(hotTargets, target) {
			lines = lines[:4]
		}
		for _, line := range lines {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				a := want.call(t, method, target, line, nil)
				for by, e := range got {
					b := e.call(t, method, target, line, nil)
					if a != b && !s.agree(t, func() bool {
						a, b = want.call(t, method, target, line, nil), e.call(t, method, target, line, nil)
						return a == b
					}) {
						t.Errorf("%s %s %q\n%s: %s", method, target, line, by, differing(b, a))
					}
				}
			}
		}
	}
	if n := s.listeners.StreamStats().Broken; n != 0 {
		t.Errorf("%d connections of HTTP/2 were broken", n)
	}
}

// HTTP/2 requests take the hit path. Otherwise the comparison of the protocols would not cover it.
func TestHitPathOfH2IsTaken(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin())
	must(t, e.library.Poll())
	for _, target := range []string{"/mdi/home.svg", "/mdi/home.svg?color=f00", "/mdi/home.svg?size=48",
		"/api/v1/search?q=home", "/api/v1/icon/mdi/home", "/api/v1/packs"} {
		e.get(t, target)
		e.get(t, target) // a variant is stored at the second request
		if out, block, ok := e.AnswerH2(nil, ready(target), new(h2.ClientTable)); !ok || block == 0 || len(out) <= block+h2.Gap {
			t.Errorf("%s took the pipeline: %q", target, out)
		}
	}
}

// A client has one rate limit window, whatever protocols it uses.
func TestOneWindow(t *testing.T) {
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.Limits.Set("search=10/1h") })
	ways := map[string]*securedTest{}
	for name, w := range wayOf {
		if !w.reference {
			ways[name] = s.by(t, name)
		}
	}
	for left := 9; left >= 0; {
		for name, e := range ways {
			a := e.get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.77")
			if got, want := a.Header.Get("RateLimit"),
				fmt.Sprintf(`"search";r=%d;`, max(left, 0)); !strings.HasPrefix(got, want) || (a.StatusCode == 200) != (left >= 0) {
				t.Errorf("by %s: %d, %q, want %s", name, a.StatusCode, got, want)
			}
			left--
		}
	}
	for name, e := range ways {
		if a := e.get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.77"); a.StatusCode != 429 ||
			a.Header.Get("Retry-After") == "" {
			t.Errorf("by %s, over the limit: %d", name, a.StatusCode)
		}
	}
}
