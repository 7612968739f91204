package harness

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
)

// A peer is another caching reverse proxy, as Debian packages it.
type Peer struct {
	Name    string
	Program string
	Version string // argument that prints it
	Configs string // pattern of the templates of its configuration, from the folder of the test
	Args    string // template
}

// installed is where the program is; empty: nowhere. It looks where Debian puts servers as well: /usr/sbin is not on everybody's path.
func (p Peer) Installed() string {
	for _, name := range []string{p.Program, "/usr/sbin/" + p.Program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func (p Peer) VersionOf(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command(path, p.Version).CombinedOutput()
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
func (p Peer) Start(t *testing.T, path, origin string) string {
	t.Helper()
	listen := FreeAddress(t)
	_, port, _ := net.SplitHostPort(listen)
	_, originPort, _ := net.SplitHostPort(origin)
	s := setting{openDir(t), listen, port, origin, originPort, "/usr/lib/apache2/modules", os.Getuid() == 0}
	templates, err := filepath.Glob(filepath.FromSlash(p.Configs))
	if err != nil || len(templates) == 0 {
		t.Fatalf("no configuration of %s: %v", p.Name, err)
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
	log := StartOther(t, exec.CommandContext(t.Context(), path, strings.Fields(fill(t, p.Args, s))...))
	Eventually(t, p.Name+" answers", func() bool {
		resp, err := http.Get("http://" + listen + "/state/none") // the suite's server knows of none: 404
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusNotFound
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", p.Name, log)
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

// withPeers is the variable by which `make conformance` asks for the other caches to be measured, and for the figures to be written.
const WithPeers = "ICONEDGE_PEERS"
