//go:build linux

package faults

import (
	"errors"
	"strings"
	"testing"
)

// TestFaultsAreSeen: what clients must not see makes a phase one that is not held.
func TestFaultsAreSeen(t *testing.T) {
	for _, row := range []struct {
		name  string
		phase phase
		asked reply
		want  string
	}{
		{"a right answer", phase{}, reply{kind: ofWarm, status: 200, right: true}, ""},
		{"wrong bytes, warm", phase{}, reply{kind: ofWarm, status: 200}, "wrong bodies"},
		{"wrong bytes, cold", phase{}, reply{kind: ofCold, status: 200}, "wrong bodies"},
		{"wrong bytes, large", phase{}, reply{kind: ofBig, status: 200}, "wrong bodies"},
		{"a large one that is cut, which its client sees", phase{}, reply{kind: ofBig, status: 200, err: errors.New("unexpected EOF")}, ""},
		{"a cold one that is cut", phase{}, reply{kind: ofCold, status: 200, err: errors.New("unexpected EOF")}, "not whole"},
		{"lost with the proxy itself", phase{loses: true}, reply{kind: ofWarm, err: errors.New("refused")}, ""},
		{"a warm 502", phase{cold: []int{bad}}, reply{kind: ofWarm, status: 502}, "5xx to what is in the cache"},
		{"a warm 404", phase{}, reply{kind: ofWarm, status: 404}, "other than 200"},
		{"a warm 404 of an origin that denies it", phase{gone: true}, reply{kind: ofWarm, status: 404}, ""},
		{"a cold 502 that may be", phase{cold: []int{bad}}, reply{kind: ofCold, status: 502}, ""},
		{"a cold 500 that may not", phase{cold: []int{bad}}, reply{kind: ofCold, status: 500}, "cold answers of 500"},
	} {
		row.phase.mild = true
		y := newTally()
		y.requests[ofWarm], y.requests[ofCold] = leastWarm, leastCold
		y.add(row.asked)
		r := &result{phase: &row.phase, tally: y}
		r.judgeAnswers()
		if got := strings.Join(r.faults, "; "); (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	r := &result{phase: &phase{}, tally: newTally()}
	r.judgeAnswers()
	for i, want := range []string{"too few", "the fault was none"} {
		if len(r.faults) != 2 || !strings.Contains(r.faults[i], want) {
			t.Errorf("of no answers at all: %q, want one of %q", r.faults, want)
		}
	}
}
