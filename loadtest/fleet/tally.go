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

// A Count counts requests and their results.
type Count struct {
	Answers int64
	Wrong   int64 // differ from the origin's response
	Failed  int64 // no response, or a 429, 403 or 5xx
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

// A tally counts the answers that clients got in one phase.
type tally struct {
	mu           sync.Mutex
	cached, rest Count
	again        int64 // answers from the second edge that was tried
	statuses     map[int]int64
	examples     map[string]string // the first one of each kind of problem
	times        map[string]*times // by region
}

// times are latencies of cached icons and of everything else.
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

// add counts an answer, except one whose verdict is pending; settle counts that.
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
	h.RecordValue(min(int64(a.took()), longest)) // cannot fail within these bounds
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

// failures lists the failures by status; 0 stands for no response.
func (t *tally) failures() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(t.statuses)) {
		name := fmt.Sprint(status)
		if status == 0 {
			name = "no response"
		}
		parts = append(parts, fmt.Sprintf("%d × %s", t.statuses[status], name))
	}
	return strings.Join(parts, ", ")
}

// counts returns the counts so far for cached icons and for everything else.
func (t *tally) counts() (cached, rest Count, again int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cached, t.rest, t.again
}
