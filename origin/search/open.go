package search

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"

	"github.com/iconedge/iconedge/icon"
)

// An Index answers queries. Its methods may be called concurrently.
type Index struct {
	version               uint32
	body                  [sections][]byte
	words, prefixes       *vellum.FST
	styles, categories    *vellum.FST
	meanings              *vellum.FST
	phrases, begunPhrases *vellum.FST
	packs                 []packRecord
	// named holds packs by the folded words of their key and of their name.
	named map[string][]int
	// packWords has the words of their keys.
	packWords    map[string]bool
	docs, groups int
	// ends has the end of each pack's docs, and packAt the pack of the first doc of each packBlock.
	ends   []uint32
	packAt []uint16
	// shared has the docs whose SVG other docs have too, and short[n] those with at most n words
	// besides style.
	shared  *roaring.Bitmap
	short   [maxShort + 1]*roaring.Bitmap
	scratch sync.Pool       // of *scratch
	dense   sync.Pool       // of *[]uint64: a zero bit for each doc
	shown   *roaring.Bitmap // docs that Hide has left; nil: all
}

// Open makes an Index from a whole file that Build wrote. It uses data in place: data must not
// change or be unmapped while the Index is in use. The error is ErrDamaged.
func Open(data []byte) (*Index, error) {
	body, v, err := readFile(data)
	if err != nil {
		return nil, err
	}
	x := &Index{version: v, body: body, docs: len(body[secDocs]) / docSize}
	if err := json.Unmarshal(body[secPacks], &x.packs); err != nil {
		return nil, fmt.Errorf("%w: its packs: %w", ErrDamaged, err)
	}
	for section, fst := range map[int]**vellum.FST{
		secWords: &x.words, secPrefixes: &x.prefixes, secStyles: &x.styles, secCategories: &x.categories, secMeanings: &x.meanings,
		secPhrases: &x.phrases, secBegun: &x.begunPhrases,
	} {
		if *fst, err = vellum.Load(body[section]); err != nil {
			return nil, fmt.Errorf("%w: its section %d: %w", ErrDamaged, section, err)
		}
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	x.namePacks()
	x.locatePacks()
	x.learnDocs()
	x.scratch.New = func() any { return &scratch{seen: make([]uint64, (x.groups+63)/64)} }
	x.dense.New = func() any {
		bits := make([]uint64, wholeContainers(x.docs))
		return &bits
	}
	return x, nil
}

// check verifies that the sections agree, and counts the groups.
func (x *Index) check() error {
	names, sizes, end := uint32(len(x.body[secNames])), uint32(len(x.body[secSizes])/16), uint32(0)
	for d := range uint32(x.docs) {
		nameEnd := x.field(d, docNameEnd)
		if nameEnd < end || nameEnd > names || x.field(d, docDims) >= sizes || x.field(d, docGroup) > d {
			return fmt.Errorf("%w: icon %d", ErrDamaged, d)
		}
		end = nameEnd
		x.groups = max(x.groups, int(x.field(d, docGroup))+1)
	}
	if x.version == version && len(x.body[secShapes]) != shapeSize*x.groups {
		return fmt.Errorf("%w: shapes", ErrDamaged)
	}
	if len(x.body[secGroups]) != 4*(x.groups+1) || len(x.body[secTogether]) != 4*x.docs {
		return fmt.Errorf("%w: groups", ErrDamaged)
	}
	if len(x.packs) > math.MaxUint16 {
		return fmt.Errorf("%w: %d packs", ErrDamaged, len(x.packs))
	}
	end = 0
	for _, p := range x.packs {
		if p.End < end || int(p.End) > x.docs {
			return fmt.Errorf("%w: pack %q", ErrDamaged, p.Key)
		}
		end = p.End
	}
	if int(end) != x.docs || x.docs*docSize != len(x.body[secDocs]) {
		return fmt.Errorf("%w: icons without a pack", ErrDamaged)
	}
	return nil
}

// namePacks fills x.named and x.packWords. It ignores the last word of a name such as "Tabler
// Icons".
func (x *Index) namePacks() {
	x.named, x.packWords = map[string][]int{}, map[string]bool{}
	for i, p := range x.packs {
		key, name := folded(split(p.Key)), folded(split(p.Name))
		for _, w := range key {
			x.packWords[w] = true
		}
		if n := len(name); n > 1 && name[n-1] == "icon" {
			name = name[:n-1]
		}
		x.named[strings.Join(key, " ")] = append(x.named[strings.Join(key, " ")], i)
		if strings.Join(key, " ") != strings.Join(name, " ") && len(name) > 0 {
			x.named[strings.Join(name, " ")] = append(x.named[strings.Join(name, " ")], i)
		}
	}
}

func (x *Index) field(doc uint32, at int) uint32 {
	return binary.LittleEndian.Uint32(x.body[secDocs][int(doc)*docSize+at:])
}

// cost returns the number of words of a doc's name that describe the subject, times 16, plus the
// number of style words.
func (x *Index) cost(doc uint32) byte { return x.body[secDocs][int(doc)*docSize+docShape] }

func (x *Index) flags(doc uint32) byte { return x.body[secDocs][int(doc)*docSize+docFlags] }

// names returns a doc's name, in place, and the name of the icon that it is an alias of.
func (x *Index) names(doc uint32) (name, aliasOf []byte) {
	start := uint32(0)
	if doc > 0 {
		start = x.field(doc-1, docNameEnd)
	}
	name, aliasOf, _ = bytes.Cut(x.body[secNames][start:x.field(doc, docNameEnd)], []byte{0})
	return name, aliasOf
}

// packBlock is the number of docs for which packOf looks up where to begin.
const packBlock = 256

// locatePacks prepares packOf.
func (x *Index) locatePacks() {
	for _, p := range x.packs {
		x.ends = append(x.ends, p.End)
	}
	pack := 0
	for doc := 0; doc < x.docs; doc += packBlock {
		for x.ends[pack] <= uint32(doc) {
			pack++
		}
		x.packAt = append(x.packAt, uint16(pack))
	}
}

// packOf returns the index of a doc's pack.
func (x *Index) packOf(doc uint32) int {
	pack := int(x.packAt[doc/packBlock])
	for x.ends[pack] <= doc {
		pack++
	}
	return pack
}

// span returns the range of a pack's docs: the first, and one past the last.
func (x *Index) span(pack int) (from, to uint32) {
	if pack > 0 {
		from = x.packs[pack-1].End
	}
	return from, x.packs[pack].End
}

func (x *Index) hit(doc uint32, allowed *roaring.Bitmap) Hit {
	name, aliasOf := x.names(doc)
	size := x.body[secSizes][16*x.field(doc, docDims):]
	return Hit{
		Ref:        icon.Ref{Pack: x.packs[x.packOf(doc)].Key, Name: string(name)},
		AliasOf:    string(aliasOf),
		Width:      math.Float64frombits(binary.LittleEndian.Uint64(size)),
		Height:     math.Float64frombits(binary.LittleEndian.Uint64(size[8:])),
		Monochrome: x.flags(doc)&flagMonochrome != 0,
		Own:        x.flags(doc)&flagOwn != 0,
		Also:       x.also(doc, allowed),
	}
}

// maxAlso bounds Hit.Also.
const maxAlso = 50

// also lists the other packs with the same SVG as a doc: in each, the first icon, or an alias if it
// has no such icon.
func (x *Index) also(doc uint32, allowed *roaring.Bitmap) (refs []icon.Ref) {
	pack, aliased := x.packOf(doc), false
	last := pack
	for _, d := range x.together(x.field(doc, docGroup)) {
		p := x.packOf(d)
		isAlias := x.flags(d)&flagAlias != 0
		name, _ := x.names(d)
		switch {
		case p == pack || allowed != nil && !allowed.Contains(d):
		case p != last:
			if len(refs) == maxAlso {
				return refs
			}
			refs = append(refs, icon.Ref{Pack: x.packs[p].Key, Name: string(name)})
			last, aliased = p, isAlias
		case aliased && !isAlias:
			refs[len(refs)-1].Name = string(name)
			aliased = false
		}
	}
	return refs
}

// together returns the docs of a group, in ascending order.
func (x *Index) together(group uint32) []uint32 {
	from, to := x.groupSpan(group)
	docs := make([]uint32, 0, to-from)
	for i := from; i < to; i++ {
		docs = append(docs, binary.LittleEndian.Uint32(x.body[secTogether][4*i:]))
	}
	return docs
}

// groupSpan returns the range of a group's docs in secTogether.
func (x *Index) groupSpan(group uint32) (from, to uint32) {
	at := x.body[secGroups][4*group:]
	return binary.LittleEndian.Uint32(at), binary.LittleEndian.Uint32(at[4:])
}
