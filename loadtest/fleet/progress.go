//go:build linux

package fleet

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/iconedge/iconedge/internal/terminal"
)

// A progress prints lines and, on a terminal, a progress bar for the current phase.
type progress struct {
	mu  sync.Mutex
	w   io.Writer
	bar *terminal.Line // nil without a terminal
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, bar: terminal.Open(w)}
}

// line prints a line.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.Clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// draw draws the bar.
func (p *progress) draw(what string, past, whole time.Duration, words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.Show(terminal.Bar(int64(past), int64(whole)) + " " + what + "  " + words)
}
