//go:build linux

package faults

import (
	"errors"
	"strings"
	"testing"
)

// TestFaultsAreSeen: a phase is not held if clients get a response that they must not get.
func TestFaultsAreSeen(t *testing.T) {
	for _, row := range []struct {
		name  string
		phase phase
		reply reply
		want  string
	}{
		{"a right response", phase{}, reply{kind: ofWarm, status: 200, right: true}, ""},
		{"wrong bytes, warm", phase{}, reply{kind: ofWarm, status: 200}, "wrong bodies"},
		{"wrong bytes, cold", phase{}, reply{kind: ofCold, status: 200}, "wrong bodies"},
		{"wrong bytes, large", phase{}, reply{kind: ofBig, status: 200}, "wrong bodies"},
		{"a truncated large body, which its client notices", phase{},
			reply{kind: ofBig, status: 200, err: errors.New("unexpected EOF")}, ""},
		{"a truncated cold body", phase{}, reply{kind: ofCold, status: 200, err: errors.New("unexpected EOF")}, "missing or truncated"},
		{"lost with the proxy itself", phase{loses: true}, reply{kind: ofWarm, err: errors.New("refused")}, ""},
		{"a warm 502", phase{cold: []int{bad}}, reply{kind: ofWarm, status: 502}, "5xx for cached paths"},
		{"a warm 404", phase{}, reply{kind: ofWarm, status: 404}, "other than 200"},
		{"a warm 404 from an origin that answers 404", phase{gone: true}, reply{kind: ofWarm, status: 404}, ""},
		{"an allowed cold 502", phase{cold: []int{bad}}, reply{kind: ofCold, status: 502}, ""},
		{"a cold 500 that is not allowed", phase{cold: []int{bad}}, reply{kind: ofCold, status: 500}, "uncached responses of 500"},
	} {
		row.phase.harmless = true
		y := newTally()
		y.requests[ofWarm], y.requests[ofCold] = leastWarm, leastCold
		y.add(row.reply)
		r := &result{phase: &row.phase, tally: y}
		r.judgeAnswers()
		if got := strings.Join(r.faults, "; "); (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	r := &result{phase: &phase{}, tally: newTally()}
	r.judgeAnswers()
	for i, want := range []string{"too few", "no effect"} {
		if len(r.faults) != 2 || !strings.Contains(r.faults[i], want) {
			t.Errorf("without any response: %q, want one of %q", r.faults, want)
		}
	}
}
