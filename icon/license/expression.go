package license

import "strings"

// maxDepth is the deepest nesting of parentheses in an expression.
const maxDepth = 16

// An expression is a parser of a licence expression: its remaining words.
type expression struct{ words []string }

// A term is the value of a part of an expression.
type term struct {
	obliges Obligations
	known   bool
}

// evaluate returns the obligations of a licence expression. A malformed one is not known.
func evaluate(s string) (o Obligations, known bool) {
	e := parse(s)
	t, ok := e.either(0)
	if !ok || len(e.words) > 0 {
		return t.obliges, false
	}
	return t.obliges, t.known
}

func parse(s string) expression {
	return expression{strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(s))}
}

// either reads terms with OR between them. The user chooses one of them.
func (e *expression) either(depth int) (t term, ok bool) {
	if t, ok = e.both(depth); !ok {
		return t, false
	}
	for e.next("OR") {
		other, ok := e.both(depth)
		if !ok {
			return term{}, false
		}
		switch {
		case t.known == other.known:
			t.obliges &= other.obliges
		case other.known:
			t = other
		}
	}
	return t, true
}

// both reads terms with AND between them. The user complies with all of them.
func (e *expression) both(depth int) (t term, ok bool) {
	if t, ok = e.single(depth); !ok {
		return t, false
	}
	for e.next("AND") {
		other, ok := e.single(depth)
		if !ok {
			return term{}, false
		}
		t = term{t.obliges | other.obliges, t.known && other.known}
	}
	return t, true
}

// single reads a licence, or an expression in parentheses. An exception (WITH) only permits more,
// so the obligations of the licence stand.
func (e *expression) single(depth int) (t term, ok bool) {
	switch {
	case len(e.words) == 0 || depth > maxDepth:
		return t, false
	case e.next("("):
		t, ok = e.either(depth + 1)
		return t, ok && e.next(")")
	}
	if !isIdentifier(e.words[0]) {
		return t, false
	}
	t = named(e.words[0])
	e.words = e.words[1:]
	if e.next("WITH") {
		if len(e.words) == 0 || !isIdentifier(e.words[0]) {
			return t, false
		}
		e.words = e.words[1:]
	}
	return t, true
}

// isIdentifier reports whether a word can be that of a licence or an exception.
func isIdentifier(word string) bool {
	switch strings.ToUpper(word) {
	case "AND", "OR", "WITH":
		return false
	}
	return identifier.MatchString(word)
}

// next reads word if it is the next one.
func (e *expression) next(word string) bool {
	if len(e.words) == 0 || !strings.EqualFold(e.words[0], word) {
		return false
	}
	e.words = e.words[1:]
	return true
}

// named returns the obligations of one identifier. A plus sign allows later versions too.
func named(id string) term {
	id = strings.ToLower(strings.TrimSuffix(id, "+"))
	if listed, ok := canonical[id]; ok {
		return term{table[listed].obliges, true}
	}
	o, known := creativeCommons(id)
	return term{o, known}
}
