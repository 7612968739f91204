package publish

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/iconedge/iconedge/internal/terminal"
)

// Progress receives the progress of a publication. Several goroutines may call its methods at once.
type Progress interface {
	Step(step string, total int64) // starts the next step; total is in bytes, 0 if it is unknown
	Add(bytes int64, icons int)    // reports work done since the last call
	Done()                         // ends the publication, also after an error; may be called twice
}

type silent struct{}

func (silent) Step(string, int64) {}
func (silent) Add(int64, int)     {}
func (silent) Done()              {}

// NewProgress shows progress on w: as a bar on a terminal, otherwise as lines without control
// codes.
func NewProgress(w io.Writer) Progress {
	return newMeter(w, time.Now, terminal.Open(w))
}

const (
	redraw   = 100 * time.Millisecond // least time between two updates of the bar
	logEvery = 5 * time.Second        // least time between two lines of a log
)

// A meter draws a bar on a terminal, and writes lines to a log.
type meter struct {
	w   io.Writer
	now func() time.Time
	bar *terminal.Line // nil for a log

	mu    sync.Mutex
	step  string
	total int64
	bytes int64
	icons int
	began time.Time
	shown time.Time
}

func newMeter(w io.Writer, now func() time.Time, bar *terminal.Line) *meter {
	return &meter{w: w, now: now, bar: bar}
}

func (m *meter) Step(step string, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end()
	m.step, m.total, m.bytes, m.icons = step, total, 0, 0
	m.began = m.now()
	m.shown = m.began
	m.draw()
}

func (m *meter) Add(bytes int64, icons int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += bytes
	m.icons += icons
	now := m.now()
	switch since := now.Sub(m.shown); {
	case m.bar != nil && since >= redraw:
		m.shown = now
		m.draw()
	case m.bar == nil && since >= logEvery:
		m.shown = now
		m.line("")
	}
}

func (m *meter) Done() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end()
	m.step = ""
}

// end finishes a step: it removes the bar from a terminal, or writes the step's line to a log.
func (m *meter) end() {
	switch {
	case m.step == "":
	case m.bar == nil:
		m.line(" in " + m.now().Sub(m.began).Round(redraw).String())
	default:
		m.bar.Clear()
	}
}

func (m *meter) line(suffix string) {
	fmt.Fprintf(m.w, "%s: %s%s\n", m.step, m.figures(), suffix)
}

func (m *meter) figures() string {
	var parts []string
	if m.total > 0 {
		parts = append(parts, fmt.Sprintf("%d %%", m.percent()))
	}
	if m.icons > 0 {
		parts = append(parts, grouped(m.icons)+" icons")
	}
	if len(parts) == 0 {
		return "done"
	}
	return strings.Join(parts, ", ")
}

func (m *meter) percent() int64 { return min(100, 100*m.bytes/max(1, m.total)) }

// draw draws the bar on a terminal.
func (m *meter) draw() {
	text := m.step
	if m.total > 0 {
		text += " " + terminal.Bar(m.bytes, m.total) + " " + m.figures()
	}
	m.bar.Show(text)
}
