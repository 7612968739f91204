//go:build linux

package fleet

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A progress prints lines and, on a terminal, a progress bar for the current phase.
type progress struct {
	mu  sync.Mutex
	w   io.Writer
	bar bool
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return &progress{w: w}
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return &progress{w: w, bar: err == nil}
}

const eraseLine = "\r\x1b[K"

// line prints a line.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar {
		fmt.Fprint(p.w, eraseLine)
	}
	fmt.Fprintf(p.w, format+"\n", args...)
}

const barWidth = 30

// draw draws the bar.
func (p *progress) draw(what string, past, whole time.Duration, words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.bar {
		return
	}
	n := min(barWidth, int(barWidth*past/max(whole, 1)))
	fmt.Fprintf(p.w, "%s[%s%s] %s  %s", eraseLine, strings.Repeat("=", n), strings.Repeat(" ", barWidth-n), what, words)
}
