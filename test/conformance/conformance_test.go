package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
	"github.com/iconedge/iconedge/test/harness"
)

// conformanceDir holds the configurations and templates of these tests, and the program that runs
// the suite.
var conformanceDir = filepath.Join("..", "..", "tools", "conformance")

// A caseResult is the result of one test of the public suite for HTTP caches, as
// tools/conformance/suite.mjs writes it. A check has no right result.
type caseResult struct {
	Chapter   string   `json:"chapter"`
	ID        string   `json:"id"`
	Kind      string   `json:"kind"`       // required, optimal or check
	DependsOn []string `json:"depends_on"` // the tests that this one builds on
	Passed    bool     `json:"passed"`     // by the suite's rule: with the tests of DependsOn
	Alone     bool     `json:"alone"`      // without them
	Why       string   `json:"why"`        // the suite's reason for the failure
}

// strictFlags holds the flags with which an edge follows RFC 9111 strictly, as the public suite
// expects it of a cache.
var strictFlags = []string{"--store-cookies", "--client-revalidation"}

// startEdge starts an edge with flags in front of an origin, and returns its address.
func startEdge(t *testing.T, origin string, flags ...string) string {
	t.Helper()
	args := append([]string{"edge", "--proxy-all", "--origin", "http://" + origin, "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0"}, flags...)
	return "http://" + harness.Start(t, t.TempDir(), args...).Ready().Address("public")
}

// TestConformance: for every required and optimal test of the public suite, an edge that follows
// RFC 9111 strictly gets the result in testdata/conformance.list. With -update the test writes the
// list, our figures and docs/reference/conformance.md; `make conformance` writes the latter two.
func TestConformance(t *testing.T) {
	t.Parallel() // the suite mostly waits
	base, known := startEdge(t, suiteOrigin(t), strictFlags...), readKnown(t)
	results := runSuite(t, base)
	// on a busy machine, responses that are fresh for seconds may be stale
	for again := 0; again < 2 && !*golden.Update && len(disagreements(known, results)) > 0; again++ {
		t.Logf("a further run, because of %q", disagreements(known, results))
		results = runSuite(t, base)
	}
	if *golden.Update {
		writeKnown(t, known, results)
		known = readKnown(t)
	}
	if *golden.Update || os.Getenv(harness.WithPeers) != "" {
		updateFigures(t, func(f *figures) { f.setOurs(results) })
	}
	for _, line := range disagreements(known, results) {
		t.Error(line)
	}
	got, stated := countsOf(results), readFigures(t).Measured[0]
	if got.Required.Passed != stated.Required.Passed || got.Optimal.Passed != stated.Optimal.Passed {
		t.Errorf("%s, but docs/reference/conformance.md states %s: run with -update", got, stated.counts)
	}
	t.Log(got)
}

// TestConformanceByDefault measures an edge without those flags: docs/reference/conformance.md
// names the tests that it fails in addition. `make conformance` runs it, and -update.
func TestConformanceByDefault(t *testing.T) {
	if !*golden.Update && os.Getenv(harness.WithPeers) == "" {
		t.Skip("measures the default setting: " + harness.WithPeers + "=1 runs it")
	}
	known := readKnown(t)
	results := runSuite(t, startEdge(t, suiteOrigin(t)))
	var besides []string
	for _, r := range results {
		if reason, listed := known[r.ID]; r.Kind != "check" && listed && reason == "" && !r.Passed {
			besides = append(besides, "`"+r.ID+"`")
		}
	}
	updateFigures(t, func(f *figures) { f.setDefault(results, besides) })
	t.Log(countsOf(results), besides)
}

// suiteOrigin starts the suite's own server, which every tested cache needs as its origin, and
// returns its address.
func suiteOrigin(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node(t), filepath.Join(harness.NPM(t, "http-cache-tests"), "server", "server.mjs"))
	cmd.Dir = t.TempDir() // the server serves the files of its working directory
	cmd.Env = append(os.Environ(), "npm_config_protocol=http", "npm_config_port=0", "npm_config_pidfile="+filepath.Join(cmd.Dir, "pid"))
	log := harness.StartOther(t, cmd)
	m := log.Wait(regexp.MustCompile(`Listening on http://.*:(\d+)/`))
	if m == nil {
		t.Fatalf("the suite's server printed no address:\n%s", log)
	}
	return "127.0.0.1:" + m[1]
}

// runSuite runs the whole suite against the cache at base.
func runSuite(t *testing.T, base string) (results []caseResult) {
	t.Helper()
	harness.NPM(t, "http-cache-tests")
	readSuite(t, &results, "run", base)
	return results
}

func readSuite(t *testing.T, into any, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node(t), append([]string{filepath.Join(conformanceDir, "suite.mjs")}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		t.Fatalf("running the suite %v: %v\n%s", args, err, &stderr)
	}
}

func node(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		harness.Missing(t, "the public suite for caches needs Node: %v", err)
	}
	return path
}
