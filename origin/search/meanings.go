package search

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// A meaning in secTargets: its weight in 255ths, how many bitmaps (targetWhole: one, of a concept), and the offset of each.
// Those of one word follow their number, the surest first.
const targetWhole = 0x80

// addMeanings writes what the lexicon says that words may mean.
func (b *builder) addMeanings(lex *lexicon.Lexicon) (err error) {
	at := map[string]uint64{}
	var targets []byte
	if lex != nil {
		meanings, err := lex.Learn(b.ctx, b.vocabulary())
		if err != nil {
			return err
		}
		for _, word := range slices.Sorted(maps.Keys(meanings)) {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			if list, n := b.targets(meanings[word]); n > 0 {
				at[word] = uint64(len(targets))
				targets = append(binary.AppendUvarint(targets, uint64(n)), list...)
			}
		}
	}
	b.body[secTargets] = targets
	b.body[secMeanings], err = dictionary(b.ctx, at)
	return err
}

// leastMeant is how many docs must have a word for it to be meant by another: most others are names of brands.
const leastMeant = 1

func (b *builder) vocabulary() (words []string) {
	for w, docs := range b.words {
		if len(docs) >= leastMeant {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}

// targets writes those meanings that names have.
func (b *builder) targets(meanings []lexicon.Meaning) (list []byte, n int) {
	for _, m := range meanings {
		weight := byte(min(255, m.Weight*255))
		words := strings.Split(m.Text, " ")
		if m.Whole {
			if offset, ok := b.conceptAt[m.Text]; ok {
				list = binary.LittleEndian.AppendUint32(append(list, weight, targetWhole|1), uint32(offset))
				n++
			}
			continue
		}
		if len(words) > maxWords || slices.ContainsFunc(words, func(w string) bool { _, ok := b.wordAt[w]; return !ok }) {
			continue
		}
		list = append(list, weight, byte(len(words)))
		for _, w := range words {
			list = binary.LittleEndian.AppendUint32(list, uint32(b.wordAt[w]))
		}
		n++
	}
	return list, n
}

// A target is docs that a word may mean.
type target struct {
	weight float32
	whole  bool
	words  int
	docs   *roaring.Bitmap
}

// targets are what a word or phrase may mean, the surest first.
func (x *Index) targets(word string) []target {
	at, ok, err := x.meanings.Get([]byte(word))
	if err != nil || !ok {
		return nil
	}
	data := x.body[secTargets][at:]
	count, size := binary.Uvarint(data)
	list := make([]target, count)
	data = data[size:]
	for i := range list {
		n := int(data[1] &^ targetWhole)
		t := target{weight: float32(data[0]) / 255, whole: data[1]&targetWhole != 0, words: n}
		for k := range n {
			docs := x.bitmap(uint64(binary.LittleEndian.Uint32(data[2+4*k:])))
			if k > 0 {
				docs = roaring.And(t.docs, docs)
			}
			t.docs = docs
		}
		list[i] = t
		data = data[2+4*n:]
	}
	return list
}

// means reports whether anything is known of what a word or phrase may mean.
func (x *Index) means(word string) bool {
	_, ok, err := x.meanings.Get([]byte(word))
	return err == nil && ok
}
