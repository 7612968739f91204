package edge

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// deadOrigin returns the URL of an origin that refuses connections.
func deadOrigin(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return "http://" + l.Addr().String()
}

// TestReloadedOriginMakesReady: an edge that has started with a wrong origin is ready as soon as a
// reload has brought one that accepts connections, without any request of a client: a load balancer
// sends none before that.
func TestReloadedOriginMakesReady(t *testing.T) {
	file := func(origin string) string {
		return fmt.Sprintf("version: 1\nsites: [{name: a, hosts: [a.test], origins: {app: {urls: [%q]}}}]\n", origin)
	}
	e := newFileEdge(t, file(deadOrigin(t)))
	if code := statusOf(t, e.admin+"/readyz"); code != 503 {
		t.Errorf("/readyz is %d before an origin accepts connections, want 503", code)
	}
	e.write(t, file("http://10.0.0.1:80"))
	must(t, e.sites.Reload())
	settled(t, "it is ready", func() bool { return statusOf(t, e.admin+"/readyz") == 200 })
}

// TestAnySiteMakesReady: the dead origin of one site does not keep the others from their clients.
func TestAnySiteMakesReady(t *testing.T) {
	e := newFileEdge(t, fmt.Sprintf(`version: 1
sites:
  - {name: a, hosts: [a.test], origins: {app: {urls: [%q]}}}
  - {name: b, hosts: [b.test], origins: {app: {urls: ["http://10.0.0.1:80"]}}}
`, deadOrigin(t)))
	settled(t, "it is ready", func() bool { return statusOf(t, e.admin+"/readyz") == 200 })
}

// TestReloadedRuleLimits: the limit of a rule keeps its counts, and no other rule gets them, when a
// reload brings a rule before it and a site before its own.
func TestReloadedRuleLimits(t *testing.T) {
	site := func(name, rules string) string {
		return fmt.Sprintf("  - name: %s\n    hosts: [%s.test]\n    origins: {app: {urls: [\"http://10.0.0.1:80\"]}}\n    rules:\n%s",
			name, name, rules)
	}
	rule := func(path string) string {
		return fmt.Sprintf("      - {match: {path: %q}, limit: {rate: 2/1h}}\n", path)
	}
	e := newFileEdge(t, "version: 1\nsites:\n"+site("a", rule("/x")+rule("/y")+rule("/y")))
	for _, want := range []int{200, 200, 429} {
		e.run(t, []fileStep{{"GET http://a.test/x", nil, want, ""}, {"GET http://a.test/y", nil, want, ""}})
	}
	e.write(t, "version: 1\nsites:\n"+site("b", rule("/x"))+site("a", rule("/new")+rule("/y")+rule("/x")+rule("/y")))
	must(t, e.sites.Reload())
	e.run(t, []fileStep{
		{"GET http://b.test/x", nil, 200, ""}, {"GET http://a.test/new", nil, 200, ""},
		{"GET http://a.test/x", nil, 429, ""}, {"GET http://a.test/y", nil, 429, ""},
	})
}

// metric returns the value of a metric; 0: there is none.
func (e *fileEdge) metric(t *testing.T, name string) (value float64) {
	t.Helper()
	resp, err := http.Get(e.admin + "/metrics")
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			value, err = strconv.ParseFloat(strings.TrimSpace(rest), 64)
			must(t, err)
		}
	}
	return value
}

// TestOriginCountsOverReloads: the counts of origins are those of all sites, and a reload that
// removes or changes an origin makes none of them fall, because a monitoring system takes a fall
// for a restart from 0 and counts everything again.
func TestOriginCountsOverReloads(t *testing.T) {
	dead, broken := deadOrigin(t), breaksOff(t)
	file := func(more, a, b string) string {
		return fmt.Sprintf(`version: 1
sites:
  - {name: c, hosts: [c.test], origins: {app: {urls: ["http://10.0.0.1:80"]}}}
  - {name: a, hosts: [a.test], origins: {app: {urls: [%q]%s}}}
  - {name: b, hosts: [b.test], origins: {app: {urls: [%q]}}}
`, a, more, b)
	}
	const failed, cut, ofDead = "iconedge_edge_origin_requests_failed_total", "iconedge_edge_origin_broken_total",
		"iconedge_edge_origin_failures_total"
	e := newFileEdge(t, file("", dead, broken))
	e.ask(t, "GET http://a.test/x")
	if resp, err := e.client.Get("http://b.test/x"); err == nil {
		io.Copy(io.Discard, resp.Body) // whose error depends on how much of it has come
		resp.Body.Close()
	}
	series := []string{failed, cut, ofDead + `{origin="` + dead + `"}`}
	before := map[string]float64{}
	for _, name := range series {
		if before[name] = e.metric(t, name); before[name] == 0 {
			t.Errorf("%s is 0", name)
		}
	}
	e.write(t, file(", timeout: 5s", dead, "http://10.0.0.1:80")) // a has a new client, and b's origin is another
	must(t, e.sites.Reload())
	for _, name := range series {
		if now := e.metric(t, name); now < before[name] {
			t.Errorf("%s fell from %v to %v", name, before[name], now)
		}
	}
	if well := `iconedge_edge_origin_well{origin="` + broken + `"}`; e.metric(t, well) != 0 {
		t.Error(well + " is there after the origin has left the file")
	}
}

// breaksOff returns the URL of an origin that breaks off each response.
func breaksOff(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if n, err := c.Read(make([]byte, 4096)); n > 0 && err == nil {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
			}
			c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// TestReloadWithoutFile: an edge of flags says that there is nothing to reload.
func TestReloadWithoutFile(t *testing.T) {
	n := runNode(t)
	for _, method := range []string{"GET /config", "POST /config/reload"} {
		method, path, _ := strings.Cut(method, " ")
		q, err := http.NewRequest(method, "http://"+n.admin+path, nil)
		must(t, err)
		resp, err := http.DefaultClient.Do(q)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound || !strings.Contains(string(body), "started without --config") {
			t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, body)
		}
	}
}
