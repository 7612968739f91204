package terminal

import (
	"strings"
	"testing"
)

// A screen cuts long lines, erases the rest of the previous update, and restores the terminal.
func TestScreen(t *testing.T) {
	var out strings.Builder
	width, height := 5, 3
	s := NewScreen(&out, func() (int, int) { return width, height })
	s.Show([]string{"first", "second", "3", "4"})
	width, height = 80, 24
	s.Show([]string{"more than five columns"})
	s.Close()
	want := "\x1b[?1049h\x1b[?25l" + "\x1b[Hfirst\x1b[K\r\nsecon\x1b[K\r\n3\x1b[K\x1b[J" +
		"\x1b[Hmore than five columns\x1b[K\x1b[J" + "\x1b[?25h\x1b[?1049l"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	(*Screen)(nil).Close()
	if OpenScreen(&out) != nil {
		t.Error("a file is a screen")
	}
}
