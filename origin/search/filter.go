package search

import (
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"

	"github.com/iconedge/iconedge/icon/license"
)

// A Filter restricts the hits. An empty field does not restrict them; a value that no icon has
// excludes all.
type Filter struct {
	Style      string // one of Looks, or style words of names, such as sharp
	Grid       int    // one of Grids; 0: any
	Category   string // of the icon, or of its pack; case does not matter
	License    string // SPDX identifier in any case, or an obligation: see license.Matches
	Commercial bool   // only packs whose licence allows commercial use
	Stroked    bool   // only icons whose strokes have one width
	// Packs are the keys of the packs to search; nil: all. Unlike Query.Pack, they are no part of
	// the query: each is searched as if there were others too.
	Packs []string
}

// ofAllPacks reports whether the filter lets each pack pass as a whole.
func (f Filter) ofAllPacks() bool {
	return f.Category == "" && f.License == "" && !f.Commercial && f.Packs == nil
}

// allows returns the docs that pass the filter, or nil for all. The caller must not change them.
func (x *Index) allows(f Filter) *roaring.Bitmap {
	if f.Style == "" && f.Grid == 0 && !f.Stroked && f.ofAllPacks() {
		return x.shown
	}
	docs := x.docsWhere(func(p *packRecord) bool {
		if f.Commercial && !p.Commercial || f.Packs != nil && !slices.Contains(f.Packs, p.Key) {
			return false
		}
		return f.License == "" || license.Matches(f.License, p.License)
	})
	if f.Category != "" {
		in := x.docsWhere(func(p *packRecord) bool { return strings.EqualFold(p.Category, f.Category) })
		in.Or(x.listed(x.categories, strings.ToLower(f.Category)))
		docs.And(in)
	}
	if f.Style != "" {
		docs.And(x.ofStyle(f.Style))
	}
	if f.Grid != 0 {
		docs.And(x.listed(x.styles, gridKey(f.Grid)))
	}
	if f.Stroked {
		docs.And(x.listed(x.styles, strokedKey))
	}
	if x.shown != nil {
		docs.And(x.shown)
	}
	return docs
}

// Hide leaves icons out of all results: PACK for those of a whole pack, or PACK/NAME. It must be
// called before the first query.
func (x *Index) Hide(targets []string) {
	if len(targets) == 0 {
		return
	}
	hidden, packs := map[string]bool{}, map[string]bool{}
	for _, t := range targets {
		pack, _, _ := strings.Cut(t, "/")
		hidden[t], packs[pack] = true, true
	}
	shown := roaring.New()
	shown.AddRange(0, uint64(x.docs))
	for i := range x.packs {
		from, to := x.span(i)
		switch key := x.packs[i].Key; {
		case !packs[key]:
		case hidden[key]:
			shown.RemoveRange(uint64(from), uint64(to))
		default:
			for doc := from; doc < to; doc++ {
				if name, _ := x.names(doc); hidden[key+"/"+string(name)] {
					shown.Remove(doc)
				}
			}
		}
	}
	shown.RunOptimize()
	x.shown = shown
}

// listed returns the docs of a key in a dictionary, in place.
func (x *Index) listed(in *vellum.FST, key string) *roaring.Bitmap {
	offset, ok, err := in.Get([]byte(key))
	if err != nil || !ok {
		return roaring.New()
	}
	return x.bitmap(offset)
}

// docsWhere returns the docs of the packs for which wanted returns true.
func (x *Index) docsWhere(wanted func(*packRecord) bool) *roaring.Bitmap {
	docs := roaring.New()
	for i := 0; i < len(x.packs); i++ {
		if !wanted(&x.packs[i]) {
			continue
		}
		from, to := x.span(i)
		// Packs beside each other are one range, because roaring copies what it extends.
		for i+1 < len(x.packs) && wanted(&x.packs[i+1]) {
			i++
			_, to = x.span(i)
		}
		docs.AddRange(uint64(from), uint64(to))
	}
	return docs
}
