package upstream

import (
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	type step struct {
		at time.Duration
		// + success, - failure, 0 inconclusive, ? a request whose outcome is not known yet.
		do   string
		want string // whether the request is admitted: yes, probe, no
	}
	const ms, s = time.Millisecond, time.Second
	opened := []step{{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}}
	for name, steps := range map[string][]step{
		"four failures": {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "0", "yes"}},
		"not in a row": {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"},
			{0, "+", "yes"}, {0, "-", "yes"}, {0, "+", "yes"}},
		"inconclusive is no success": {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"},
			{0, "0", "yes"}, {0, "-", "yes"}, {0, "?", "no"}},
		"a tenth of a second": append(opened[:5:5], step{0, "?", "no"}, step{100*ms - 1, "?", "no"}, step{100 * ms, "?", "probe"}),
		"one probe in a pause": append(opened[:5:5], step{s, "?", "probe"}, step{s, "?", "no"},
			step{1200*ms - 1, "?", "no"}, step{1200 * ms, "?", "probe"}, step{1200 * ms, "?", "no"}),
		"a probe that succeeds": append(opened[:5:5], step{s, "+", "probe"}, step{s, "?", "yes"}, step{s, "?", "yes"}),
		"then five failures again": append(opened[:5:5], step{s, "+", "probe"}, step{s, "-", "yes"},
			step{s, "-", "yes"}, step{s, "?", "yes"}),
		"an inconclusive probe": append(opened[:5:5], step{s, "0", "probe"}, step{s, "?", "probe"}),
		"the pause doubles to a second": append(opened[:5:5], step{100 * ms, "-", "probe"},
			step{300*ms - 1, "?", "no"}, step{300 * ms, "-", "probe"}, step{700*ms - 1, "?", "no"}, step{700 * ms, "-", "probe"},
			step{1500*ms - 1, "?", "no"}, step{1500 * ms, "-", "probe"}, step{2500*ms - 1, "?", "no"},
			step{2500 * ms, "-", "probe"}, step{60 * s, "-", "probe"}, step{61*s - 1, "?", "no"},
			step{61 * s, "+", "probe"}, step{61 * s, "?", "yes"}),
	} {
		var b breaker
		start := time.Unix(1e9, 0)
		for i, st := range steps {
			probe, admitted := b.admit(start.Add(st.at))
			if got := map[bool]string{true: "yes", false: "no"}[admitted]; got != st.want && (!probe || st.want != "probe") {
				t.Fatalf("%s, step %d: admitted: %s (probe: %v), want %s", name, i, got, probe, st.want)
			}
			if v, has := map[string]outcome{"+": success, "-": failure, "0": inconclusive}[st.do]; has {
				b.record(probe, v, start.Add(st.at))
			}
		}
	}
}

// Requests that began before the breaker opened do not change it.
func TestBreakerIgnoresLateResults(t *testing.T) {
	var b breaker
	now := time.Unix(1e9, 0)
	for i := range maxFailures {
		if opened, _ := b.record(false, failure, now); opened != (i == maxFailures-1) {
			t.Fatalf("failure %d: opened is %v", i, opened)
		}
	}
	for _, v := range []outcome{failure, success} {
		if opened, closed := b.record(false, v, now.Add(minPause/2)); opened || closed {
			t.Errorf("verdict %v: opened %v, closed %v", v, opened, closed)
		}
	}
	if probe, ok := b.admit(now.Add(minPause)); !probe || !ok {
		t.Error("a late failure has extended the pause")
	}
	if opened, closed := b.record(true, success, now.Add(minPause)); opened || !closed {
		t.Error("a successful probe does not close the breaker")
	}
	for range maxFailures { // earlier probes that were hanging
		if opened, _ := b.record(true, failure, now.Add(minPause)); opened {
			t.Error("an earlier probe opens the breaker again")
		}
	}
}
