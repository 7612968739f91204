package search

import "github.com/RoaringBitmap/roaring/v2"

// A set is docs that are ranked by the same rules.
type set struct {
	docs    *roaring.Bitmap
	terms   []term
	guessed bool // from a guessed reading
	begun   bool // the last word, or any, may be a prefix
	// rival is rank.unlikely of the likeliest doc that has the last word of a begun set whole; 0:
	// docs of the set are not compared with it.
	rival   rank
	typo    int  // distance of the terms from the query; 0: no correction
	ofKnown bool // the corrected word is a known word
}

// sets returns the docs that have a query's words, by the kind of match. If a doc is in several
// sets, the best one counts.
func (l *lookups) sets(readings []reading) (sets []set) {
	for _, loose := range []bool{false, true} {
		for _, r := range readings {
			if r.late && !loose {
				continue
			}
			having, begun := l.match(r, loose)
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
