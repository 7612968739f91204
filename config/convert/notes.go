package convert

import (
	"fmt"
	"slices"
	"strings"
)

// A Note is about a line that the file does not have in the form of nginx.
type Note struct {
	File      string
	Line      int
	Directive string
	Reason    string
	Kind      Kind
}

// A Kind is the fate of a line in the translation.
type Kind string

// The kinds of notes.
const (
	LeftOut Kind = "left out"
	Changed Kind = "changed" // it is kept in another way
	// Refused: the edge refuses the requests that the line is about, until somebody translates it.
	Refused Kind = "REFUSED"
)

// String returns the note in one line.
func (n Note) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", n.File, n.Line, n.Directive, n.Kind, n.Reason)
}

// notes collects the notes of a conversion.
type notes struct{ all []Note }

// add notes that a directive is left out.
func (n *notes) add(d *directive, format string, args ...any) { n.note(d, LeftOut, format, args...) }

// change notes that a directive is kept in another way.
func (n *notes) change(d *directive, format string, args ...any) { n.note(d, Changed, format, args...) }

// refuse notes that the requests of a directive are refused.
func (n *notes) refuse(d *directive, format string, args ...any) { n.note(d, Refused, format, args...) }

func (n *notes) note(d *directive, kind Kind, format string, args ...any) {
	one := Note{d.file, d.line, oneLine(d.String()), fmt.Sprintf(format, args...), kind}
	if !slices.Contains(n.all, one) { // settings of a server are looked at for each location
		n.all = append(n.all, one)
	}
}

// oneLine returns a text in one line of bounded length, without characters that do not print.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100]) + "…"
	}
	return s
}

// sorted returns the notes in the order of their lines.
func (n *notes) sorted() []Note {
	slices.SortStableFunc(n.all, func(a, b Note) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	})
	return n.all
}
