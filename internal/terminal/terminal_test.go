package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLine: each text replaces the one before it, Clear erases once, and text that is too long is
// cut between characters.
func TestLine(t *testing.T) {
	var out bytes.Buffer
	width := 10
	l := New(&out, func() int { return width })
	l.Clear() // there is nothing to erase yet
	l.Show("one")
	l.Show("ten columns")
	l.Show("µµµµµµµµµµ")
	l.Clear()
	l.Clear()
	width = minWidth - 1
	l.Show("narrow")
	l.Clear()
	want := "|one|ten colum|µµµµµµµµµ|"
	if got := strings.ReplaceAll(out.String(), eraseLine, "|"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoTerminal: a file and a buffer have no Line, and a nil Line writes nothing.
func TestNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, l := range []*Line{Open(f), Open(&bytes.Buffer{})} {
		if l != nil {
			t.Error("it has a Line")
		}
		l.Show("text")
		l.Clear()
	}
	if text, err := os.ReadFile(f.Name()); err != nil || len(text) > 0 {
		t.Errorf("the file has %q (%v)", text, err)
	}
}

func TestBar(t *testing.T) {
	for _, row := range []struct {
		done, total int64
		full        int
	}{{0, 10, 0}, {1, 10, 3}, {5, 10, 15}, {10, 10, 30}, {11, 10, 30}, {0, 0, 0}} {
		want := "[" + strings.Repeat("=", row.full) + strings.Repeat(" ", 30-row.full) + "]"
		if got := Bar(row.done, row.total); got != want {
			t.Errorf("%d of %d: %s, want %s", row.done, row.total, got, want)
		}
	}
}
