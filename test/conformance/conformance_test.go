package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// conformanceDir has what the tests of this kind are fed with, and the program that runs the suite.
var conformanceDir = filepath.Join("..", "..", "tools", "conformance")

// A caseResult is what the public suite for HTTP caches says of one of its tests: tools/conformance/suite.mjs.
type caseResult struct {
	Chapter   string   `json:"chapter"`
	ID        string   `json:"id"`
	Kind      string   `json:"kind"`       // required, optimal, or check: a question without a right answer
	DependsOn []string `json:"depends_on"` // tests without which this one says nothing
	Passed    bool     `json:"passed"`     // by the suite's own rule: so have those that it depends on
	Alone     bool     `json:"alone"`      // whatever became of those
	Why       string   `json:"why"`        // what the suite found instead
}

// byTheRFC are the flags with which an edge follows RFC 9111 to the letter, as the public suite expects it of a cache.
var byTheRFC = []string{"--store-cookies", "--client-revalidation"}

// edgeBefore starts an edge with these flags in front of an origin, and returns its address.
func edgeBefore(t *testing.T, origin string, flags ...string) string {
	t.Helper()
	args := append([]string{"edge", "--proxy-all", "--origin", "http://" + origin, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, flags...)
	return "http://" + harness.Start(t, t.TempDir(), args...).Ready().Address("public")
}

// TestConformance: a real edge that follows RFC 9111 to the letter does with every required and optimal test of the public suite what
// testdata/conformance.list says of it. With -update it writes the list, our figures and docs/conformance.md; by `make conformance`,
// the latter two.
func TestConformance(t *testing.T) {
	t.Parallel() // most of its time are the suite's own pauses
	base, known := edgeBefore(t, suiteOrigin(t), byTheRFC...), readKnown(t)
	results := runSuite(t, base)
	for again := 0; again < 2 && !*harness.Update && len(disagreements(known, results)) > 0; again++ { // answers that live for seconds are stale to a busy machine
		t.Logf("once more, because of %q", disagreements(known, results))
		results = runSuite(t, base)
	}
	if *harness.Update {
		writeKnown(t, known, results)
		known = readKnown(t)
	}
	if *harness.Update || os.Getenv(harness.WithPeers) != "" {
		updateFigures(t, func(f *figures) { f.ours(results) })
	}
	for _, line := range disagreements(known, results) {
		t.Error(line)
	}
	got, stated := countsOf(results), readFigures(t).Measured[0]
	if got.Required.Passed != stated.Required.Passed || got.Optimal.Passed != stated.Optimal.Passed {
		t.Errorf("%s, but docs/conformance.md states %s: run with -update", got, stated.counts)
	}
	t.Log(got)
}

// TestConformanceByDefault measures an edge without those flags: docs/conformance.md names the tests that it fails besides. It is run
// by `make conformance`, and with -update.
func TestConformanceByDefault(t *testing.T) {
	if !*harness.Update && os.Getenv(harness.WithPeers) == "" {
		t.Skip("measures the default setting: " + harness.WithPeers + "=1 runs it")
	}
	known := readKnown(t)
	results := runSuite(t, edgeBefore(t, suiteOrigin(t)))
	var besides []string
	for _, r := range results {
		if reason, listed := known[r.ID]; r.Kind != "check" && listed && reason == "" && !r.Passed {
			besides = append(besides, "`"+r.ID+"`")
		}
	}
	updateFigures(t, func(f *figures) { f.byDefault(results, besides) })
	t.Log(countsOf(results), besides)
}

// suiteOrigin starts the suite's own server, which every cache under test has to have as its origin, and returns its address.
func suiteOrigin(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node(t), filepath.Join(harness.NPM(t, "http-cache-tests"), "server", "server.mjs"))
	cmd.Dir = t.TempDir() // it serves the files of the folder that it is started in
	cmd.Env = append(os.Environ(), "npm_config_protocol=http", "npm_config_port=0", "npm_config_pidfile="+filepath.Join(cmd.Dir, "pid"))
	log := harness.StartOther(t, cmd)
	m := log.Wait(regexp.MustCompile(`Listening on http://.*:(\d+)/`))
	if m == nil {
		t.Fatalf("the suite's server never said where it listens:\n%s", log)
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
		harness.Missing(t, "the public suite for caches wants Node: %v", err)
	}
	return path
}
