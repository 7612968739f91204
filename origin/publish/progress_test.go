package publish

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// A stopper calls stop when it has been told of some progress.
type stopper struct {
	mu   sync.Mutex
	left int
	stop func()
}

func (s *stopper) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left == 0 {
		s.stop()
	}
}

func (s *stopper) Step(string, int64) { s.tell() }
func (s *stopper) Add(int64, int)     { s.tell() }
func (s *stopper) Done()              {}

// play tells a meter of a short publication, by a clock of its own.
func play(m *meter, clock *time.Time) {
	wait := func(d time.Duration) { *clock = clock.Add(d) }
	m.Step("cleaning drawings", 1000)
	wait(50 * time.Millisecond)
	m.Add(100, 1000) // too soon to be shown
	wait(5 * time.Second)
	m.Add(400, 3000)
	wait(time.Second)
	m.Add(500, 10)
	m.Step("building the search index", 0)
	wait(time.Second)
	m.Done()
	m.Done()
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	clock := t0
	play(newMeter(&out, func() time.Time { return clock }, nil), &clock)
	want := `cleaning drawings: 50 %, 4,000 drawings
cleaning drawings: 100 %, 4,010 drawings in 6.1s
building the search index: done in 1s
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

func TestBar(t *testing.T) {
	var out bytes.Buffer
	clock := t0
	play(newMeter(&out, func() time.Time { return clock }, func() int { return 80 }), &clock)
	frames := strings.Split(out.String(), "\r\x1b[K")
	want := []string{
		"",
		"cleaning drawings [                              ] 0 %",
		"cleaning drawings [===============               ] 50 %, 4,000 drawings",
		"cleaning drawings [==============================] 100 %, 4,010 drawings",
		"", // the bar goes
		"building the search index",
		"",
	}
	if strings.Join(frames, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", frames, want)
	}
}

func TestNarrow(t *testing.T) {
	var out bytes.Buffer
	clock := t0
	play(newMeter(&out, func() time.Time { return clock }, func() int { return 20 }), &clock)
	for frame := range strings.SplitSeq(out.String(), "\r\x1b[K") {
		if len(frame) >= 20 {
			t.Errorf("%q does not fit on 20 columns", frame)
		}
	}
}
