package search

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// A meaning in secTargets has its weight in 255ths, its number of words (targetWhole|1: a concept),
// with targetForeign if the word that has the meaning belongs to another language, and the offset
// of a bitmap: the docs that have all words. In version 2 it has an offset for each word. The
// number of a word's meanings precedes them; the most certain comes first.
const (
	targetWhole   = 0x80
	targetForeign = 0x40
)

// addMeanings writes the meanings of words in the lexicon.
func (b *builder) addMeanings(lex *lexicon.Lexicon) (err error) {
	meanings := iter.Seq2[string, []lexicon.Meaning](func(func(string, []lexicon.Meaning) bool) {})
	if lex != nil {
		if meanings, err = lex.Meanings(b.ctx, b.lexiconNames, b.form); err != nil {
			return err
		}
	}
	b.body[secMeanings], err = dictionary(b.ctx, func(yield func(string, uint64) bool) {
		for word, list := range meanings {
			at := uint64(len(b.body[secTargets]))
			if b.addTargets(list) && !yield(word, at) {
				return
			}
		}
	})
	return err
}

// lexiconNames returns the names of the library, as the lexicon learns from them.
func (b *builder) lexiconNames() (names lexicon.Names) {
	names.Words = slices.Sorted(maps.Keys(b.wordAt))
	for _, concept := range b.sorted {
		packs, last := 0, -1
		for _, doc := range b.drawings.of(concept) {
			pack, _ := slices.BinarySearch(b.ends, doc+1)
			if b.body[secDocs][doc*docSize+docFlags]&flagAlias == 0 && pack != last {
				packs, last = packs+1, pack
			}
		}
		if packs > 0 {
			names.Icons = append(names.Icons, lexicon.Named{Text: b.concepts.text(concept), Packs: packs})
		}
	}
	return names
}

// form encodes a meaning without its weight: "" if names do not have its words.
func (b *builder) form(m lexicon.Meaning) string {
	if id, ok := b.concepts.find(m.Text); m.Whole && ok {
		return string(binary.LittleEndian.AppendUint32([]byte{targetWhole | 1}, uint32(b.docsOfConcept(id))))
	}
	words := strings.Split(m.Text, " ")
	if m.Whole || len(words) > maxWords {
		return ""
	}
	offset, ok := b.docsWithAll(m.Text, words)
	if !ok {
		return ""
	}
	return string(binary.LittleEndian.AppendUint32([]byte{byte(len(words))}, uint32(offset)))
}

// docsOfConcept returns the offset of the bitmap of the docs of a concept. It writes that bitmap,
// because few concepts are meanings.
func (b *builder) docsOfConcept(id uint32) uint64 {
	at, written := b.conceptAt[id]
	if !written {
		at = b.addPosting(roaring.BitmapOf(b.drawings.of(id)...))
		b.conceptAt[id] = at
	}
	return at
}

// addPosting writes a bitmap, and returns its offset.
func (b *builder) addPosting(docs *roaring.Bitmap) uint64 {
	docs.RunOptimize()
	serialised, err := docs.ToBytes()
	if err != nil {
		panic(err) // can't happen: it is written to memory
	}
	at := uint64(len(b.body[secPostings]))
	b.body[secPostings] = append(b.body[secPostings], serialised...)
	return at
}

// docsWithAll returns the offset of the bitmap of the docs that have all words of a phrase. It
// writes that bitmap, because an intersection costs a query more than all else.
func (b *builder) docsWithAll(phrase string, words []string) (offset uint64, ok bool) {
	if offset, ok = b.wordAt[phrase]; ok {
		return offset, true
	}
	var docs *roaring.Bitmap
	for _, w := range words {
		offset, ok := b.wordAt[w]
		if !ok {
			return 0, false
		}
		one := roaring.New()
		if _, err := one.FromBuffer(b.body[secPostings][offset:]); err != nil {
			return 0, false // can't happen: addPostings wrote it
		}
		if docs != nil {
			one = roaring.And(docs, one)
		}
		docs = one
	}
	if docs.IsEmpty() {
		return 0, false
	}
	b.wordAt[phrase] = b.addPosting(docs)
	return b.wordAt[phrase], true
}

// addTargets writes the meanings that occur in names. It returns false, and writes nothing, if
// there are none.
func (b *builder) addTargets(meanings []lexicon.Meaning) bool {
	n := 0
	for i, m := range meanings {
		if m.Form == "" {
			meanings[i].Form = b.form(m)
		}
		if meanings[i].Form != "" {
			n++
		}
	}
	if n == 0 {
		return false
	}
	to := binary.AppendUvarint(b.body[secTargets], uint64(n))
	for _, m := range meanings {
		if m.Form == "" {
			continue
		}
		to = append(append(to, byte(min(255, m.Weight*255))), m.Form...)
		if m.Foreign {
			to[len(to)-len(m.Form)] |= targetForeign
		}
	}
	b.body[secTargets] = to
	return true
}

// A target is the docs that match one meaning of a word: those of the bitmap at an offset of
// secPostings, or, in version 2, of more, which is the intersection of several.
type target struct {
	weight  float32
	whole   bool
	foreign bool
	words   int
	offset  uint64
	more    *roaring.Bitmap
}

// targets passes the meanings of a word or phrase, the most certain first.
func (x *Index) targets(word string, each func(target)) {
	at, ok, err := x.meanings.Get([]byte(word))
	if err != nil || !ok {
		return
	}
	data := x.body[secTargets][at:]
	count, size := binary.Uvarint(data)
	data = data[size:]
	for range count {
		n := int(data[1] &^ (targetWhole | targetForeign))
		t := target{weight: float32(data[0]) / 255, whole: data[1]&targetWhole != 0, foreign: data[1]&targetForeign != 0, words: n}
		t.offset = uint64(binary.LittleEndian.Uint32(data[2:]))
		if x.version != versionWords {
			n = 1
		}
		if n > 1 {
			t.more = x.bitmap(t.offset)
		}
		for k := 1; k < n; k++ {
			t.more = roaring.And(t.more, x.bitmap(uint64(binary.LittleEndian.Uint32(data[2+4*k:]))))
		}
		each(t)
		data = data[2+4*n:]
	}
}

// hasMeaning reports whether the index has meanings of a word or phrase.
func (x *Index) hasMeaning(word string) bool {
	_, ok, err := x.meanings.Get([]byte(word))
	return err == nil && ok
}
