// Package terminal shows progress on a line of a terminal, which each update overwrites. Output
// that goes to a file has no Line; a program logs its progress there as ordinary lines.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// A Line is the last line of a terminal. A nil Line shows nothing. Its methods must not be called
// at the same time.
type Line struct {
	w     io.Writer
	width func() int
	shown bool
}

// Open returns the last line of w, or nil if w is not a terminal that can erase a line.
func Open(w io.Writer) *Line {
	f, ok := File(w)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return New(f, func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return usualWidth
		}
		return width
	})
}

// File returns w as a file, if it is a terminal.
func File(w io.Writer) (f *os.File, ok bool) {
	f, ok = w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// New returns the last line of a terminal; width returns the terminal's columns, which change when
// the user resizes its window.
func New(w io.Writer, width func() int) *Line { return &Line{w: w, width: width} }

const (
	eraseLine  = "\r\x1b[K"
	usualWidth = 80
	minWidth   = 8 // columns of the narrowest terminal on which Show writes
)

// Show replaces the line with text. It cuts text that does not fit, because a line that wraps can't
// be overwritten.
func (l *Line) Show(text string) {
	if l == nil {
		return
	}
	width := l.width()
	if width < minWidth {
		return
	}
	if runes := []rune(text); len(runes) >= width {
		text = string(runes[:width-1])
	}
	fmt.Fprint(l.w, eraseLine, text)
	l.shown = true
}

// Clear erases the line if Show has written it, so that other output can follow.
func (l *Line) Clear() {
	if l != nil && l.shown {
		fmt.Fprint(l.w, eraseLine)
		l.shown = false
	}
}

const barWidth = 30 // columns

// Bar draws the share that is done as a bar.
func Bar(done, total int64) string {
	full := int(min(barWidth, barWidth*done/max(total, 1)))
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "]"
}
