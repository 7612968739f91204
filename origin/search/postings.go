package search

import (
	"bytes"
	"context"
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

// addPostings writes the bitmaps of what docs are found by, and the FSTs that find them.
func (b *builder) addPostings() error {
	begun := map[string]*roaring.Bitmap{}
	words, err := b.words.bitmaps(b.ctx)
	if err != nil {
		return err
	}
	for w, docs := range words {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		for n := 1; n <= min(maxShared, len(w)); n++ {
			if begun[w[:n]] == nil {
				begun[w[:n]] = roaring.New()
			}
			begun[w[:n]].Or(docs)
		}
	}
	concepts, err := b.concepts.bitmaps(b.ctx)
	if err != nil {
		return err
	}
	styles, err := b.styles.bitmaps(b.ctx)
	if err != nil {
		return err
	}
	categories, err := b.categories.bitmaps(b.ctx)
	if err != nil {
		return err
	}
	var all bytes.Buffer
	for _, d := range []struct {
		section int
		bitmaps map[string]*roaring.Bitmap
		at      *map[string]uint64
	}{
		{secWords, words, &b.wordAt}, {secPrefixes, begun, nil}, {sections, concepts, &b.conceptAt}, // no query asks for a name less its style: meanings point at them
		{secStyles, styles, nil}, {secCategories, categories, nil},
	} {
		at, err := write(b.ctx, &all, d.bitmaps)
		if err != nil {
			return err
		}
		if d.section < sections {
			if b.body[d.section], err = dictionary(b.ctx, at); err != nil {
				return err
			}
		}
		if d.at != nil {
			*d.at = at
		}
	}
	b.body[secPostings] = all.Bytes()
	return nil
}

func (p postings) bitmaps(ctx context.Context) (map[string]*roaring.Bitmap, error) {
	bitmaps := make(map[string]*roaring.Bitmap, len(p))
	for key, docs := range p {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		bitmaps[key] = roaring.New()
		bitmaps[key].AddMany(docs)
	}
	return bitmaps, nil
}

// write adds bitmaps to all, and tells where each one is.
func write(ctx context.Context, all *bytes.Buffer, bitmaps map[string]*roaring.Bitmap) (map[string]uint64, error) {
	at := make(map[string]uint64, len(bitmaps))
	for _, key := range slices.Sorted(maps.Keys(bitmaps)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at[key] = uint64(all.Len())
		bitmaps[key].RunOptimize()
		if _, err := bitmaps[key].WriteTo(all); err != nil {
			return nil, fmt.Errorf("writing postings: %w", err)
		}
	}
	return at, nil
}

// dictionary makes an FST of numbers by key.
func dictionary(ctx context.Context, numbers map[string]uint64) ([]byte, error) {
	var fst bytes.Buffer
	b, err := vellum.New(&fst, nil)
	if err != nil {
		return nil, fmt.Errorf("writing words: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := b.Insert([]byte(key), numbers[key]); err != nil {
			return nil, fmt.Errorf("writing words: %w", err)
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
