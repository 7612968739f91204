package search

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// ErrDocs means that the input of Build is not a valid library: a doc is repeated, or belongs to
// another pack.
var ErrDocs = errors.New("not a library that can be indexed")

// A Library is the input of Build.
type Library struct {
	Packs []icon.Pack // the visible ones
	// Size is about the number of all docs: for more, Build copies what it has.
	Size int
	// Docs returns the docs of a pack in any order. Build calls it once for each pack, in the order
	// of their keys. It sorts the docs, and uses them during some more calls.
	Docs    func(pack string) ([]Doc, error)
	Lexicon *lexicon.Lexicon // what words mean; nil: words have no other meanings
	Made    string           // a digest of what the lexicon was made of, for the file
}

// Build writes the index of a library. The same library gives the same bytes. The error is ErrDocs,
// one of lib.Docs or the writer, or that of ctx, which ends Build.
func Build(ctx context.Context, w io.Writer, lib Library) error {
	b := newBuilder(ctx, lib.Size)
	records, err := b.addPacks(lib.Packs, lib.Docs)
	if err != nil {
		return err
	}
	if b.body[secPacks], err = json.Marshal(records); err != nil {
		return fmt.Errorf("writing the packs: %w", err)
	}
	for _, step := range []func(){b.countNames, b.addGroups, func() { b.sorted = b.concepts.sorted() }} {
		if err := ctx.Err(); err != nil {
			return err
		}
		step()
	}
	b.body[secMade] = []byte(lib.Made)
	var rest errgroup.Group
	rest.Go(b.addPhrases)
	rest.Go(func() error {
		if err := b.addPostings(); err != nil {
			return err
		}
		return b.addMeanings(lib.Lexicon)
	})
	if err := rest.Wait(); err != nil {
		return err
	}
	return writeFile(w, b.body)
}

// A builder gathers the sections.
type builder struct {
	ctx        context.Context // of Build
	body       [sections][]byte
	groups     table
	dims       map[[2]float64]uint32
	words      postings
	drawings   together // docs by concept, after addPacks
	styles     postings
	categories postings
	names      table
	hasher     hasher            // of names
	concepts   *texts            // names without their styles
	sorted     []uint32          // concepts in the order of their texts, after addPacks
	wordAt     map[string]uint64 // offsets of bitmaps in secPostings
	conceptAt  map[uint32]uint64 // the same for concepts that are meanings
	docs       uint32
	ends       []uint32 // by pack: one past its last doc
	drawnBy    []drawn  // by concept
	concept    []byte   // memory of recordDoc
}

// drawn counts the packs that draw a concept.
type drawn struct {
	packs uint32
	last  uint32 // the last of them, counted from 1
}

func newBuilder(ctx context.Context, size int) *builder {
	b := &builder{
		ctx: ctx, dims: map[[2]float64]uint32{}, words: postings{}, styles: postings{}, categories: postings{},
		groups: newTable(size), names: newTable(size / 4), hasher: newHasher(), concepts: newTexts(), conceptAt: map[uint32]uint64{},
	}
	const nameLength = 20 // more than the mean
	for section, each := range map[int]int{secDocs: docSize, secShapes: shapeSize, secNames: nameLength} {
		b.body[section] = make([]byte, 0, size*each)
	}
	return b
}

// postings maps a key to the docs that have it.
type postings map[string]*roaring.Bitmap

func (p postings) add(key string, doc uint32) {
	docs := p[key]
	if docs == nil {
		docs = roaring.New()
		p[key] = docs
	}
	docs.Add(doc)
}

// A batch is the docs of one pack, sorted by name.
type batch struct {
	first  uint32 // number of the first doc
	docs   []Doc
	words  [][]string // of the name of each
	shapes []shape
}

// batchesAhead is the number of packs that wait for either part of the index.
const batchesAhead = 4

// addPacks adds the docs pack by pack. One goroutine splits names into words, one makes the records
// of docs, and one the postings.
func (b *builder) addPacks(packs []icon.Pack, docs func(pack string) ([]Doc, error)) ([]packRecord, error) {
	packs = slices.SortedFunc(slices.Values(packs), func(a, b icon.Pack) int { return strings.Compare(a.Key, b.Key) })
	records := make([]packRecord, len(packs))
	sizes := make([]int, len(packs))
	work, failed := errgroup.WithContext(b.ctx)
	parts := []chan batch{make(chan batch, batchesAhead), make(chan batch, batchesAhead)}
	for i, add := range []func(batch) error{b.record, b.post} {
		work.Go(func() error {
			for one := range parts[i] {
				if err := add(one); err != nil {
					return err
				}
			}
			return nil
		})
	}
	work.Go(func() error {
		defer close(parts[0])
		defer close(parts[1])
		for i, p := range packs {
			own, err := docs(p.Key)
			if err != nil {
				return err
			}
			one, err := b.prepare(p.Key, own)
			if err != nil {
				return err
			}
			for _, part := range parts {
				select {
				case part <- one:
				case <-failed.Done():
					return failed.Err()
				}
			}
			b.docs += uint32(len(own))
			sizes[i] = len(own)
			records[i] = packRecord{Key: p.Key, Name: p.Name, End: b.docs, License: p.License,
				Commercial: p.CommercialUse, Category: p.Category}
		}
		return nil
	})
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for rank, i := range packOrder(packs, sizes) {
		records[i].Rank = rank
	}
	return records, nil
}

// prepare sorts the docs of a pack, and splits their names into words.
func (b *builder) prepare(key string, docs []Doc) (batch, error) {
	slices.SortFunc(docs, func(a, b Doc) int { return strings.Compare(a.Name, b.Name) })
	one := batch{first: b.docs, docs: docs, words: make([][]string, len(docs)), shapes: make([]shape, len(docs))}
	var words []string // of all names, because a list for each costs more
	for i, d := range docs {
		if err := b.ctx.Err(); err != nil {
			return one, err
		}
		switch {
		case d.Pack != key:
			return one, fmt.Errorf("%w: %s/%s is among the icons of %s", ErrDocs, d.Pack, d.Name, key)
		case i > 0 && docs[i-1].Name == d.Name:
			return one, fmt.Errorf("%w: %s/%s is repeated", ErrDocs, d.Pack, d.Name)
		}
		n := len(words)
		words = nameWords(words, d.Name)
		one.words[i] = words[n:len(words):len(words)]
	}
	styles := learnStyles(one.words)
	for i, words := range one.words {
		one.shapes[i] = styles.shape(words)
	}
	return one, nil
}

// packOrder lists packs, by index, from popular to unusual: maintained packs before archived ones,
// monochrome ones before coloured ones, large ones before small ones.
func packOrder(packs []icon.Pack, sizes []int) []int {
	order := make([]int, len(packs))
	for i := range order {
		order[i] = i
	}
	late := func(p icon.Pack) int {
		switch {
		case strings.HasPrefix(p.Category, "Archive"): // Iconify's category of unmaintained packs
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

// record adds the records of the docs of a pack.
func (b *builder) record(one batch) error {
	for i := range one.docs {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		b.recordDoc(&one.docs[i], one.words[i], one.shapes[i])
	}
	b.ends = append(b.ends, one.first+uint32(len(one.docs)))
	return nil
}

func (b *builder) recordDoc(d *Doc, words []string, s shape) {
	b.body[secNames] = append(b.body[secNames], d.Name...)
	flags := byte(min(s.lead, leadMask))
	if d.AliasOf != "" {
		flags |= flagAlias
		b.body[secNames] = append(append(b.body[secNames], 0), d.AliasOf...)
	}
	if d.Monochrome {
		flags |= flagMonochrome
	}
	if d.Own {
		flags |= flagOwn
	}
	b.concept = b.concept[:0]
	for i, w := range words[s.lead : len(words)-s.tail] {
		if i > 0 {
			b.concept = append(b.concept, ' ')
		}
		b.concept = append(b.concept, w...)
	}
	id := b.concepts.number(b.concept)
	b.countPack(id)
	rec := b.body[secDocs]
	for _, field := range []uint32{
		uint32(len(b.body[secNames])), b.group(d), b.dim(d.Width, d.Height), b.name(d.Name), id,
	} {
		rec = binary.LittleEndian.AppendUint32(rec, field)
	}
	b.body[secDocs] = append(rec, byte(min(s.words, 15)<<4|min(s.lead+s.tail, 15)), flags, 0, 0)
}

// post adds the docs of a pack to the postings of everything that they are found by.
func (b *builder) post(one batch) error {
	for i := range one.docs {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		b.postDoc(&one.docs[i], one.first+uint32(i), one.words[i], one.shapes[i])
	}
	return nil
}

func (b *builder) postDoc(d *Doc, doc uint32, words []string, s shape) {
	if look := lookOf(d, words, s); look != NoLook {
		b.styles.add(lookKey(look), doc)
	}
	if d.Stroked {
		b.styles.add(strokedKey, doc)
	}
	if slices.Contains(Grids, int(d.Height)) && d.Height == math.Trunc(d.Height) {
		b.styles.add(gridKey(int(d.Height)), doc)
	}
	for i, w := range words {
		b.words.add(w, doc)
		if i < s.lead || i >= len(words)-s.tail {
			b.styles.add(w, doc)
		}
	}
	for _, w := range spelledWords(d.Spellings) {
		b.words.add(w, doc)
	}
	for _, c := range d.Categories {
		b.categories.add(strings.ToLower(c), doc)
	}
}

func (b *builder) name(name string) uint32 {
	n, _ := b.names.number(b.hasher.key(name))
	return n
}

// group returns the number of a doc's group. A doc without a hash has one of its own.
func (b *builder) group(d *Doc) uint32 {
	key := d.Image
	if key == [keySize]byte{} {
		key = b.hasher.key(d.Pack + "/" + d.Name)
	}
	n, known := b.groups.number(key)
	if !known {
		b.body[secShapes] = append(b.body[secShapes], d.Shape[:]...)
	}
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

// countPack counts the pack that is being added, which draws a concept, once.
func (b *builder) countPack(concept uint32) {
	if int(concept) == len(b.drawnBy) {
		b.drawnBy = append(b.drawnBy, drawn{})
	}
	if d, pack := &b.drawnBy[concept], uint32(len(b.ends)+1); d.last != pack {
		d.packs++
		d.last = pack
	}
}

// countNames stores with each doc the number of docs of the same name, and of packs that draw the
// same concept.
func (b *builder) countNames() {
	named := make([]uint32, b.names.len())
	b.names = table{} // they are not needed any more, and large
	docs := b.body[secDocs]
	for at := 0; at < len(docs); at += docSize {
		named[binary.LittleEndian.Uint32(docs[at+docName:])]++
	}
	for at := 0; at < len(docs); at += docSize {
		docs[at+docPopular] = byte(min(255, b.drawnBy[binary.LittleEndian.Uint32(docs[at+docConcept:])].packs))
		docs[at+docKnown] = byte(bits.Len32(named[binary.LittleEndian.Uint32(docs[at+docName:])]))
	}
}

// addGroups lists the docs of each group, those with the same SVG, and those of each concept.
func (b *builder) addGroups() {
	n := b.groups.len()
	b.groups = table{} // they are not needed any more, and large
	debug.FreeOSMemory()
	groups := b.together(docGroup, n)
	b.body[secGroups], b.body[secTogether] = numbers(groups.starts), numbers(groups.docs)
	b.drawings = b.together(docConcept, b.concepts.len())
}

// together lists docs by a number that each has, in ascending order.
type together struct {
	docs   []uint32
	starts []uint32 // by number: the index of its first doc; at the end, their number
}

func (t together) of(n uint32) []uint32 { return t.docs[t.starts[n]:t.starts[n+1]] }

// together lists docs by a field, which has one of n numbers.
func (b *builder) together(field, n int) together {
	number := func(doc uint32) uint32 { return binary.LittleEndian.Uint32(b.body[secDocs][int(doc)*docSize+field:]) }
	t := together{make([]uint32, b.docs), make([]uint32, n+1)}
	for doc := range b.docs {
		t.starts[number(doc)+1]++
	}
	for i := 1; i < len(t.starts); i++ {
		t.starts[i] += t.starts[i-1]
	}
	next := slices.Clone(t.starts)
	for doc := range b.docs {
		n := number(doc)
		t.docs[next[n]] = doc
		next[n]++
	}
	return t
}

func numbers(list []uint32) []byte {
	out := make([]byte, 0, 4*len(list))
	for _, n := range list {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	return out
}
