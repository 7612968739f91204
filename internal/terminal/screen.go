package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// A Screen is a terminal that each update overwrites. It leaves what the terminal showed before as
// it was. A nil Screen does nothing.
type Screen struct {
	w    io.Writer
	size func() (width, height int)
}

const (
	alternate = "\x1b[?1049h\x1b[?25l" // the second screen of a terminal, without a cursor
	restore   = "\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H"
	eraseRest = "\x1b[J" // of the screen
	eraseEnd  = "\x1b[K" // of the line
)

// OpenScreen returns w as a screen, or nil if w is not a terminal that can be overwritten. The
// caller must close it.
func OpenScreen(w io.Writer) *Screen {
	f, ok := File(w)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return NewScreen(f, func() (width, height int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return usualWidth, usualHeight
		}
		return width, height
	})
}

const usualHeight = 24

// NewScreen returns a screen; size returns the terminal's columns and lines, which change when the
// user resizes its window.
func NewScreen(w io.Writer, size func() (width, height int)) *Screen {
	fmt.Fprint(w, alternate)
	return &Screen{w, size}
}

// Show replaces the screen with lines. It cuts lines that do not fit.
func (s *Screen) Show(lines []string) error {
	width, height := s.size()
	var b strings.Builder
	b.WriteString(home)
	for i, line := range lines[:min(len(lines), max(height, 1))] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width])
		}
		b.WriteString(line)
		b.WriteString(eraseEnd)
	}
	b.WriteString(eraseRest)
	_, err := io.WriteString(s.w, b.String())
	return err
}

// Close shows again what the terminal showed before.
func (s *Screen) Close() {
	if s != nil {
		fmt.Fprint(s.w, restore)
	}
}
