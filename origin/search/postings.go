package search

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"
)

const (
	// maxShared is the length in bytes up to which a beginning of words has a bitmap of its own: "a" begins thousands of
	// words, four letters at most 173 in the library of 2026.
	maxShared = 3
	// maxBegun is how many words a longer beginning is followed into, in their order.
	maxBegun = 1000
)

// addPostings writes the bitmap of each word and of each short beginning of words, and the two FSTs that find them.
func (b *builder) addPostings() error {
	words, begun := map[string]*roaring.Bitmap{}, map[string]*roaring.Bitmap{}
	for w, docs := range b.postings {
		words[w] = roaring.New()
		words[w].AddMany(docs)
		for n := 1; n <= min(maxShared, len(w)); n++ {
			if begun[w[:n]] == nil {
				begun[w[:n]] = roaring.New()
			}
			begun[w[:n]].Or(words[w])
		}
	}
	var postings bytes.Buffer
	var err error
	if b.body[secWords], err = dictionary(&postings, words); err != nil {
		return err
	}
	if b.body[secPrefixes], err = dictionary(&postings, begun); err != nil {
		return err
	}
	b.body[secPostings] = postings.Bytes()
	return nil
}

// dictionary writes bitmaps to postings, and returns an FST of where each one is.
func dictionary(postings *bytes.Buffer, bitmaps map[string]*roaring.Bitmap) ([]byte, error) {
	var fst bytes.Buffer
	b, err := vellum.New(&fst, nil)
	if err != nil {
		return nil, fmt.Errorf("writing words: %w", err)
	}
	for _, w := range slices.Sorted(maps.Keys(bitmaps)) {
		if err := b.Insert([]byte(w), uint64(postings.Len())); err != nil {
			return nil, fmt.Errorf("writing words: %w", err)
		}
		bitmaps[w].RunOptimize()
		if _, err := bitmaps[w].WriteTo(postings); err != nil {
			return nil, fmt.Errorf("writing postings: %w", err)
		}
	}
	if err := b.Close(); err != nil {
		return nil, fmt.Errorf("writing words: %w", err)
	}
	return fst.Bytes(), nil
}

// bitmap reads the bitmap at an offset of secPostings, in place: it must not be written to.
func (x *Index) bitmap(offset uint64) *roaring.Bitmap {
	bm := roaring.New()
	if _, err := bm.FromBuffer(x.body[secPostings][offset:]); err != nil {
		return roaring.New() // can't happen to an index whose checksum was right
	}
	return bm
}

// having is the docs with a word; nil if there are none.
func (x *Index) having(word string) *roaring.Bitmap {
	offset, ok, err := x.words.Get([]byte(word))
	if err != nil || !ok {
		return nil
	}
	return x.bitmap(offset)
}

// begun is the docs with a word that begins so; nil if there are none.
func (x *Index) begun(beginning string) *roaring.Bitmap {
	if len(beginning) <= maxShared {
		offset, ok, err := x.prefixes.Get([]byte(beginning))
		if err != nil || !ok {
			return nil
		}
		return x.bitmap(offset)
	}
	var found []*roaring.Bitmap
	it, err := x.words.Iterator([]byte(beginning), after(beginning))
	for ; err == nil && len(found) < maxBegun; err = it.Next() {
		_, offset := it.Current()
		found = append(found, x.bitmap(offset))
	}
	if len(found) == 0 || err != nil && !errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return roaring.FastOr(found...)
}

// after is the first key, in the order of bytes, after all that begin so; nil if there is none.
func after(beginning string) []byte {
	key := []byte(beginning)
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] < 0xff {
			key[i]++
			return key[:i+1]
		}
	}
	return nil
}

// either is the union of two sets, of which either may be nil.
func either(a, b *roaring.Bitmap) *roaring.Bitmap {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return roaring.Or(a, b)
}

// both is the intersection of two sets; nil stands for no docs.
func both(a, b *roaring.Bitmap) *roaring.Bitmap {
	if a == nil || b == nil {
		return nil
	}
	if a = roaring.And(a, b); a.IsEmpty() {
		return nil
	}
	return a
}
