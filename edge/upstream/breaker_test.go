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
	const s = time.Second
	opened := []step{{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}}
	for name, steps := range map[string][]step{
		"four failures":                   {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "0", "yes"}},
		"not in a row":                    {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "+", "yes"}, {0, "-", "yes"}, {0, "+", "yes"}},
		"nothing is no success":           {{0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "-", "yes"}, {0, "0", "yes"}, {0, "-", "yes"}, {0, "?", "no"}},
		"a second":                        append(opened[:5:5], step{0, "?", "no"}, step{s - 1, "?", "no"}, step{s, "?", "probe"}),
		"one probe in a pause":            append(opened[:5:5], step{s, "?", "probe"}, step{s, "?", "no"}, step{2*s - 1, "?", "no"}, step{2 * s, "?", "probe"}, step{2 * s, "?", "no"}),
		"a probe that succeeds":           append(opened[:5:5], step{s, "+", "probe"}, step{s, "?", "yes"}, step{s, "?", "yes"}),
		"then it takes five again":        append(opened[:5:5], step{s, "+", "probe"}, step{s, "-", "yes"}, step{s, "-", "yes"}, step{s, "?", "yes"}),
		"a probe that tells none":         append(opened[:5:5], step{s, "0", "probe"}, step{s, "?", "probe"}),
		"a second, however long it fails": append(opened[:5:5], step{s, "-", "probe"}, step{2*s - 1, "?", "no"}, step{2 * s, "-", "probe"}, step{60 * s, "-", "probe"}, step{61*s - 1, "?", "no"}, step{61 * s, "+", "probe"}, step{61 * s, "?", "yes"}),
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
		if opened, closed := b.settle(false, v, now.Add(time.Second/2)); opened || closed {
			t.Errorf("verdict %v: opened %v, closed %v", v, opened, closed)
		}
	}
	if probe, ok := b.admit(now.Add(pause)); !probe || !ok {
		t.Error("the pause is not a second")
	}
	if opened, closed := b.settle(true, success, now.Add(pause)); opened || !closed {
		t.Error("the probe does not close it")
	}
	for range mostFailures { // probes of before, that hung
		if opened, _ := b.settle(true, failure, now.Add(pause)); opened {
			t.Error("a probe of the time before opens it again")
		}
	}
}
