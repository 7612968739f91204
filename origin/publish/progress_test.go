package publish

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/terminal"
)

// A stopper is a Progress that calls stop once, at the call with the number left.
type stopper struct {
	mu   sync.Mutex
	left int
	stop func()
}

func (s *stopper) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left == 0 {
		s.stop()
	}
}

func (s *stopper) Step(string, int64) { s.count() }
func (s *stopper) Add(int64, int)     { s.count() }
func (s *stopper) Done()              {}

// play reports a short publication to a meter and moves its clock.
func play(m *meter, clock *time.Time) {
	wait := func(d time.Duration) { *clock = clock.Add(d) }
	m.Step("cleaning icons", 1000)
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
	want := `cleaning icons: 50 %, 4,000 icons
cleaning icons: 100 %, 4,010 icons in 6.1s
building the search index: done in 1s
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

func TestBar(t *testing.T) {
	var out bytes.Buffer
	clock := t0
	play(newMeter(&out, func() time.Time { return clock }, terminal.New(&out, func() int { return 80 })), &clock)
	frames := strings.Split(out.String(), "\r\x1b[K")
	want := []string{
		"",
		"cleaning icons [                              ] 0 %",
		"cleaning icons [===============               ] 50 %, 4,000 icons",
		"cleaning icons [==============================] 100 %, 4,010 icons",
		"", // removes the bar
		"building the search index",
		"",
	}
	if strings.Join(frames, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", frames, want)
	}
}
