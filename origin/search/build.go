package search

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// ErrDocs says that what Build was given is not a library: a doc of no pack that was given, or one that comes twice.
var ErrDocs = errors.New("not a library that can be indexed")

// Build writes the index of docs, which may come in any order; packs are the visible ones, and each doc's is among them.
// The same packs and docs give the same bytes. The error is ErrDocs, or the writer's.
func Build(w io.Writer, packs []icon.Pack, docs iter.Seq[Doc]) error {
	sorted := slices.SortedFunc(docs, func(a, b Doc) int {
		return cmp.Or(strings.Compare(a.Pack, b.Pack), strings.Compare(a.Name, b.Name))
	})
	for i := 1; i < len(sorted); i++ {
		if a, b := &sorted[i-1], &sorted[i]; a.Pack == b.Pack && a.Name == b.Name {
			return fmt.Errorf("%w: %s/%s comes twice", ErrDocs, b.Pack, b.Name)
		}
	}
	b := builder{groups: map[[16]byte]uint32{}, dims: map[[2]float64]uint32{}, postings: map[string][]uint32{}}
	records, err := b.addPacks(packs, sorted)
	if err != nil {
		return err
	}
	if b.body[secPacks], err = json.Marshal(records); err != nil {
		return fmt.Errorf("writing the packs: %w", err)
	}
	if err := b.addPostings(); err != nil {
		return err
	}
	return writeFile(w, b.body)
}

// builder gathers the sections.
type builder struct {
	body     [sections][]byte
	groups   map[[16]byte]uint32
	lone     uint32 // groups of docs without a hash
	dims     map[[2]float64]uint32
	postings map[string][]uint32 // word: docs, rising
	docs     uint32
}

// addPacks adds the docs, sorted by pack and name, pack by pack.
func (b *builder) addPacks(packs []icon.Pack, docs []Doc) ([]packRecord, error) {
	packs = slices.SortedFunc(slices.Values(packs), func(a, b icon.Pack) int { return strings.Compare(a.Pack, b.Pack) })
	records := make([]packRecord, len(packs))
	sizes := make([]int, len(packs))
	for i, p := range packs {
		n := 0
		for n < len(docs) && docs[n].Pack == p.Pack {
			n++
		}
		b.addPack(docs[:n])
		docs = docs[n:]
		records[i], sizes[i] = packRecord{Key: p.Pack, Name: p.Name, End: b.docs}, n
	}
	if len(docs) > 0 { // both are sorted: a doc that no pack took stops all after it
		return nil, fmt.Errorf("%w: %s/%s is of a pack that was not given", ErrDocs, docs[0].Pack, docs[0].Name)
	}
	for rank, i := range packOrder(packs, sizes) {
		records[i].Rank = rank
	}
	return records, nil
}

// packOrder lists packs, by index, from those that most people look for to the odd ones: tended before given up, one colour
// before several, large before small.
func packOrder(packs []icon.Pack, sizes []int) []int {
	order := make([]int, len(packs))
	for i := range order {
		order[i] = i
	}
	late := func(p icon.Pack) int {
		switch {
		case strings.HasPrefix(p.Category, "Archive"): // Iconify's word for packs that nobody tends any more
			return 2
		case !p.Monochrome:
			return 1
		}
		return 0
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(late(packs[i])-late(packs[j]), sizes[j]-sizes[i], i-j)
	})
	return order
}

// addPack adds all docs of one pack.
func (b *builder) addPack(docs []Doc) {
	names := make([][]string, len(docs))
	for i := range docs {
		names[i] = nameWords(nil, docs[i].Name)
	}
	styles := learnStyles(names)
	for i := range docs {
		b.addDoc(&docs[i], names[i], styles.shape(names[i]))
	}
}

func (b *builder) addDoc(d *Doc, words []string, s shape) {
	b.body[secNames] = append(b.body[secNames], d.Name...)
	flags := byte(min(s.lead, leadMask))
	if d.AliasOf != "" {
		flags |= flagAlias
		b.body[secNames] = append(append(b.body[secNames], 0), d.AliasOf...)
	}
	if d.Monochrome {
		flags |= flagMonochrome
	}
	rec := binary.LittleEndian.AppendUint32(b.body[secDocs], uint32(len(b.body[secNames])))
	rec = binary.LittleEndian.AppendUint32(rec, b.group(d.Drawing))
	rec = binary.LittleEndian.AppendUint32(rec, b.dim(d.Width, d.Height))
	b.body[secDocs] = append(rec, byte(min(s.words, 15)<<4|min(s.lead+s.tail, 15)), flags, 0, 0)
	for i, w := range words {
		if !slices.Contains(words[:i], w) {
			b.postings[w] = append(b.postings[w], b.docs)
		}
	}
	b.docs++
}

func (b *builder) group(drawing [16]byte) uint32 {
	n := uint32(len(b.groups)) + b.lone
	if drawing == [16]byte{} {
		b.lone++
		return n
	}
	if known, ok := b.groups[drawing]; ok {
		return known
	}
	b.groups[drawing] = n
	return n
}

func (b *builder) dim(width, height float64) uint32 {
	pair := [2]float64{width, height}
	n, known := b.dims[pair]
	if !known {
		n = uint32(len(b.dims))
		b.dims[pair] = n
		for _, f := range pair {
			b.body[secSizes] = binary.LittleEndian.AppendUint64(b.body[secSizes], math.Float64bits(f))
		}
	}
	return n
}
