//go:build linux

package load

import (
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const ms = int64(time.Millisecond)

func TestPaceOfAnOpenLoop(t *testing.T) {
	cfg := Config{Rate: 1000, Threads: 2, WarmUp: 2 * time.Millisecond, Duration: 4 * time.Millisecond}
	var due []int64
	for i := range cfg.Threads {
		p := newPace(&cfg, i)
		for {
			// latency counts from the due moment, however late the request is
			d, ok := p.take(time.Hour.Nanoseconds())
			if !ok {
				break
			}
			due = append(due, d)
		}
	}
	slices.Sort(due)
	if want := []int64{0, 1 * ms, 2 * ms, 3 * ms, 4 * ms, 5 * ms}; !slices.Equal(due, want) {
		t.Errorf("two threads' requests are due at %v, want %v", due, want)
	}
}

func TestNothingIsSentEarly(t *testing.T) {
	p := newPace(&Config{Rate: 1000, Threads: 1, Duration: time.Second}, 0)
	p.take(0)
	if _, ok := p.take(ms - 1); ok {
		t.Error("the second of 1,000 a second went out before its millisecond")
	}
	if due, ok := p.take(ms); !ok || due != ms {
		t.Errorf("at its moment: %d, %v", due, ok)
	}
}

// TestLatencyCountsFromWhenItWasDue: a server stalls for 100 ms, and answers at once before and
// after. At 1,000 requests a second, 100 requests fall into that time with a mean latency of 50 ms,
// although a client with one connection could send only one of them (coordinated omission).
func TestLatencyCountsFromWhenItWasDue(t *testing.T) {
	p := newPace(&Config{Rate: 1000, Threads: 1, Duration: time.Second}, 0)
	var late []int64
	for now := int64(0); now < 1000*ms; now += ms / 10 {
		if now < 100*ms {
			continue // the only connection waits for its response
		}
		for due, ok := p.take(now); ok; due, ok = p.take(now) {
			if latency := now - due; latency >= ms {
				late = append(late, latency)
			}
		}
	}
	if len(late) != 100 || late[0] != 100*ms || late[99] != ms {
		t.Errorf("%d late answers, from %v on, want 100 from 100 ms down to 1", len(late), late[:min(3, len(late))])
	}
}

func TestWhatCounts(t *testing.T) {
	open := newPace(&Config{Rate: 1, Threads: 1, WarmUp: 10, Duration: 10}, 0)
	closed := newPace(&Config{Threads: 1, WarmUp: 10, Duration: 10}, 0)
	for _, row := range []struct {
		name         string
		due, now     int64
		open, closed bool
	}{
		{name: "in the warm-up", due: 5, now: 6},
		{name: "due in the warm-up, answered later", due: 9, now: 11, closed: true},
		{name: "within", due: 12, now: 13, open: true, closed: true},
		{name: "due within, answered too late", due: 19, now: 50, open: true},
		{name: "after the end", due: 20, now: 21},
	} {
		if got := open.counts(row.due, row.now); got != row.open {
			t.Errorf("open loop, %s: %v", row.name, got)
		}
		if got := closed.counts(row.due, row.now); got != row.closed {
			t.Errorf("closed loop, %s: %v", row.name, got)
		}
	}
}

// TestSettle: requests that were sent but not answered, and requests that were never sent, count
// with the time until the end.
func TestSettle(t *testing.T) {
	cfg := Config{Rate: 1000, Threads: 1, Duration: 10 * time.Millisecond}
	l := loop{cfg: &cfg, pace: newPace(&cfg, 0), conns: make([]conn, 1), latency: hdrhistogram.New(1, longest, digits)}
	due, _ := l.pace.take(0)
	l.conns[0].request, l.conns[0].due = &Request{}, due
	l.settle(100 * ms)
	if l.counts.unheard != 1 || l.counts.unsent != 9 {
		t.Errorf("%d without a response and %d not sent, want 1 and 9", l.counts.unheard, l.counts.unsent)
	}
	if least := l.latency.Min(); l.latency.TotalCount() != 10 || least < 90*ms {
		t.Errorf("%d latencies from %d on, want 10 of 91 ms and more", l.latency.TotalCount(), least)
	}
}

func TestRing(t *testing.T) {
	r := newRing(3)
	for c := range 3 {
		r.push(c)
	}
	r.push(r.pop())
	r.remove(2)
	if got := []int{r.pop(), r.pop()}; r.n != 0 || !slices.Equal(got, []int{1, 0}) {
		t.Errorf("after 0 went to the end and 2 away: %v, %d left", got, r.n)
	}
}
