//go:build linux

package faults

import (
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// faultProxies lists the peers of these tests, configured as a careful operator would configure
// them for failing origins.
var faultProxies = []harness.Peer{
	{Name: "Varnish", Program: "varnishd", Version: "-V", Configs: configs + "/varnish.vcl",
		Args: "-F -j none -n {{.Dir}}/work -a {{.Listen}} -f {{.Dir}}/varnish.vcl -s malloc,64M"},
	{Name: "nginx", Program: "nginx", Version: "-v", Configs: configs + "/nginx.conf", Args: "-p {{.Dir}} -c {{.Dir}}/nginx.conf"},
	{Name: "Traffic Server", Program: "traffic_server", Version: "--version", Configs: configs + "/trafficserver/*",
		Args: "--run-root={{.Dir}}/runroot.yaml"},
	{Name: "HAProxy", Program: "haproxy", Version: "-v", Configs: configs + "/haproxy.cfg", Args: "-db -f {{.Dir}}/haproxy.cfg"},
}

// configs is the folder of the peers' configurations.
const configs = "../../tools/faults"

// faultPeers returns the installed peers.
func faultPeers(t *testing.T) (list []contender) {
	t.Helper()
	for _, p := range faultProxies {
		path := p.Installed()
		if path == "" {
			t.Logf("%s is not installed, and not compared", p.Name)
			continue
		}
		list = append(list, contender{name: p.Name, version: p.VersionOf(t, path),
			start: func(s *scene) { s.address = p.Start(s.t, path, s.origin) }})
	}
	return list
}
