package search

import (
	"sync"
	"unicode/utf8"
)

// An edits is the automaton of all words within some edits of a word: a letter more, less or other,
// or two neighbours exchanged. It makes its states while a transducer is searched with it, because
// the whole automaton of a long word has a megabyte. The words of names are ASCII, so it reads
// bytes. It implements vellum.Automaton.
type edits struct {
	word   []byte
	most   uint8
	states []editState // the first is that of words too far away
	far    editRow     // of these
}

// An editRow has, for each number of letters of the word, the distance to the letters read; more
// than edits.most stands for any such distance.
type editRow [maxTypoLen + 1]uint8

// editsPool keeps the memory of states, of which a long word needs thousands.
var editsPool = sync.Pool{New: func() any { return new(edits) }}

// An editState is one reading of the first letters of another word.
type editState struct {
	row    editRow
	before int32 // the state before the last letter
	last   byte
	read   uint8 // letters
}

const (
	stateFar   = 0
	stateStart = 1
)

// newEdits returns an automaton, which the caller must free.
func newEdits(word string, most uint8) *edits {
	e := editsPool.Get().(*edits)
	e.most, e.word, e.states = most, e.word[:0], append(e.states[:0], editState{}, editState{})
	for _, r := range word {
		if r >= utf8.RuneSelf {
			r = 0xff // no name has it
		}
		e.word = append(e.word, byte(r))
	}
	for i := range e.states[stateStart].row {
		e.states[stateStart].row[i] = min(uint8(i), most+1)
		e.far[i] = most + 1
	}
	return e
}

func (e *edits) free() { editsPool.Put(e) }

// Start implements vellum.Automaton.
func (e *edits) Start() int { return stateStart }

// IsMatch implements vellum.Automaton.
func (e *edits) IsMatch(s int) bool { return s != stateFar && e.states[s].row[len(e.word)] <= e.most }

// CanMatch implements vellum.Automaton.
func (e *edits) CanMatch(s int) bool { return s != stateFar }

// WillAlwaysMatch implements vellum.Automaton.
func (e *edits) WillAlwaysMatch(int) bool { return false }

// Accept implements vellum.Automaton.
func (e *edits) Accept(s int, b byte) int {
	if s == stateFar {
		return stateFar
	}
	from := &e.states[s]
	next := editState{row: e.far, before: int32(s), last: b, read: from.read + 1}
	least := e.most + 1
	// Outside of this band the numbers of letters alone differ by more than the edits.
	first, last := max(0, int(next.read)-int(e.most)), min(len(e.word), int(next.read)+int(e.most))
	for i := first; i <= last; i++ {
		d := from.row[i] + 1
		if i > 0 {
			same := from.row[i-1]
			if e.word[i-1] != b {
				same++
			}
			d = min(d, next.row[i-1]+1, same)
		}
		if i > 1 && s != stateStart && e.word[i-1] == from.last && e.word[i-2] == b {
			d = min(d, e.states[from.before].row[i-2]+1)
		}
		next.row[i] = min(d, e.most+1)
		least = min(least, next.row[i])
	}
	if least > e.most {
		return stateFar
	}
	e.states = append(e.states, next)
	return len(e.states) - 1
}
