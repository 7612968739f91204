package edge

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/request"
)

// A loggedLine is one line of an access log.
type loggedLine struct {
	Time            time.Time
	Client          string
	Method, Path    string
	Host            string
	Status          int
	Bytes           int
	DurationSeconds float64 `json:"duration_seconds"`
	Route, Cache    string
	Protocol        string
	TLS             bool
	UserAgent       string `json:"user_agent"`
	Referer         string
	Error           string
	TraceID         string `json:"trace_id"`
}

// logs returns a change that turns the access log on, and a function that returns its text once the
// edge has ended.
func logs(t testing.TB) (change func(*Config), text func() string) {
	file := filepath.Join(t.TempDir(), "access.log")
	return func(c *Config) { c.AccessLog = file }, func() string {
		b, err := os.ReadFile(file)
		must(t, err)
		return string(b)
	}
}

// linesIn parses an access log. Each line must be one JSON object, with a time within the last
// hour.
func linesIn(t testing.TB, text string) (all []loggedLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l loggedLine
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("%q: %v", line, err)
		}
		if age := time.Since(l.Time); age < 0 || age > time.Hour || l.DurationSeconds < 0 || l.DurationSeconds > 3600 {
			t.Errorf("%s: a wrong time or duration", line)
		}
		l.Time, l.DurationSeconds = time.Time{}, 0
		all = append(all, l)
	}
	return all
}

// end stops an edge and flushes its access log and traces.
func (s *securedTest) end() {
	for _, leave := range *s.leave {
		leave() // else the edge waits a second for their next requests
	}
	s.stop()
	s.Server.Close()
}

const secretToken = "iel_" + "0123456789abcdefghijABCDEFGHIJ01234" + "secret"

// Every response of an edge, of whatever kind and over every protocol, has one line in the access
// log. The line describes the response that the client received, on the hit path and in the
// pipeline.
func TestResponsesHaveALine(t *testing.T) {
	requests := []struct {
		method, target, fields, body string
		status                       int
		route, cache                 string
	}{
		{"GET", "/mdi/home.svg", "", "", 200, "cdn", "miss"},
		{"GET", "/mdi/home.svg", "", "", 200, "cdn", "hit"},             // hit path
		{"GET", "/mdi/home.svg", "TE: trailers", "", 200, "cdn", "hit"}, // pipeline
		// The tests' client is a trusted proxy.
		{"GET", "/mdi/home.svg", "X-Forwarded-For: 203.0.113.9", "", 200, "cdn", "hit"},
		{"GET", "/mdi/home.svg", "Forwarded: for=\"[2001:db8::9]\"", "", 200, "cdn", "hit"},
		{"GET", "/mdi/home.svg", `If-None-Match: "home0123"`, "", 304, "cdn", "hit"},
		{"GET", "/mdi/home.svg", "Range: bytes=1-7", "", 206, "cdn", "hit"},
		{"GET", "/mdi/home.svg?color=f00", "", "", 200, "cdn", "hit"},
		{"GET", "/mdi/home.svg?color=f00", "", "", 200, "cdn", "hit"},
		{"GET", "/mdi/home.svg?token=" + secretToken, "", "", 200, "cdn", "hit"},
		{"HEAD", "/mdi/home.svg", "", "", 200, "cdn", "hit"},
		{"OPTIONS", "/mdi/home.svg", "", "", 204, "preflight", "own"},
		{"OPTIONS", "/nowhere", "Access-Control-Request-Method: GET", "", 204, "preflight", "own"},
		{"POST", "/mdi/home.svg", "", "x", 405, "cdn", "refused"},
		{"BREW", "/mdi/home.svg", "", "", 405, "cdn", "refused"},
		{"GET", "/mdi/none.svg", "", "", 404, "cdn", "miss"},
		{"GET", "/a/b/c", "", "", 404, "unknown", "refused"},
		{"GET", "/healthz", "", "", 200, "health", "own"},
		{"GET", "/", "", "", 200, "page", "miss"},
		{"GET", "/-/release", "", "", 200, "release", "miss"},
		{"GET", "/broken/x.svg", "", "", 502, "cdn", "error"},
		{"GET", "/api/v1/search?q=home", "Authorization: Bearer " + secretToken, "", 200, "search", "miss"},
		{"GET", "/api/v1/packs?limit=x", "Cookie: session=secret", "", 200, "packs", "miss"},
		{"POST", "/api/v1/auth/verify", "Content-Type: application/json", `{"token":"` + secretToken + `"}`, 200, "verify", "passed"},
		{"POST", "/api/v1/auth/verify", "Content-Type: application/json", strings.Repeat("x", exchange.MaxBody+1),
			413, "unknown", "refused"},
		{"GET", "/mdi/home.svg", "CDN-Loop: " + strings.Repeat("iconedge, ", 20) + "x", "", 508, "unknown", "refused"},
		{"GET", "/mdi/home.svg?size=1&size=2", "", "", 400, "cdn", "refused"},
	}
	for way, of := range wayOf {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			change, text := logs(t)
			s := newSecured(t, owntest.NewOrigin(), append(of.changes(), change)...)
			by := s.by(t, way)
			var want []loggedLine
			for _, a := range requests {
				r, err := http.NewRequest(a.method, "http://edge.test"+a.target, strings.NewReader(a.body))
				must(t, err)
				r.Header.Set("User-Agent", "test \"1\"")
				r.Header.Set("Referer", "https://site.test/page?session=secret")
				name, value, _ := strings.Cut(a.fields, ": ")
				if r.Header.Set(name, value); name == "" {
					delete(r.Header, "")
				}
				resp, err := by.RoundTrip(r)
				if err != nil {
					t.Logf("%s %s can't be sent over %s: %v", a.method, a.target, way, err)
					continue
				}
				body, err := io.ReadAll(resp.Body)
				must(t, err)
				resp.Body.Close()
				if resp.StatusCode != a.status {
					t.Errorf("%s %.100s %s: %d, want %d", a.method, a.target, a.fields, resp.StatusCode, a.status)
				}
				line := loggedLine{Client: "127.0.0.1", Method: a.method,
					Path: strings.Replace(a.target, secretToken, "REDACTED", 1), Host: "edge.test", Status: a.status,
					Bytes: len(body), Route: a.route, Cache: a.cache, Protocol: of.protocol.String(), TLS: of.secure,
					UserAgent: `test "1"`, Referer: "https://site.test/page"}
				switch {
				case a.status == http.StatusLoopDetected:
					line.Error = "proxy_loop_detected"
				case a.cache == "refused":
					line.Error = "http_request_error"
				case a.cache == "error":
					line.Error = "destination_unavailable"
				}
				for _, client := range []string{"203.0.113.9", "2001:db8::9"} {
					if strings.Contains(value, client) {
						line.Client = client
					}
				}
				want = append(want, line)
			}
			s.end()
			got := linesIn(t, text())
			if len(want) < len(requests)-2 || strings.Contains(text(), "secret") || strings.Contains(text(), "Bearer") {
				t.Errorf("of %d requests %d could be sent; the log:\n%s", len(requests), len(want), text())
			}
			compareLines(t, got, want)
		})
	}
}

func compareLines(t testing.TB, got, want []loggedLine) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("line %d:\n got %+v\nwant %+v", i+1, got[i], want[i])
		}
	}
}

// The refusal of a malformed request has a line in the access log too, which repeats nothing of the
// request.
func TestUnreadableHasALine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		request  string
		status   int
		bodyless bool
	}{
		{"hello\r\n\r\n", 400, false},
		{"GET /forged HTTP/1.1\r\nHost : a\r\n\r\n", 400, false},
		{"GET /" + strings.Repeat("a", 40_000) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414, false},
		{"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 40_000) + "\r\n\r\n", 431, false},
		{"HEAD /forged HTTP/1.1\r\nHost : a\r\n\r\n", 400, true},
	} {
		change, text := logs(t)
		s := newSecured(t, owntest.NewOrigin(), change)
		c, err := net.Dial("tcp", s.plain)
		must(t, err)
		_, err = io.WriteString(c, row.request)
		must(t, err)
		answer := make([]byte, 1)
		_, err = io.ReadFull(c, answer)
		must(t, err)
		s.end()
		rest, _ := io.ReadAll(c) // all of it was sent by then
		c.Close()
		answer = append(answer, rest...)
		_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
		got := linesIn(t, text())
		if len(got) != 1 || got[0].Status != row.status || got[0].Bytes != len(body) ||
			row.bodyless != (len(body) == 0) || got[0].Client != "127.0.0.1" || got[0].Method+got[0].Path+got[0].Host != "" {
			t.Errorf("%.40q: response %.40q; the log:\n%s", row.request, answer, text())
		}
	}
}

// Refusals of clients on the deny list and redirects to TLS have a line in the access log.
func TestRejectedHaveALine(t *testing.T) {
	t.Parallel()
	deny := filepath.Join(t.TempDir(), "deny")
	must(t, os.WriteFile(deny, []byte("192.0.2.66\n"), 0o600))
	change, text := logs(t)
	s := newSecured(t, owntest.NewOrigin(), change, func(c *Config) { c.DenyFile, c.TLSRedirect = deny, true })
	s.by(t, "h1 over TLS").do(t, "GET", "/mdi/home.svg", "X-Forwarded-For", "192.0.2.66")
	s.by(t, "h1").do(t, "GET", "/mdi/home.svg")
	s.end()
	got := linesIn(t, text())
	if len(got) != 2 || got[0].Status != 403 || got[0].Client != "192.0.2.66" || got[0].Cache != "denied" ||
		got[1].Status != 308 || got[1].Cache != "own" {
		t.Errorf("the log:\n%s", text())
	}
}

// The line of a streamed response is written when the body has ended, with the bytes that were
// sent.
func TestStreamHasALine(t *testing.T) {
	t.Parallel()
	body := random(600 << 10)
	for way, of := range wayOf {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			change, text := logs(t)
			site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for part := range slices.Chunk(body, 100<<10) {
					w.Write(part)
					w.(http.Flusher).Flush()
				}
				if r.URL.Path == "/cut" {
					panic(http.ErrAbortHandler)
				}
			})
			s := newSecured(t, site, append(of.changes(), change, func(c *Config) { c.ProxyAll = true })...)
			by := s.by(t, way)
			if a := by.get(t, "/long?api_key=secret"); len(a.body) != len(body) {
				t.Fatalf("%d bytes", len(a.body))
			}
			r, _ := http.NewRequest("GET", "http://edge.test/cut", nil)
			if resp, err := by.RoundTrip(r); err == nil {
				resp.Body.Close()
			}
			settled(t, "both lines are written", func() bool { return s.reports.Lines.Stats().Written == 2 })
			s.end()
			got := linesIn(t, text())
			if len(got) != 2 || got[0].Bytes != len(body) || got[0].Path != "/long?api_key=REDACTED" ||
				got[0].Route != "forwarded" || got[0].Status != 200 || got[1].Path != "/cut" || got[1].Bytes > len(body) {
				t.Errorf("the log:\n%s", text())
			}
		})
	}
}

// If the access log is sampled, it has a line for the given fraction of the successful responses,
// on the hit path and in the pipeline, and a line for every failure.
func TestSampledLines(t *testing.T) {
	t.Parallel()
	change, text := logs(t)
	s := newSecured(t, owntest.NewOrigin(), change, func(c *Config) { c.AccessLogSample = 0.2 })
	by := s.by(t, "h1")
	const n = 500
	for range n {
		by.get(t, "/mdi/home.svg")
		by.do(t, "HEAD", "/mdi/home.svg")
	}
	for range 10 {
		by.get(t, "/broken/x.svg")
	}
	s.end()
	count := map[string]int{}
	for _, l := range linesIn(t, text()) {
		count[fmt.Sprint(l.Method, l.Status)]++
	}
	if count["GET200"] < n/10 || count["GET200"] > n/3 || count["HEAD200"] < n/10 || count["HEAD200"] > n/3 || count["GET502"] != 10 {
		t.Errorf("lines of %d requests each: %v", n, count)
	}
}

// If the access log can't be written, clients are still served, and no line counts as written.
func TestFullDiskKeepsServing(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.AccessLog = "/dev/full" })
	for range 20 {
		if a := e.get(t, "/mdi/home.svg"); a.StatusCode != 200 {
			t.Fatal(a.StatusCode)
		}
	}
	if s := e.reports.Lines.Stats(); s.Written != 0 {
		t.Errorf("%+v", s)
	}
}

// fieldsOfNone are the header fields of a request, one line for each name.
type fieldsOfNone map[string]string

func (f fieldsOfNone) Line(name string, nth int) []byte {
	if v, ok := f[name]; ok && nth == 0 {
		return []byte(v)
	}
	return nil
}

func browser(target string) *request.Request {
	q := ready(target)
	q.Fields = fieldsOfNone{"user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
		"Chrome/140.0.0.0 Safari/537.36", "referer": "https://site.test/page"}
	q.Client = netip.MustParseAddr("203.0.113.77")
	return q
}

// BenchmarkReported measures a request on the hit path with several kinds of reports about it.
func BenchmarkReported(b *testing.B) {
	for _, row := range []struct {
		name   string
		change func(*Config)
	}{
		{"nothing", func(*Config) {}},
		{"log=0.01", func(c *Config) { c.AccessLog, c.AccessLogSample = os.DevNull, 0.01 }},
		{"log=1", func(c *Config) { c.AccessLog = os.DevNull }},
		{"trace=0", func(c *Config) { c.Trace.Endpoint, c.Trace.Sample = "http://127.0.0.1:1", 0 }},
	} {
		b.Run(row.name, func(b *testing.B) {
			e := newEdgeTest(b, owntest.NewOrigin(), row.change)
			must(b, e.library.Poll())
			e.get(b, "/mdi/home.svg")
			q, out := browser("/mdi/home.svg"), make([]byte, 0, 16<<10)
			b.ReportAllocs()
			for b.Loop() {
				q.Now = time.Now()
				if _, ok := e.Answer(out, q); !ok {
					b.Fatal("the request took the pipeline")
				}
			}
		})
	}
}
