package search

import (
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/scheme"
)

// coded is the meaning of a query as a name in code, such as FaHouse or "bi bi-house".
type coded struct {
	docs []uint32 // the icons of that name, the likeliest first
	// words is the name, if the icons exist and the query has the punctuation of code. The query
	// then finds the hits of the name, and otherwise those of its own words.
	words  string
	styled bool // the query is the name with a style, so its other icons are no better
	// typed are the readings of a name that no icon has, such as one that the user is typing,
	// within the packs of the form.
	typed []scheme.Reading
}

// maxCoded is the largest number of icons that stand before others because of a name in code.
const maxCoded = 6

// coded reads a query as a name in code. Its icons are in allowed (nil: all), and in the pack that
// the query asks for.
func (x *Index) coded(l *lookups, q Query, allowed *roaring.Bitmap) (c coded) {
	if _, _, ok := x.colon(q.Text); ok {
		return c
	}
	exists, known := false, scheme.Read(q.Text, x.hasPack)
	if len(known) > 0 && icon.ValidKey(q.Text) && l.isName(q.Text) {
		known[0].Certain = false // wi-fi is a name, although classes begin with wi-
	}
	for _, r := range known {
		for _, ref := range r.Refs {
			doc, ok := x.doc(ref)
			if !ok {
				continue
			}
			if !exists {
				exists, c.styled = true, r.Styled
				if known[0].Certain {
					c.words = strings.ReplaceAll(r.Name, "-", " ")
				}
			}
			shown := (q.Pack == "" || q.Pack == ref.Pack) && (allowed == nil || allowed.Contains(doc))
			if shown && len(c.docs) < maxCoded && !slices.Contains(c.docs, doc) {
				c.docs = append(c.docs, doc)
			}
		}
		if len(r.Targets) == 0 && !exists { // of a file, which names no pack
			c.words = strings.ReplaceAll(r.Name, "-", " ")
		}
		c.typed = append(c.typed, r)
	}
	if exists {
		c.typed = nil
	}
	return c
}

// maxNamed bounds the docs that isName looks at.
const maxNamed = 256

// isName reports whether an icon has that name.
func (l *lookups) isName(name string) bool {
	having, _ := l.match(reading{terms: split(name)}, false)
	if having == nil {
		return false
	}
	it := having.Iterator()
	for n := 0; it.HasNext() && n < maxNamed; n++ {
		if own, _ := l.x.names(it.Next()); string(own) == name {
			return true
		}
	}
	return false
}

func (x *Index) hasPack(key string) bool { return x.pack(key) >= 0 }

// late returns the readings of a name that is incomplete, or has a typo, within the packs of its
// form. The words of a query come first.
func (x *Index) late(q Query, c coded, readings []reading, allowed *roaring.Bitmap) []reading {
	for _, r := range c.typed {
		var packs []int
		for _, t := range r.Targets {
			if p := x.pack(t.Pack); p >= 0 && (q.Pack == "" || q.Pack == t.Pack) && !slices.Contains(packs, p) {
				packs = append(packs, p)
			}
		}
		n := len(readings)
		readings = x.guess(readings, packs, x.splitDigits(split(r.Name)), reading{within: allowed})
		if len(readings) > n {
			readings[n].late = true
			return readings // the longest form is the likeliest
		}
	}
	return readings
}

// gatherCoded adds the ranks of the icons of a name in code, and returns the number of their
// distinct SVGs.
func (x *Index) gatherCoded(s *scratch, c coded) (distinct int) {
	tier := rank(tierGuessedCode)
	if c.words != "" || c.styled {
		tier = tierCode
	}
	for i, doc := range c.docs {
		if x.first(s, doc) {
			distinct++
		}
		s.ranks = append(s.ranks, tier<<tierAt|rank(i)<<(packBits+docBits)|rank(doc))
	}
	return distinct
}

// maxCodeCompletions is the largest number of completions that are names in code, so that words
// have places too.
const maxCodeCompletions = 5

// completeCode completes a name in code at the end of a text by the names of a pack of its form,
// those of which most packs have such an icon first. certain means that the text can't be words.
func (x *Index) completeCode(text string) (found []string, certain bool) {
	if _, _, ok := x.colon(text); ok {
		return nil, false
	}
	for _, r := range scheme.Read(text, x.hasPack) {
		written, separator := writtenName(text, r.Name)
		if written == "" {
			continue
		}
		for _, t := range r.Targets {
			for _, name := range x.begunIn(t, r.Name) {
				name = strings.TrimSuffix(text, written) + strings.ReplaceAll(name, "-", separator)
				if len(found) < maxCodeCompletions && !slices.Contains(found, name) {
					found = append(found, name)
				}
			}
			if len(found) > 0 {
				return found, r.Certain
			}
		}
	}
	return nil, false
}

// writtenName returns the name at the end of a text as it is written there, and what separates its
// words; empty: the text does not end with the name.
func writtenName(text, name string) (written, separator string) {
	for _, separator := range []string{"-", " ", "_"} {
		if written := strings.ReplaceAll(name, "-", separator); strings.HasSuffix(text, written) {
			return written, separator
		}
	}
	return "", ""
}

// begunIn returns the names, without what a target adds, that begin so in the pack of a target.
func (x *Index) begunIn(t scheme.Target, begin string) (names []string) {
	pack := x.pack(t.Pack)
	if pack < 0 {
		return nil
	}
	var found []phrase
	for doc := x.firstFrom(pack, t.Before+begin); doc < x.packs[pack].End && len(found) < maxCompared; doc++ {
		name, _ := x.names(doc)
		rest, ok := strings.CutPrefix(string(name), t.Before)
		if !ok || !strings.HasPrefix(rest, begin) {
			break
		}
		if rest, ok = strings.CutSuffix(rest, t.After); ok && rest != "" && (x.shown == nil || x.shown.Contains(doc)) {
			found = append(found, phrase{rest, uint64(max(1, x.body[secDocs][int(doc)*docSize+docPopular]))})
		}
	}
	slices.SortFunc(found, better)
	for _, p := range found[:min(len(found), maxCodeCompletions)] {
		names = append(names, p.text)
	}
	return names
}
