package apps

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// listens matches the line with which the applications of testdata report their port.
var listens = regexp.MustCompile(`(?m)^listening (\d+)$`)

// startNode starts a script of testdata with Node, and returns its address.
func startNode(t *testing.T, script string, args ...string) string {
	t.Helper()
	npm(t, "express")
	log := harness.StartOther(t, exec.CommandContext(t.Context(), "node", append([]string{testdata(t, script)}, args...)...))
	m := log.Wait(listens)
	if m == nil {
		t.Fatalf("%s does not listen:\n%s", script, log)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", script, log)
		}
	})
	return "http://127.0.0.1:" + m[1]
}

// node runs a script of testdata as a client: its first argument is the address of the application,
// and its output is what it saw.
func (v *visit) node(script string, args ...string) {
	v.Helper()
	v.saw(script, []byte(v.run("node", append([]string{testdata(v.T, script), v.base}, args...)...)))
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// npm returns the folder of a package that package.json pins.
func npm(t *testing.T, name string) string {
	t.Helper()
	return npmIn(t, ".", name)
}

// npmLarge returns the folder of a package that large/package.json pins.
func npmLarge(t *testing.T, name string) string {
	t.Helper()
	return npmIn(t, "large", name)
}

func npmIn(t *testing.T, folder, name string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		harness.Missing(t, "Node is not installed")
	}
	dir, err := filepath.Abs(filepath.Join(folder, "node_modules", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		harness.Missing(t, "%s is not installed: run `make apps`, which installs it", name)
	}
	return dir
}

// npmVersion returns the version of an installed package.
func npmVersion(t *testing.T, dir string) string {
	t.Helper()
	var about struct{ Version string }
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &about)
	}
	if err != nil {
		t.Fatal(err)
	}
	return about.Version
}

func nodeVersion(t *testing.T) string { return versionOf(t, "node", "--version") }

var number = regexp.MustCompile(`\d+(\.\d+)+`)

// versionOf returns the version that a program prints.
func versionOf(t *testing.T, program string, args ...string) string {
	t.Helper()
	output, err := exec.Command(program, args...).CombinedOutput()
	version := number.FindString(string(output))
	if version == "" {
		t.Fatalf("reading the version of %s: %v\n%s", program, err, output)
	}
	return version
}
