package search

import "github.com/RoaringBitmap/roaring/v2"

// set of docs that are ranked alike.
type set struct {
	docs    *roaring.Bitmap
	terms   []term
	guessed bool // the reading is
	begun   bool // the last word, or any, may only be begun
	slip    int  // how far the terms are from what was typed; 0: nothing was mended
	late    bool // what was mended is a known word
}

// sets are the docs that have a query's words, by how. A doc may be in several: the best counts.
func (x *Index) sets(readings []reading) (sets []set) {
	for _, loose := range []bool{false, true} {
		for _, r := range readings {
			having, begun := x.match(r, loose)
			if having != nil {
				sets = append(sets, set{docs: having, terms: r.terms, guessed: r.guessed})
			}
			if begun != nil && having != nil {
				begun = roaring.AndNot(begun, having)
			}
			if begun != nil {
				sets = append(sets, set{docs: begun, terms: r.terms, guessed: r.guessed, begun: true})
			}
		}
		if len(sets) > 0 {
			break
		}
	}
	return sets
}
