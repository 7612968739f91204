package search

import (
	"slices"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/icon"
)

// A Look is the style in which an icon is drawn, as its SVG has it.
type Look uint8

// The looks. An index of an earlier program does not know them.
const (
	NoLook Look = iota
	Outline
	Filled
	TwoTone     // of one colour, with parts that are fainter
	Multicolour // of several colours
)

// Looks lists the names of the looks, which are values of Filter.Style.
var Looks = []string{"outline", "filled", "two-tone", "multicolour"}

// lookWords are the last words of names by which their authors give the look. They win over what
// the SVG looks like, because an outline may be thick, and an icon of lines alone have no outline.
var lookWords = map[string]Look{"outline": Outline, "outlined": Outline, "line": Outline, "linear": Outline,
	"fill": Filled, "filled": Filled, "solid": Filled, "duotone": TwoTone, "twotone": TwoTone}

// Grids lists the heights of icons, in pixels, by which a search can be restricted.
var Grids = []int{16, 20, 24, 32, 48}

// lookOf returns the look of a doc. Words and s are those of its name.
func lookOf(d *Doc, words []string, s shape) Look {
	if d.Look != Outline && d.Look != Filled {
		return d.Look
	}
	for _, w := range words[len(words)-s.tail:] {
		if l, ok := lookWords[w]; ok {
			return l
		}
	}
	return d.Look
}

// The keys of looks, grids and icons with strokes of one width in secStyles. No word begins with
// their first character.
func lookKey(l Look) string   { return "=" + Looks[l-1] }
func gridKey(size int) string { return "=" + strconv.Itoa(size) }

const strokedKey = "=stroked"

// Look returns the look of an icon or alias; NoLook: the index does not know it.
func (x *Index) Look(ref icon.Ref) Look {
	if doc, ok := x.doc(ref); ok {
		for l := Outline; l <= Multicolour; l++ {
			if x.listed(x.styles, lookKey(l)).Contains(doc) {
				return l
			}
		}
	}
	return NoLook
}

// HasLooks reports whether the index knows the looks of icons, and their grids.
func (x *Index) HasLooks() bool {
	for l := range Looks {
		if _, ok, _ := x.styles.Get([]byte(lookKey(Look(l + 1)))); ok {
			return true
		}
	}
	return false
}

// ofStyle returns the docs with a style: a look, or words of their names.
func (x *Index) ofStyle(style string) *roaring.Bitmap {
	var docs *roaring.Bitmap
	for _, w := range nameWords(nil, icon.CanonicalQuery(strings.ReplaceAll(style, " ", "-"))) {
		with := x.listed(x.styles, w)
		if docs == nil {
			docs = with.Clone()
		} else {
			docs.And(with)
		}
	}
	if docs == nil {
		docs = roaring.New()
	}
	if l := slices.Index(Looks, strings.ToLower(style)); l >= 0 {
		docs.Or(x.listed(x.styles, lookKey(Look(l+1))))
	}
	return docs
}
