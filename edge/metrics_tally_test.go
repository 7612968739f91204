package edge

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/iconedge/iconedge/edge/own/owntest"
)

// series returns the series of one metric, by their label values in the order of the label names.
func (e *edgeTest) series(t testing.TB, name string) map[string]*dto.Metric {
	t.Helper()
	families, err := e.metrics.Registry.Gather()
	must(t, err)
	all := map[string]*dto.Metric{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() == "iconedge_edge_"+name {
				all[strings.Join(values, " ")] = m
			}
		}
	}
	return all
}

// The series of failures exist from the start, because Prometheus does not see the first value of a
// series as an increase.
func TestFailureSeriesExistFromTheStart(t *testing.T) {
	if got := newEdgeTest(t, owntest.NewOrigin()).exported(); !strings.Contains(got,
		`iconedge_edge_requests_total{code="5xx",outcome="error",protocol="h2",route="search"} 0`) {
		t.Error("the series of failed searches does not exist before the first failure")
	}
}

// A 504 to an only-if-cached request counts as refused, not as a failure, because any client could
// cause such failures at will.
func TestOnlyIfCachedIsNoFailure(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.ProxyAll = true })
	for _, row := range []struct{ method, target, route string }{{"GET", "/mdi/home.svg", "cdn"},
		{"GET", "/page", "forwarded"}, {"HEAD", "/page", "forwarded"}} {
		if a := e.do(t, row.method, row.target, "Cache-Control", "only-if-cached"); a.StatusCode != 504 {
			t.Fatalf("%s %s: %d", row.method, row.target, a.StatusCode)
		}
		if got := e.exported(); !strings.Contains(got,
			`iconedge_edge_requests_total{code="5xx",outcome="error",protocol="h1",route="`+row.route+`"} 0`) {
			t.Errorf("%s %s counts as a failure", row.method, row.target)
		}
	}
}

// The metrics count the bytes of all bodies that the edge sends, over every protocol, whether a
// body comes from the cache, from the origin or from the edge itself.
func TestBytesAreCounted(t *testing.T) {
	t.Parallel()
	long := random(3 << 20)
	site := newSite(map[string]http.HandlerFunc{
		"/short": says("short", "Cache-Control", "max-age=60"),
		"/long": func(w http.ResponseWriter, _ *http.Request) {
			w.Write(long[:1<<20])
			w.(http.Flusher).Flush()
			w.Write(long[1<<20:])
		},
	})
	origin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/mdi/") {
			owntest.NewOrigin().ServeHTTP(w, r)
			return
		}
		site.ServeHTTP(w, r)
	})
	for name, of := range wayOf {
		s := newSecured(t, origin, append(of.changes(), func(c *Config) { c.ProxyAll = true })...).by(t, name)
		want := map[string]int{}
		for _, row := range []struct{ method, target, route, field string }{
			{"GET", "/mdi/home.svg", "cdn", "A: b"}, {"GET", "/mdi/home.svg", "cdn", "A: b"},
			{"GET", "/mdi/home.svg?color=f00", "cdn", "A: b"}, {"GET", "/mdi/home.svg?color=f00", "cdn", "A: b"},
			{"HEAD", "/mdi/home.svg", "cdn", "A: b"}, {"GET", "/mdi/home.svg", "cdn", "Range: bytes=0-9"},
			{"GET", "/mdi/home.svg", "cdn", "If-None-Match: *"},
			{"GET", "/api/v1/icon/mdi/home?color=x", "icon", "A: b"}, {"GET", "/healthz", "health", "A: b"},
			{"OPTIONS", "/mdi/home.svg", "preflight", "A: b"},
			{"GET", "/short", "forwarded", "A: b"}, {"GET", "/short", "forwarded", "A: b"},
			{"GET", "/long", "forwarded", "A: b"}, {"HEAD", "/long", "forwarded", "A: b"},
		} {
			name, value, _ := strings.Cut(row.field, ": ")
			want[row.route] += len(s.do(t, row.method, row.target, name, value).body)
		}
		got := map[string]int{}
		settled(t, "all bytes are counted", func() bool { // those of a stream at its end
			clear(got)
			missing := false
			for route, m := range s.series(t, "response_bytes_total") {
				if _, asked := want[route]; asked || m.GetCounter().GetValue() > 0 {
					got[route] = int(m.GetCounter().GetValue())
					missing = missing || got[route] < want[route]
				}
			}
			return !missing
		})
		if fmt.Sprint(got) != fmt.Sprint(want) || want["forwarded"] != len("shortshort")+len(long) {
			t.Errorf("%s: %v bytes are counted, want %v", name, got, want)
		}
	}
}

// The number of series is bounded whatever clients send, and no label has text from a client.
func TestBoundedSeries(t *testing.T) {
	t.Parallel()
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.Hosts = []string{"edge.test"} })
	e.library.Poll()
	send := func(round int) {
		for i := range 40 {
			odd := fmt.Sprintf("x%d-%d", round, i)
			for _, request := range []string{
				"GET /" + odd + " HTTP/1.1\r\nHost: edge.test\r\n\r\n",
				"GET /" + odd + "/" + odd + ".svg HTTP/1.1\r\nHost: edge.test\r\n\r\n",
				"GET /api/v1/" + odd + " HTTP/1.1\r\nHost: edge.test\r\n\r\n",
				"GET /api/v1/search?q=" + odd + " HTTP/1.1\r\nHost: edge.test\r\n\r\n",
				"GET /-/names?release=" + odd + " HTTP/1.1\r\nHost: edge.test\r\n\r\n",
				"GET /mdi/home.svg?" + odd + " HTTP/1.1\r\nHost: edge.test\r\n\r\n",
				strings.ToUpper(odd[:1]) + "M" + fmt.Sprint(i) + " /mdi/home.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n",
				"OPTIONS /" + odd + " HTTP/1.1\r\nHost: edge.test\r\n\r\n",
				"GET / HTTP/1.1\r\nHost: " + odd + ".test\r\n\r\n",
				"GET /mdi/home.svg HTTP/1." + fmt.Sprint(i) + "\r\nHost: edge.test\r\n\r\n",
				"GET /%00" + odd + " HTTP/1.1\r\nHost: edge.test\r\nAuthorization: Bearer " + odd + "\r\n\r\n",
				odd + "\r\n\r\n",
			} {
				e.sends(t, request)
			}
		}
	}
	count := func() (n int, page string) {
		families, err := e.metrics.Registry.Gather()
		must(t, err)
		var b strings.Builder
		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "iconedge_") {
				n += len(f.GetMetric())
				expfmt.MetricFamilyToText(&b, f)
			}
		}
		return n, b.String()
	}
	for round := range 4 { // until the client has used up all its limits
		send(round)
	}
	before, _ := count()
	send(4)
	after, page := count()
	if before != after {
		t.Errorf("%d series became %d; want no new ones", before, after)
	}
	if strings.Contains(page, "x0-") || strings.Contains(page, "x4-") {
		t.Errorf("text from a client is in the metrics:\n%s", page)
	}
	if most := 240; after > most {
		t.Errorf("%d series, more than %d", after, most)
	}
}

// sends sends request over a new connection, and reads the response to its end.
func (e *edgeTest) sends(t *testing.T, request string) {
	t.Helper()
	c, err := e.dialRaw()
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, strings.Replace(request, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
	must(t, err)
	io.Copy(io.Discard, c)
}
