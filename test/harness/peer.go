package harness

import (
	"errors"
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

// A Peer is another caching reverse proxy, as Debian packages it.
type Peer struct {
	Name    string
	Program string
	Version string // argument that prints the version
	Configs string // pattern of the configuration's templates, relative to the test's folder
	Args    string // template of the arguments
}

// Installed returns the path of the program, or nothing. It looks in PATH and in /usr/sbin, where
// Debian puts servers.
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
		t.Fatalf("reading the version of %s: %v\n%s", path, err, out)
	}
	return version
}

// A setting fills the templates of a peer.
type setting struct {
	Dir                string // a folder of the peer's own
	Listen, Port       string // Listen is 127.0.0.1:PORT
	Origin, OriginPort string // the same for the origin
	Modules            string // folder of httpd's modules
	Root               bool   // the test runs as root: some programs must then be given a user
}

// Start runs the peer in front of origin and returns its address.
func (p Peer) Start(t *testing.T, path, origin string) string {
	t.Helper()
	listen := FreeAddress(t)
	_, port, _ := net.SplitHostPort(listen)
	_, originPort, _ := net.SplitHostPort(origin)
	s := setting{OpenDir(t), listen, port, origin, originPort, "/usr/lib/apache2/modules", os.Getuid() == 0}
	cache := filepath.Join(s.Dir, "cache")
	// Chmod, because the umask narrows the mode of Mkdir.
	if err := errors.Join(os.Mkdir(cache, 0o777), os.Chmod(cache, 0o777)); err != nil {
		t.Fatal(err)
	}
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
		resp, err := http.Get("http://" + listen + "/state/none") // the origin answers 404
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
		t.Fatalf("writing a configuration: %v", err)
	}
	return b.String()
}

// OpenDir returns a new folder that a program can write to after it has given up root's rights; it
// can't enter the folders of t.TempDir.
func OpenDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "open")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// AwaitListener waits until a program accepts connections at an address.
func AwaitListener(t *testing.T, program, address string) {
	t.Helper()
	Eventually(t, program+" listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// WithPeers is the environment variable with which `make conformance` and `make faults` measure
// other caches too, and write the figures.
const WithPeers = "ICONEDGE_PEERS"
