package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"text/template"
)

// A peer is another caching reverse proxy, as Debian packages it.
type peer struct {
	name    string
	program string
	version string // argument that prints it
	configs string // templates below tools/conformance
	args    string // template
}

var peers = []peer{
	{"Traffic Server", "traffic_server", "--version", "trafficserver/*", "--run-root={{.Dir}}/runroot.yaml"},
	{"Squid", "squid", "-v", "squid.conf", "-N -f {{.Dir}}/squid.conf"},
	{"httpd", "apache2", "-v", "httpd.conf", "-D FOREGROUND -f {{.Dir}}/httpd.conf"},
	// No life where the origin states none; kept for a while after it, to be validated: the suite's own parameters.
	{"Varnish", "varnishd", "-V", "varnish.vcl", "-F -j none -n {{.Dir}}/work -a {{.Listen}} -f {{.Dir}}/varnish.vcl -s malloc,64M -p default_ttl=0 -p default_grace=0 -p default_keep=3600"},
	{"nginx", "nginx", "-v", "nginx.conf", "-p {{.Dir}} -c {{.Dir}}/nginx.conf"},
}

// withPeers is the variable by which `make conformance` asks for the other caches to be measured, and for the figures to be written.
const withPeers = "ICONEDGE_PEERS"

// TestConformancePeers measures the peers that are installed in the same way as ourselves, and writes their figures and
// docs/reference/conformance.md. It judges nobody; it is run by `make conformance`.
func TestConformancePeers(t *testing.T) {
	if os.Getenv(withPeers) == "" {
		t.Skip("measures other caches: " + withPeers + "=1 runs it")
	}
	origin := suiteOrigin(t)
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			path := p.find(t)
			results := runSuite(t, "http://"+p.start(t, path, origin))
			row := product{Name: p.name, Version: p.versionOf(t, path), counts: countsOf(results)}
			updateFigures(t, func(f *figures) { f.measured(row) })
			t.Log(p.name, row.Version, row.counts)
		})
	}
	updateFigures(t, func(f *figures) { f.Published = published(t) })
	t.Logf("docs/reference/conformance.md:\n%s", conformancePage(t, readFigures(t)))
}

// find is installed for a test that is about this one alone.
func (p peer) find(t *testing.T) string {
	t.Helper()
	path := p.installed()
	if path == "" {
		t.Skipf("%s is not installed", p.program)
	}
	return path
}

// installed is where the program is; empty: nowhere. It looks where Debian puts servers as well: /usr/sbin is not on everybody's path.
func (p peer) installed() string {
	for _, name := range []string{p.program, "/usr/sbin/" + p.program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func (p peer) versionOf(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command(path, p.version).CombinedOutput()
	version := regexp.MustCompile(`\d+\.\d+(\.\d+)*`).FindString(string(out))
	if version == "" {
		t.Fatalf("asking %s for its version: %v\n%s", path, err, out)
	}
	return version
}

// A setting is what the configurations of peers are filled with.
type setting struct {
	Dir                string // theirs alone
	Listen, Port       string // 127.0.0.1:PORT
	Origin, OriginPort string // the same of the suite's server
	Modules            string // of httpd
	Root               bool   // some programs ask root for the user to become
}

// start runs the peer in front of origin and returns where it answers.
func (p peer) start(t *testing.T, path, origin string) string {
	t.Helper()
	listen := freeAddress(t)
	_, port, _ := net.SplitHostPort(listen)
	_, originPort, _ := net.SplitHostPort(origin)
	s := setting{openDir(t), listen, port, origin, originPort, "/usr/lib/apache2/modules", os.Getuid() == 0}
	templates, err := filepath.Glob(filepath.Join(conformanceDir, p.configs))
	if err != nil || len(templates) == 0 {
		t.Fatalf("no configuration of %s: %v", p.name, err)
	}
	for _, file := range templates {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.Dir, filepath.Base(file)), []byte(fill(t, string(text), s)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	log := startOther(t, exec.CommandContext(t.Context(), path, strings.Fields(fill(t, p.args, s))...))
	eventually(t, p.name+" answers", func() bool {
		resp, err := http.Get("http://" + listen + "/state/none") // the suite's server knows of none: 404
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusNotFound
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", p.name, log)
		}
	})
	return listen
}

func fill(t *testing.T, text string, s setting) string {
	t.Helper()
	layout, err := template.New("").Option("missingkey=error").Parse(text)
	var b strings.Builder
	if err == nil {
		err = layout.Execute(&b, s)
	}
	if err != nil {
		t.Fatalf("filling a configuration: %v", err)
	}
	return b.String()
}

// freeAddress is one that nobody listens on at this moment: these programs can't tell which port they were given. It is below the ports that
// Linux gives to connections (ip_local_port_range), so that none takes it before they do, or while they are started again.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000)))
		if err != nil {
			continue
		}
		defer l.Close()
		if _, again := given.LoadOrStore(l.Addr().String(), true); !again {
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// given are the addresses that tests have been given.
var given sync.Map

// openDir is a folder, with one for the cache in it, that a program may write which gives up root's rights: t.TempDir is closed to it.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cache := filepath.Join(dir, "cache")
	if err := os.Mkdir(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, cache} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// published are the rows of the results that the suite ships.
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
