package conformance

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

var peers = []harness.Peer{
	{Name: "Traffic Server", Program: "traffic_server", Version: "--version",
		Configs: conformanceDir + "/trafficserver/*", Args: "--run-root={{.Dir}}/runroot.yaml"},
	{Name: "Squid", Program: "squid", Version: "-v", Configs: conformanceDir + "/squid.conf", Args: "-N -f {{.Dir}}/squid.conf"},
	{Name: "httpd", Program: "apache2", Version: "-v", Configs: conformanceDir + "/httpd.conf",
		Args: "-D FOREGROUND -f {{.Dir}}/httpd.conf"},
	// Without a freshness lifetime from the origin Varnish uses none, and keeps the response for
	// validation: the suite's own parameters.
	{Name: "Varnish", Program: "varnishd", Version: "-V", Configs: conformanceDir + "/varnish.vcl",
		Args: "-F -j none -n {{.Dir}}/work -a {{.Listen}} -f {{.Dir}}/varnish.vcl -s malloc,64M -p default_ttl=0 -p " +
			"default_grace=0 -p default_keep=3600"},
	{Name: "nginx", Program: "nginx", Version: "-v", Configs: conformanceDir + "/nginx.conf", Args: "-p {{.Dir}} -c {{.Dir}}/nginx.conf"},
}

// TestConformancePeers measures the installed peers in the same way as iconedge, and writes their
// figures and docs/reference/conformance.md. It fails for no result. `make conformance` runs it.
func TestConformancePeers(t *testing.T) {
	if os.Getenv(harness.WithPeers) == "" {
		t.Skip("measures other caches: " + harness.WithPeers + "=1 runs it")
	}
	origin := suiteOrigin(t)
	for _, p := range peers {
		t.Run(p.Name, func(t *testing.T) {
			path := pathOf(t, p)
			results := runSuite(t, "http://"+p.Start(t, path, origin))
			row := product{Name: p.Name, Version: p.VersionOf(t, path), counts: countsOf(results)}
			updateFigures(t, func(f *figures) { f.setMeasured(row) })
			t.Log(p.Name, row.Version, row.counts)
		})
	}
	updateFigures(t, func(f *figures) { f.Published = published(t) })
	t.Logf("docs/reference/conformance.md:\n%s", conformancePage(t, readFigures(t)))
}

// pathOf returns the path of a peer, or skips the test if the peer is not installed.
func pathOf(t *testing.T, p harness.Peer) string {
	t.Helper()
	path := p.Installed()
	if path == "" {
		t.Skipf("%s is not installed", p.Program)
	}
	return path
}

// published returns the rows of the results that the suite publishes.
func published(t *testing.T) (rows []product) {
	t.Helper()
	var shipped []struct {
		Name, Version string
		Tests         []caseResult
	}
	readSuite(t, &shipped, "published")
	for _, s := range shipped {
		rows = append(rows, product{Name: s.Name, Version: s.Version, counts: countsOf(s.Tests)})
	}
	return rows
}
