//go:build linux

package fleet

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// played returns a result of one phase with an answer of each kind.
func played() *Result {
	p := &Phase{Name: "quiet", Seconds: 4, Notes: []string{"noted"}, tally: newTally()}
	a := answer{edge: edgeOf("eu"), began: time.Unix(0, 0), ended: time.Unix(0, 0).Add(2 * time.Millisecond), again: true}
	icon, search := question{kind: ofIcon, target: target}, question{kind: ofSearch, target: "/s"}
	p.tally.add(icon, a, right, "")
	p.tally.add(icon, a, wrong, "other bytes")
	a.status = http.StatusBadGateway
	p.tally.add(search, a, failed, "status 502")
	a.status, a.err = 0, errors.New("reset")
	p.tally.add(search, a, failed, "reset")
	p.hold(false, "took 7 s")
	return &Result{Phases: []*Phase{p}, Tiers: []Tier{{"edge", 10, 0.5}, {"origin", 1, -1}},
		Panels: []Asked{{Board: "Fleet", Panel: "full", Answered: 1}, {Board: "Fleet", Panel: "empty"}},
		Plots:  []Plot{{"Requests", "requests.svg", []byte("<svg/>")}}}
}

func TestTables(t *testing.T) {
	r := played()
	var b bytes.Buffer
	r.Text(&b)
	for _, want := range []string{"1 quiet", "2 (1 × no response, 1 × 502)", "50.00 %", "empty",
		"quiet, cached icon wrong: /mdi/home.svg from eu-1 after 2ms: other bytes"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the tables do not contain %q:\n%s", want, &b)
		}
	}
	if row := r.PhaseTable().Rows[0]; strings.Join(row, "|") != "1 quiet|4|2|1|0|2|0|2 (1 × no response, 1 × 502)|4" {
		t.Errorf("the phase's row is %v", row)
	}
	err := r.Failed()
	if err == nil || !strings.Contains(err.Error(), "quiet: 1 forbidden responses") || !strings.Contains(err.Error(), "took 7 s") {
		t.Errorf("error %v, want the wrong answer and the broken promise", err)
	}
	if err := (&Result{Phases: []*Phase{{tally: newTally()}}}).Failed(); err != nil {
		t.Errorf("without failures: %v", err)
	}
}

// TestWrite: the page has the tables, notes and plots; plots of an earlier run are removed.
func TestWrite(t *testing.T) {
	docs := t.TempDir()
	if err := played().Write(docs); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(docs, "fleet", "old.svg")
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := played().Write(docs); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "fleet.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**In short:** Of 4 responses 1 were wrong, and 2 requests failed",
		"| 1 quiet | 4 |", "- quiet: noted", "**Broken promise:** took 7 s", "![Requests](fleet/requests.svg)",
		"| Fleet | 2 | 1 | empty |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not contain %q:\n%s", want, page)
		}
	}
	if _, err := os.Stat(filepath.Join(docs, "fleet", "requests.svg")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the plot of an earlier run still exists")
	}
}
