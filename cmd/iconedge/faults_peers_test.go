//go:build linux

package main

import "testing"

// faultProxies are the peers of these tests, with configurations of their own: what a careful operator would say about failing origins.
var faultProxies = []peer{
	{"Varnish", "varnishd", "-V", "../faults/varnish.vcl", "-F -j none -n {{.Dir}}/work -a {{.Listen}} -f {{.Dir}}/varnish.vcl -s malloc,64M"},
	{"nginx", "nginx", "-v", "../faults/nginx.conf", "-p {{.Dir}} -c {{.Dir}}/nginx.conf"},
	{"Traffic Server", "traffic_server", "--version", "../faults/trafficserver/*", "--run-root={{.Dir}}/runroot.yaml"},
	{"HAProxy", "haproxy", "-v", "../faults/haproxy.cfg", "-db -f {{.Dir}}/haproxy.cfg"},
}

// faultPeers are those that are installed.
func faultPeers(t *testing.T) (list []contender) {
	t.Helper()
	for _, p := range faultProxies {
		path := p.installed()
		if path == "" {
			t.Logf("%s is not installed: it is not compared with", p.name)
			continue
		}
		list = append(list, contender{name: p.name, version: p.versionOf(t, path), start: func(s *scene) { s.address = p.start(s.t, path, s.origin) }})
	}
	return list
}
