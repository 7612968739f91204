package edge

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/proxy"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/logtest"
)

// A panic in a request becomes a 500. The edge counts it under the request's route and logs it with
// the fields of the access log. The log contains no tokens and no header lines of the client.
func TestPanics(t *testing.T) {
	t.Parallel()
	const secret = "iel_0123456789012345678901234567890123456789"
	for way, of := range wayOf {
		for _, row := range []struct {
			name           string
			proxyAll       bool
			breaks         func(*proxy.Proxy) // removes something that the request needs
			method, target string
			route, path    string
		}{
			{"an icon", false, func(h *proxy.Proxy) { h.Finder.Cache = nil }, "GET", "/mdi/home.svg?token=hidden",
				"cdn", "/mdi/home.svg?token=REDACTED"},
			{"a search", false, func(h *proxy.Proxy) { h.Finder.Cache = nil }, "GET", "/api/v1/search?q=" + secret,
				"search", "/api/v1/search?q=iel_REDACTED"},
			{"a forwarded path", true, func(h *proxy.Proxy) { h.Finder.Cache = nil }, "GET",
				"/long/" + strings.Repeat("x", 2000), "forwarded", "/long/" + strings.Repeat("x", 1024-len("/long/")) + "…"},
			{"a forwarded path of two segments", true, func(h *proxy.Proxy) { h.Finder.Origin = brokenFetcher() },
				"DELETE", "/a/b?password=hidden", "forwarded", "/a/b?password=REDACTED"},
			{"before its route is known", false, func(h *proxy.Proxy) { h.Options.Tiers = nil }, "GET",
				"/mdi/home.svg", "unknown", "/mdi/home.svg"},
		} {
			t.Run(way+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				change, text := logs(t)
				var log logtest.Log
				e := beforeSecured(t, owntest.NewOrigin(), append(of.changes(), change, func(c *Config) {
					c.ProxyAll, c.Log = row.proxyAll, slog.New(slog.NewJSONHandler(&log, nil))
				})...)
				row.breaks(e.Proxy)
				s := serveSecured(t, e)
				r, err := http.NewRequest(row.method, "http://edge.test"+row.target, nil)
				must(t, err)
				r.Header.Set("X-Forwarded-For", "203.0.113.9")
				r.Header.Set("Authorization", "Bearer "+secret)
				resp, err := s.by(t, way).send(r) // the API's description has no 500
				must(t, err)
				resp.Body.Close()
				if resp.StatusCode != 500 {
					t.Errorf("the response is %d, want 500", resp.StatusCode)
				}
				protocol := of.protocol.String()
				want := fmt.Sprintf(`iconedge_edge_requests_total{code="5xx",outcome="error",protocol=%q,route=%q} 1`, protocol, row.route)
				counted := 0
				for line := range strings.Lines(exported(t, s.Proxy)) {
					if strings.HasPrefix(line, "iconedge_edge_requests_total{") && !strings.HasSuffix(line, " 0\n") {
						if counted++; line != want+"\n" {
							t.Errorf("counted %s, want %s", line, want)
						}
					}
				}
				if counted != 1 {
					t.Errorf("%d counters are not 0, want 1", counted)
				}
				settled(t, "the access log line is written", func() bool { return s.reports.Lines.Stats().Written == 1 })
				if l := linesIn(t, text()); l[0].Route != row.route || l[0].Status != 500 || l[0].Client != "203.0.113.9" {
					t.Errorf("the access log has %+v", l[0])
				}
				var logged struct{ Msg, Panic, Method, Path, Client, Protocol, Route, Stack string }
				_, line, _ := strings.Cut(log.String(), `"level":"ERROR"`)
				line, _, _ = strings.Cut(line, "\n")
				if err := json.Unmarshal([]byte("{"+strings.TrimPrefix(line, ",")), &logged); err != nil {
					t.Fatalf("%v: %s", err, log.String())
				}
				if logged.Panic == "" || logged.Stack == "" || logged.Method != row.method || logged.Path != row.path ||
					logged.Client != "203.0.113.9" || logged.Protocol != protocol || logged.Route != row.route {
					logged.Stack = fmt.Sprint(len(logged.Stack), " bytes")
					t.Errorf("the log has %+v, want %s %s (%s)", logged, row.method, row.path, row.route)
				}
				if all := log.String() + text(); strings.Contains(all, secret[4:20]) || strings.Contains(all, "hidden") {
					t.Errorf("a log contains a secret: %s", all)
				}
			})
		}
	}
}

// A panic of a collapsed fetch is logged once, with the path redacted as in the access log. Every
// client that waits for the fetch gets a 500.
func TestPanicWhileFetching(t *testing.T) {
	var log logtest.Log
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	e.Finder.Origin = brokenFetcher()
	r, err := http.NewRequest(http.MethodGet, "http://edge.test/api/v1/search?q=iel_0123456789012345678901234567890123456789", nil)
	must(t, err)
	resp, err := e.send(r) // the API's description has no 500
	must(t, err)
	if resp.Body.Close(); resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("the response is %d, want 500", resp.StatusCode)
	}
	for _, want := range []string{`"msg":"panic while fetching","method":"GET","path":"/api/v1/search?q=iel_REDACTED"`, `goroutine`,
		`origin.go`} {
		if strings.Count(log.String(), want) == 0 {
			t.Errorf("the log has no %s: %s", want, log.String())
		}
	}
	if n := strings.Count(log.String(), `"level":"ERROR"`); n != 1 {
		t.Errorf("%d error lines, want 1: %s", n, log.String())
	}
}

// brokenFetcher returns a fetcher whose every fetch panics, because it has no context.
func brokenFetcher() *fetch.Fetcher {
	client := upstream.New(upstream.Config{Origins: [][]*url.URL{{{Scheme: "http", Host: "127.0.0.1:1"}}}})
	return fetch.NewFetcher(fetch.FetcherOptions{MaxWaiting: 1, Client: client})
}

// exported returns the text of the edge's metrics.
func exported(t *testing.T, h *proxy.Proxy) string {
	t.Helper()
	ln := listenTest(t)
	s := &http.Server{Handler: h.Options.Metrics.Handler()}
	go s.Serve(ln)
	defer s.Close()
	resp, err := http.Get("http://" + ln.Addr().String() + "/metrics")
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return string(text)
}
