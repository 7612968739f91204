package search

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/test/sequential"
)

// A model is the search without any shortcut: it looks at all docs of a set, sorts all of them, and
// counts SVGs in a map.
type model struct {
	x       *Index
	s       *scratch
	counted map[uint32]bool
	many    int // sets of more docs than are ranked
}

func (m *model) gather(c set) (distinct int) {
	beyond, query := c.beyond(), c.joined()
	docs := c.docs.ToArray()
	if len(docs) > maxRanked {
		m.many++
	}
	m.s.least = mostUnlikely
	for _, doc := range docs {
		if !c.begun {
			m.s.least = min(m.s.least, m.x.unlikely(doc, beyond[m.x.cost(doc)], len(query)))
		}
		if group := m.x.field(doc, docGroup); !m.counted[group] {
			m.counted[group] = true
			distinct++
			m.x.mark(m.s, doc) // for semantic matches
		}
	}
	slices.SortStableFunc(docs, func(a, b uint32) int { return cmp.Compare(beyond[m.x.cost(a)], beyond[m.x.cost(b)]) })
	for _, doc := range docs[:min(len(docs), maxRanked-len(m.s.ranks))] {
		m.s.ranks = append(m.s.ranks, m.x.rank(m.s, c, doc, &beyond, query))
	}
	return distinct
}

// search is Index.Search for a query without a name in code, with all hits.
func (m *model) search(q Query) (list []icon.Ref, total int) {
	x := m.x
	allowed, l := x.allows(q.Filter), x.lookups()
	q.Text = icon.CanonicalQuery(q.Text)
	readings := x.readings(q, allowed)
	if len(readings) == 0 {
		return nil, 0
	}
	rival, plain := rank(0), readings[0]
	for _, c := range l.sets(readings) {
		if likely := !c.guessed && !plain.scoped; likely && c.begun {
			c.rival = rival
			total += m.gather(c)
		} else if total += m.gather(c); likely {
			rival = m.s.least
		}
	}
	literal := total
	typos := func(ofKnown bool) {
		for _, c := range l.typos(readings, ofKnown) {
			total += m.gather(c)
		}
	}
	if len(plain.terms) > 0 && total < few {
		typos(false)
	}
	if len(plain.terms) > 0 && literal < enough {
		total += x.gatherSemantic(m.s, plain, tierSemantic)
	}
	if len(plain.terms) > 0 && total < few {
		typos(true)
	}
	shown := map[uint32]bool{}
	for _, r := range x.order(m.s, plain.scoped) {
		if group := x.field(r.doc(), docGroup); !shown[group] {
			shown[group] = true
			list = append(list, x.hit(r.doc(), allowed).Ref)
		}
	}
	return list, total
}

// large makes a library of which some words have many more docs than are ranked. Two of them are
// rare words joined, so that a query has large sets after small ones. SVGs are in several packs, in
// some libraries only a few SVGs.
func large(t testing.TB, r *rand.Rand) *Index {
	words := strings.Fields("home arrow outline trashcan homearrow s left up bold 24 circle house trash can hat hut plus a an")
	distinct := []int{3, 200, 20_000}[r.IntN(3)]
	var packs []icon.Pack
	for i := range 1 + r.IntN(30) {
		packs = append(packs, icon.Pack{Key: fmt.Sprintf("p%d", i), Name: fmt.Sprintf("Pack %d Icons", i), Monochrome: i%2 == 0})
	}
	seen := map[icon.Ref]bool{}
	var docs []Doc
	unshared := r.IntN(3) // of three docs
	for range 30_000 {
		var name []string
		for range 1 + r.IntN(2+r.IntN(9)) {
			name = append(name, words[int(3*r.ExpFloat64())%len(words)])
		}
		if r.IntN(2) == 0 {
			name = append(name, strconv.Itoa(r.IntN(100)))
		}
		d := Doc{Pack: packs[r.IntN(len(packs))].Key, Name: strings.Join(name, "-"), Width: 24, Height: 24}
		if n := r.IntN(distinct); r.IntN(3) >= unshared {
			d.Image = [16]byte{1, byte(n), byte(n >> 8)}
		}
		if ref := (icon.Ref{Pack: d.Pack, Name: d.Name}); !seen[ref] {
			seen[ref] = true
			docs = append(docs, d)
		}
	}
	return openWith(t, packs, docs, nil)
}

// TestSearchAsModel checks that searches of large libraries find what the model finds, in the same
// order and number.
func TestSearchAsModel(t *testing.T) {
	sequential.Test(t)
	texts := []string{"home", "hom", "h", "arrow", "arr", "home arrow", "trashcan", "trash can", "trash can home", "homearrow", "a",
		"outline", "home outline", "s", "left", "lef", "bold", "24", "circl", "p3", "hoem", "arow"}
	many := 0
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 44))
		x := large(t, r)
		for range 60 {
			var text []string
			for range 1 + r.IntN(2) {
				text = append(text, texts[r.IntN(len(texts))])
			}
			q := Query{Text: strings.Join(text, " "), Limit: x.docs}
			switch r.IntN(9) {
			case 0:
				q.Style = "outline"
			case 1:
				q.Pack = "p0"
			case 2:
				q.Text = "p0:" + q.Text
			}
			m := model{x: x, s: &scratch{seen: make([]uint64, (x.groups+63)/64)}, counted: map[uint32]bool{}}
			want, wantTotal := m.search(q)
			hits, total := x.Search(q)
			var got []icon.Ref
			for _, h := range hits {
				got = append(got, h.Ref)
			}
			if total != wantTotal || !reflect.DeepEqual(got, want) {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				t.Fatalf("library %d, %+v: %d hits of %d, want %d of %d; they differ from hit %d", seed, q, len(got), total,
					len(want), wantTotal, at)
			}
			many += m.many
		}
	}
	if many < 100 {
		t.Errorf("%d sets with more docs than are ranked, want 100 or more", many)
	}
}

// TestCounts counts the SVGs of sets of any size, one after another, as a map of SVGs does.
func TestCounts(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 45))
		x := large(t, r)
		for range 30 {
			s, counted := &scratch{seen: make([]uint64, (x.groups+63)/64)}, map[uint32]bool{}
			for n := range 5 {
				docs := roaring.New()
				share := r.Float64() * r.Float64() // of all docs
				for doc := range uint32(x.docs) {
					if r.Float64() < share {
						docs.Add(doc)
					}
				}
				got := 0
				if r.IntN(2) == 0 {
					got = x.countMany(s, docs)
				} else {
					for _, doc := range docs.ToArray() {
						if x.first(s, doc) {
							got++
						}
					}
				}
				want := -len(counted)
				for _, doc := range docs.ToArray() {
					counted[x.field(doc, docGroup)] = true
				}
				if want += len(counted); got != want {
					t.Fatalf("library %d, set %d of %d docs: %d SVGs, want %d", seed, n, docs.GetCardinality(), got, want)
				}
			}
		}
	}
}
