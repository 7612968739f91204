package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

// conformanceList does not end in .txt, because it is not a script.
var conformanceList = filepath.Join("testdata", "conformance.list")

// disagreements returns the lines of the list that the results contradict, and the tests that the
// list does not have.
func disagreements(known map[string]string, results []caseResult) (lines []string) {
	seen := map[string]bool{}
	for _, r := range results {
		seen[r.ID] = true
		reason, listed := known[r.ID]
		switch {
		case r.Kind == "check":
		case !listed:
			lines = append(lines, r.ID+": the list does not have it")
		case reason == "" && !r.Passed:
			lines = append(lines, fmt.Sprintf("%s (%s): no longer passed: %s", r.ID, r.Kind, r.reason()))
		case reason != "" && r.Passed:
			lines = append(lines, r.ID+": passed, though the list says that it fails")
		case strings.HasPrefix(reason, unexplained):
			lines = append(lines, r.ID+": it fails, and the list does not say why: "+reason)
		}
	}
	for id := range known {
		if !seen[id] {
			lines = append(lines, id+": the suite has no such test")
		}
	}
	slices.Sort(lines)
	return lines
}

func (r caseResult) reason() string {
	if r.Alone {
		return "a test that it depends on has failed: " + strings.Join(r.DependsOn, ", ")
	}
	return r.Why
}

func TestDisagreements(t *testing.T) {
	passes, fails := caseResult{ID: "a", Kind: "required", Passed: true, Alone: true},
		caseResult{ID: "a", Kind: "optimal", Why: "Response 2 comes from cache"}
	for _, row := range []struct {
		name    string
		reason  string // of test a in the list
		results []caseResult
		want    string
	}{
		{"passes, as listed", "", []caseResult{passes}, ""},
		{"fails, as listed", "why", []caseResult{fails}, ""},
		{"fails, listed as passed", "", []caseResult{fails}, "a (optimal): no longer passed: Response 2 comes from cache"},
		{"fails by what it depends on", "", []caseResult{{ID: "a", Kind: "required", Alone: true,
			DependsOn: []string{"b"}}}, "a (required): no longer passed: a test that it depends on has failed: b"},
		{"passes, listed as failing", "why", []caseResult{passes}, "a: passed, though the list says that it fails"},
		{"fails, as listed, without a reason", unexplained + "x", []caseResult{fails},
			"a: it fails, and the list does not say why: " + unexplained + "x"},
		{"the suite has lost a test", "", nil, "a: the suite has no such test"},
		{"the suite has a new test", "", []caseResult{passes, {ID: "b", Kind: "required"}}, "b: the list does not have it"},
		{"a check is no promise", "", []caseResult{passes, {ID: "b", Kind: "check"}}, ""},
	} {
		if got := strings.Join(disagreements(map[string]string{"a": row.reason}, row.results), "; "); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// unexplained marks a failure without a reason. -update writes it, and the test fails until
// somebody replaces it by a reason.
const unexplained = "unexplained: "

const knownHead = `# The required and optimal tests of the public suite for HTTP caches, by chapter: an id a line for those that iconedge passes,
# "fails ID: reason" for those that it does not. TestConformance fails as soon as a line is not true any more.
# Written by: go test ./test/conformance -run 'TestConformance$' -update. Reasons are kept; new ones are for you to write.
`

// readKnown reads the list. It returns the reason of each failure by id, and "" for a test that
// passes.
func readKnown(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(conformanceList)
	if err != nil && !*golden.Update {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason := line, ""
		if rest, fails := strings.CutPrefix(line, "fails "); fails {
			id, reason, _ = strings.Cut(rest, ": ")
		}
		if _, twice := known[id]; twice {
			t.Fatalf("%s has %s twice", conformanceList, id)
		}
		known[id] = reason
	}
	return known
}

func writeKnown(t *testing.T, known map[string]string, results []caseResult) {
	t.Helper()
	b, chapter := bytes.NewBufferString(knownHead), ""
	for _, r := range results {
		if r.Kind == "check" {
			continue
		}
		if r.Chapter != chapter {
			chapter = r.Chapter
			fmt.Fprintf(b, "\n# %s\n", chapter)
		}
		switch reason := known[r.ID]; {
		case r.Passed:
			fmt.Fprintln(b, r.ID)
		case reason != "":
			fmt.Fprintf(b, "fails %s: %s\n", r.ID, reason)
		default:
			fmt.Fprintf(b, "fails %s: %s%s\n", r.ID, unexplained, r.reason())
		}
	}
	if err := os.WriteFile(conformanceList, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
