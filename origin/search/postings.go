package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"
)

const (
	// maxShared is the length in bytes up to which a prefix of words has a bitmap of its own. "a"
	// begins thousands of words, but four letters begin at most 173 in the library of 2026.
	maxShared = 3
	// maxBegun is the largest number of words that are tried for a longer prefix, in their order.
	maxBegun = 1000
)

// addPostings writes the bitmaps of docs, and the FSTs that find them. It drops the sets of docs as
// soon as they are written, because those of a large library are most of its memory.
func (b *builder) addPostings() (err error) {
	var all bytes.Buffer
	if b.wordAt, err = b.addBitmaps(&all, secWords, b.words); err != nil {
		return err
	}
	b.words = nil
	begun := postings{}
	for w, at := range b.wordAt {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		docs := roaring.New()
		if _, err := docs.FromBuffer(all.Bytes()[at:]); err != nil {
			return fmt.Errorf("reading postings: %w", err)
		}
		begin(begun, w[:min(maxShared, len(w))], docs)
	}
	for n := maxShared - 1; n > 0; n-- { // from the prefixes of one letter more
		for prefix, docs := range maps.Clone(begun) {
			if len(prefix) == n+1 {
				begin(begun, prefix[:n], docs)
			}
		}
	}
	if _, err := b.addBitmaps(&all, secPrefixes, begun); err != nil {
		return err
	}
	if _, err := b.addBitmaps(&all, secStyles, b.styles); err != nil {
		return err
	}
	if _, err := b.addBitmaps(&all, secCategories, b.categories); err != nil {
		return err
	}
	b.body[secPostings] = all.Bytes()
	return nil
}

// addBitmaps appends bitmaps to all, and makes the section with the FST of their offsets, which it
// returns.
func (b *builder) addBitmaps(all *bytes.Buffer, section int, bitmaps postings) (at map[string]uint64, err error) {
	if at, err = write(b.ctx, all, bitmaps); err != nil {
		return nil, err
	}
	b.body[section], err = dictionary(b.ctx, sorted(at))
	return at, err
}

// begin adds docs to those that have words with a prefix.
func begin(begun postings, prefix string, docs *roaring.Bitmap) {
	if begun[prefix] == nil {
		begun[prefix] = roaring.New()
	}
	begun[prefix].Or(docs)
}

// write appends bitmaps to all and returns their offsets. It leaves only their keys.
func write(ctx context.Context, all *bytes.Buffer, bitmaps postings) (map[string]uint64, error) {
	size := uint64(0)
	for _, docs := range bitmaps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		docs.RunOptimize()
		size += docs.GetSerializedSizeInBytes()
	}
	all.Grow(int(size)) // growing as needed takes three times as much memory for a while
	at := make(map[string]uint64, len(bitmaps))
	for _, key := range slices.Sorted(maps.Keys(bitmaps)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at[key] = uint64(all.Len())
		if _, err := bitmaps[key].WriteTo(all); err != nil {
			return nil, fmt.Errorf("writing postings: %w", err)
		}
		bitmaps[key] = nil
	}
	return at, nil
}

// sorted passes the numbers in the order of their keys.
func sorted(numbers map[string]uint64) iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for _, key := range slices.Sorted(maps.Keys(numbers)) {
			if !yield(key, numbers[key]) {
				return
			}
		}
	}
}

// dictionary makes an FST of numbers by key, which must be in ascending order.
func dictionary(ctx context.Context, numbers iter.Seq2[string, uint64]) ([]byte, error) {
	var fst bytes.Buffer
	b, err := vellum.New(&fst, nil)
	if err != nil {
		return nil, fmt.Errorf("writing words: %w", err)
	}
	for key, n := range numbers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := b.Insert([]byte(key), n); err != nil {
			return nil, fmt.Errorf("writing words: %w", err)
		}
	}
	if err := b.Close(); err != nil {
		return nil, fmt.Errorf("writing words: %w", err)
	}
	return fst.Bytes(), nil
}

// bitmap reads the bitmap at an offset of secPostings, in place. Callers must not change it.
func (x *Index) bitmap(offset uint64) *roaring.Bitmap {
	bm := roaring.New()
	if _, err := bm.FromBuffer(x.body[secPostings][offset:]); err != nil {
		return roaring.New() // can't happen, because Open verified the checksum
	}
	return bm
}

// docsWith returns the docs with a word, or nil if there are none.
func (x *Index) docsWith(word string) *roaring.Bitmap {
	offset, ok, err := x.words.Get([]byte(word))
	if err != nil || !ok {
		return nil
	}
	return x.bitmap(offset)
}

// docsWithPrefix returns the docs with a word that has this prefix, or nil if there are none.
func (x *Index) docsWithPrefix(beginning string) *roaring.Bitmap {
	if len(beginning) <= maxShared {
		offset, ok, err := x.prefixes.Get([]byte(beginning))
		if err != nil || !ok {
			return nil
		}
		return x.bitmap(offset)
	}
	var words []*roaring.Bitmap
	it, err := x.words.Iterator([]byte(beginning), after(beginning))
	for ; err == nil && len(words) < maxBegun; err = it.Next() {
		_, offset := it.Current()
		words = append(words, x.bitmap(offset))
	}
	if len(words) == 0 || err != nil && !errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return x.union(words)
}

// fewSets is the number of sets up to which the memory of a union has only their own docs.
const fewSets = 8

// union returns the docs of several sets.
func (x *Index) union(sets []*roaring.Bitmap) *roaring.Bitmap {
	switch {
	case len(sets) == 1:
		return sets[0]
	case len(sets) <= fewSets:
		return roaring.FastOr(sets...)
	}
	// All docs as bits, because roaring copies a container for each set that it adds.
	bits := x.dense.Get().(*[]uint64)
	dense := *bits
	defer func() {
		clear(dense)
		x.dense.Put(bits)
	}()
	var buf [512]uint32
	for _, set := range sets {
		docs := set.ManyIterator()
		for k := docs.NextMany(buf[:]); k > 0; k = docs.NextMany(buf[:]) {
			for _, doc := range buf[:k] {
				dense[doc/64] |= 1 << (doc % 64)
			}
		}
	}
	docs := roaring.New()
	docs.FromDense(dense, true)
	return docs
}

// begins reports whether a word of names has this prefix.
func (x *Index) begins(beginning string) bool {
	if len(beginning) <= maxShared {
		_, ok, err := x.prefixes.Get([]byte(beginning))
		return err == nil && ok
	}
	_, err := x.words.Iterator([]byte(beginning), after(beginning))
	return err == nil
}

// after returns the first key, bytewise, after all keys with this prefix, or nil if there is none.
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

// either returns the union of two sets; nil stands for no docs.
func either(a, b *roaring.Bitmap) *roaring.Bitmap {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return roaring.Or(a, b)
}

// both returns the intersection of two sets; nil stands for no docs.
func both(a, b *roaring.Bitmap) *roaring.Bitmap {
	if a == nil || b == nil {
		return nil
	}
	if a = roaring.And(a, b); a.IsEmpty() {
		return nil
	}
	return a
}
