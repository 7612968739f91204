package metrics

import (
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/test/golden"
	"github.com/iconedge/iconedge/test/harness"
)

// A metricsPage is the admin listener of a node.
type metricsPage struct{ title, address string }

// metricsPages starts an edge and an origin, sends requests to them, and returns their pages.
func metricsPages(t *testing.T) []metricsPage {
	t.Helper()
	home := t.TempDir()
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	origin := harness.Start(t, home, "origin", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	edge := harness.Start(t, home, "edge", "--config", configFile(t, origin.Address("public")), "--listen",
		"127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--redis", fleettest.Start(t).URL).Ready()
	for range 2 {
		harness.Get(t, edge.Address("public"), "/demo/arrow.svg")
		harness.Get(t, edge.Address("public"), "/api/v1/search?q=dot")
	}
	// a node counts a request after its response
	harness.Eventually(t, "the nodes have counted the requests", func() bool {
		return harness.Sum(edge.Metrics(t), `iconedge_edge_requests_total{.*} `) >= 4 &&
			harness.Sum(origin.Metrics(t), `iconedge_origin_requests_total{.*route="search".*} `) >= 1
	})
	return []metricsPage{{"An edge", edge.Address("admin")}, {"An origin", origin.Address("admin")}}
}

// TestMetricsDocs: docs/reference/metrics.md lists every metric that a node exports after some
// traffic.
func TestMetricsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Metrics\n\n**In short:** Every metric of edges and origins, for Prometheus. The ones to begin " +
		"with are `iconedge_edge_requests_total`, `iconedge_edge_request_duration_seconds` and " +
		"`iconedge_edge_cache_bytes`;\nthe dashboards show the rest.\n\n`GET /metrics` on the admin listeners exports " +
		"these metrics, besides those of the Go runtime and the process (`go_…`, `process_…`).\n" +
		"Histograms have classic buckets and, if Prometheus requests them (`native-histograms`), native ones.\n" +
		"Dashboards of them are in `deploy/grafana/dashboards`, alerts in `deploy/prometheus/rules`; " +
		"[runbooks](../how-to/runbooks/README.md) say how to handle each alert.\n" +
		"`make golden` writes this page from running nodes.\n")
	for _, page := range metricsPages(t) {
		_, text := harness.Get(t, page.address, "/metrics", "Accept", "text/plain")
		b.WriteString("\n## " + page.title + "\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n" + metricsTable(text))
	}
	golden.Check(t, filepath.Join("..", "..", "docs", "reference", "metrics.md"), []byte(b.String()))
}

var labelName = regexp.MustCompile(`(\w+)="`)

// metricsTable makes a row for each of iconedge's metrics in a page of metrics.
func metricsTable(page string) string {
	var b strings.Builder
	for family := range strings.SplitSeq(page, "# HELP ") {
		help, samples, _ := strings.Cut(family, "\n")
		name, is, _ := strings.Cut(help, " ")
		if !strings.HasPrefix(name, "iconedge_") {
			continue
		}
		kind, samples, _ := strings.Cut(samples, "\n")
		labels := map[string]bool{}
		for _, l := range labelName.FindAllStringSubmatch(samples, -1) {
			if l[1] != "le" { // the label of a histogram's buckets
				labels["`"+l[1]+"`"] = true
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, kind[strings.LastIndexByte(kind, ' ')+1:],
			strings.Join(slices.Sorted(maps.Keys(labels)), ", "), strings.ReplaceAll(is, "|", "\\|"))
	}
	return b.String()
}

// TestMetricsLint: names and help texts pass Prometheus' own linter.
func TestMetricsLint(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		harness.Missing(t, "promtool is not installed (Debian package prometheus)")
	}
	for _, page := range metricsPages(t) {
		_, text := harness.Get(t, page.address, "/metrics", "Accept", "text/plain")
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", page.title, err, out)
		}
	}
}

// TestMetricsHaveBothKindsOfBuckets: every histogram has buckets of both kinds if Prometheus
// requests both.
func TestMetricsHaveBothKindsOfBuckets(t *testing.T) {
	seen := 0
	for _, page := range metricsPages(t) {
		_, body := harness.Get(t, page.address, "/metrics", "Accept",
			"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
		families := expfmt.NewDecoder(strings.NewReader(body), expfmt.NewFormat(expfmt.TypeProtoDelim))
		for {
			var f dto.MetricFamily
			if err := families.Decode(&f); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, m := range f.GetMetric() {
				h := m.GetHistogram()
				if h == nil || !strings.HasPrefix(f.GetName(), "iconedge_") {
					continue
				}
				seen++
				if len(h.GetBucket()) != 15 || h.GetSchema() != 3 || h.GetZeroThreshold() == 0 ||
					len(h.GetPositiveSpan()) == 0 && h.GetSampleCount() > 0 {
					t.Errorf("%s has %d classic buckets, schema %d, %d spans: %v", f.GetName(), len(h.GetBucket()),
						h.GetSchema(), len(h.GetPositiveSpan()), m)
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d histograms", seen)
	}
}
