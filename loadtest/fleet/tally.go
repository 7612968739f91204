//go:build linux

package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Count is what became of requests.
type Count struct {
	Answers int64
	Wrong   int64 // not what the origin says
	Failed  int64 // no answer, or a 429, 403 or 5xx
}

func (c *Count) add(v verdict) {
	c.Answers++
	switch v {
	case wrong:
		c.Wrong++
	case failed:
		c.Failed++
	}
}

// A tally counts what clients got in one phase.
type tally struct {
	mu           sync.Mutex
	cached, rest Count
	again        int64 // answers of the second edge that was tried
	statuses     map[int]int64
	examples     map[string]string // the first of each kind of mishap
	times        map[string]*times // by region
}

// times are how long answers took.
type times struct{ cached, rest *hdrhistogram.Histogram }

const longest = int64(time.Minute)

func newTimes() *times {
	h := func() *hdrhistogram.Histogram {
		return hdrhistogram.New(int64(time.Microsecond), longest, 3)
	}
	return &times{h(), h()}
}

func newTally() *tally {
	t := &tally{statuses: map[int]int64{}, examples: map[string]string{}, times: map[string]*times{}}
	for _, p := range places {
		t.times[p.name] = newTimes()
	}
	return t
}

// add counts an answer; one that is judged later is counted then.
func (t *tally) add(q question, a answer, v verdict, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v == later {
		return
	}
	count, h := &t.rest, t.times[a.edge.region.name].rest
	if q.kind.cached() {
		count, h = &t.cached, t.times[a.edge.region.name].cached
	}
	count.add(v)
	h.RecordValue(min(int64(a.took()), longest)) // fails only beyond the bounds
	if a.again {
		t.again++
	}
	if v != right {
		t.mishap(q, a, v, why)
	}
}

func (t *tally) mishap(q question, a answer, v verdict, why string) {
	if v == failed {
		t.statuses[a.status]++
	}
	what := "rest"
	if q.kind.cached() {
		what = "cached icon"
	}
	what += []string{wrong: " wrong", failed: " failed"}[v]
	if t.examples[what] == "" {
		t.examples[what] = fmt.Sprintf("%s from %s after %v: %s", q.target, a.edge.name, a.took().Round(time.Millisecond), why)
	}
}

// failures says in words what failed, by status; 0 is no answer.
func (t *tally) failures() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(t.statuses)) {
		name := fmt.Sprint(status)
		if status == 0 {
			name = "no answer"
		}
		parts = append(parts, fmt.Sprintf("%d × %s", t.statuses[status], name))
	}
	return strings.Join(parts, ", ")
}

// counts are those of cached icons and of the rest, so far.
func (t *tally) counts() (cached, rest Count, again int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cached, t.rest, t.again
}
