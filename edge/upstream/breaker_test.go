package upstream

import (
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	type step struct {
		at   time.Duration
		do   string // + success, - failure, 0 nothing, ? is a request let through, then waiting for its verdict
		want string // let through: yes, probe, no
	}
	const ms, s = time.Millisecond, time.Second
	opened := []step{{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}}
	for name, steps := range map[string][]step{
		"four failures":            {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "0", "yes"}},
		"not in a row":             {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "+", "yes"}, {0, "-", "yes"}, {0, "+", "yes"}},
		"nothing is no success":    {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "0", "yes"}, {0, "-", "yes"}, {0, "?", "no"}},
		"a tenth of a second":      append(opened[:5:5], step{0, "?", "no"}, step{100*ms - 1, "?", "no"}, step{100 * ms, "?", "probe"}),
		"one probe in a pause":     append(opened[:5:5], step{s, "?", "probe"}, step{s, "?", "no"}, step{1200*ms - 1, "?", "no"}, step{1200 * ms, "?", "probe"}, step{1200 * ms, "?", "no"}),
		"a probe that succeeds":    append(opened[:5:5], step{s, "+", "probe"}, step{s, "?", "yes"}, step{s, "?", "yes"}),
		"then it takes five again": append(opened[:5:5], step{s, "+", "probe"}, step{s, "-", "yes"}, step{s, "-", "yes"}, step{s, "?", "yes"}),
		"a probe that tells none":  append(opened[:5:5], step{s, "0", "probe"}, step{s, "?", "probe"}),
		"it doubles to a second": append(opened[:5:5], step{100 * ms, "-", "probe"}, step{300*ms - 1, "?", "no"}, step{300 * ms, "-", "probe"}, step{700*ms - 1, "?", "no"}, step{700 * ms, "-", "probe"},
			step{1500*ms - 1, "?", "no"}, step{1500 * ms, "-", "probe"}, step{2500*ms - 1, "?", "no"}, step{2500 * ms, "-", "probe"}, step{60 * s, "-", "probe"}, step{61*s - 1, "?", "no"}, step{61 * s, "+", "probe"}, step{61 * s, "?", "yes"}),
	} {
		var b breaker
		start := time.Unix(1e9, 0)
		for i, st := range steps {
			probe, admitted := b.admit(start.Add(st.at))
			if got := map[bool]string{true: "yes", false: "no"}[admitted]; got != st.want && (!probe || st.want != "probe") {
				t.Fatalf("%s, step %d: let through is %s (probe: %v), want %s", name, i, got, probe, st.want)
			}
			if v, has := map[string]verdict{"+": success, "-": failure, "0": nothing}[st.do]; has {
				b.settle(probe, v, start.Add(st.at))
			}
		}
	}
}

// Requests that began before it opened decide nothing.
func TestBreakerIgnoresLatecomers(t *testing.T) {
	var b breaker
	now := time.Unix(1e9, 0)
	for i := range mostFailures {
		if opened, _ := b.settle(false, failure, now); opened != (i == mostFailures-1) {
			t.Fatalf("failure %d: opened is %v", i, opened)
		}
	}
	for _, v := range []verdict{failure, success} {
		if opened, closed := b.settle(false, v, now.Add(firstPause/2)); opened || closed {
			t.Errorf("verdict %v: opened %v, closed %v", v, opened, closed)
		}
	}
	if probe, ok := b.admit(now.Add(firstPause)); !probe || !ok {
		t.Error("the pause is longer")
	}
	if opened, closed := b.settle(true, success, now.Add(firstPause)); opened || !closed {
		t.Error("the probe does not close it")
	}
	for range mostFailures { // probes of before, that hung
		if opened, _ := b.settle(true, failure, now.Add(firstPause)); opened {
			t.Error("a probe of the time before opens it again")
		}
	}
}
