package search

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// A typist types the beginnings of names of icons, which it draws from an index.
type typist struct {
	x       *Index
	icons   []icon.Ref
	upTo    []float64            // the sum of the weights of the icons up to each one
	weights map[string][]weighed // of distinct names, sorted, by pack; those of all packs under ""
}

type weighed struct {
	name   string
	weight float64
}

// newTypist returns one that draws icons with equal chances, or, if popular is set, in proportion
// to the packs that have their name.
func newTypist(x *Index, popular bool) *typist {
	d := &typist{x: x, weights: map[string][]weighed{}}
	packs, last := map[string]float64{}, map[string]string{}
	for doc := range uint32(x.docs) {
		name, _ := x.names(doc)
		ref := icon.Ref{Pack: x.packs[x.packOf(doc)].Key, Name: string(name)}
		d.icons = append(d.icons, ref)
		if last[ref.Name] != ref.Pack {
			last[ref.Name] = ref.Pack
			packs[ref.Name]++
		}
	}
	sums := map[string]map[string]float64{"": {}}
	total := 0.0
	for _, ref := range d.icons {
		w := 1.0
		if popular {
			w = packs[ref.Name]
		}
		total += w
		d.upTo = append(d.upTo, total)
		if sums[ref.Pack] == nil {
			sums[ref.Pack] = map[string]float64{}
		}
		sums[""][ref.Name] += w
		sums[ref.Pack][ref.Name] += w
	}
	for pack, of := range sums {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if n := len(cuts(name)); n > 0 { // each cut is as likely
				d.weights[pack] = append(d.weights[pack], weighed{name, of[name] / float64(n)})
			}
		}
	}
	return d
}

// cuts returns where a user may stop to type a name: after three letters or more, before its end.
func cuts(name string) (after []int) {
	for n := 3; n < len(name); n++ {
		if name[n-1] != '-' {
			after = append(after, n)
		}
	}
	return after
}

// names returns the names that begin with a query, with their probabilities, the most probable
// first.
func (d *typist) names(query, pack string) (list []weighed) {
	all, total := d.weights[pack], 0.0
	at, _ := slices.BinarySearchFunc(all, query, func(a weighed, query string) int { return cmp.Compare(a.name, query) })
	for ; at < len(all) && strings.HasPrefix(all[at].name, query); at++ {
		if all[at].name != query {
			list = append(list, all[at])
			total += all[at].weight
		}
	}
	for i := range list {
		list[i].weight /= total
	}
	slices.SortStableFunc(list, func(a, b weighed) int { return cmp.Compare(b.weight, a.weight) })
	return list
}

// ask draws names and sends their beginnings. It returns the expected MRR of the index, and that of
// the best possible order: a query may stand for each name that begins with it.
func (d *typist) ask(scoped bool) (mrr, best float64) {
	const queries = 3000
	r := rand.New(rand.NewPCG(7, 11)) // a fixed seed repeats the same queries
	for n := 0; n < queries; {
		i, _ := slices.BinarySearch(d.upTo, r.Float64()*d.upTo[len(d.upTo)-1])
		drawn := d.icons[min(i, len(d.icons)-1)]
		after := cuts(drawn.Name)
		if len(after) == 0 {
			continue
		}
		n++
		query := drawn.Name[:after[r.IntN(len(after))]]
		if !scoped {
			drawn.Pack = ""
		}
		chances := map[string]float64{}
		for k, name := range d.names(query, drawn.Pack) {
			chances[name.name] = name.weight
			if k < firstPage {
				best += name.weight / float64(k+1) / queries
			}
		}
		hits, _ := d.x.Search(Query{Text: strings.ReplaceAll(query, "-", " "), Pack: drawn.Pack, Limit: firstPage})
		for k, h := range hits {
			mrr += chances[h.Ref.Name] / float64(k+1) / queries
			delete(chances, h.Ref.Name)
		}
	}
	return mrr, best
}

// typed adds the table of names that are typed in part. In a second index, with half of the packs,
// the popularity of names is that in the other half.
func (r *report) typed(t *testing.T, x *Index, packs []icon.Pack, docs []Doc) {
	r.line("\n| names typed in part, drawn from | in | MRR | best possible |\n|---|---|---|---|")
	for _, from := range []struct {
		label string
		x     *Index
	}{{"", x}, {", popularity learned from other packs", halves(t, packs, docs)}} {
		for _, popular := range []bool{false, true} {
			d, what := newTypist(from.x, popular), "all icons"
			if popular {
				what = "icons with popular names"
			}
			for _, scoped := range []bool{false, true} {
				mrr, best := d.ask(scoped)
				r.line("| %s%s | %s | %.3f | %.3f |", what, from.label,
					map[bool]string{false: "all packs", true: "one pack"}[scoped], mrr, best)
			}
		}
	}
}

// halves returns an index of half of the packs, with the popularity of names in the other half.
func halves(t *testing.T, packs []icon.Pack, docs []Doc) *Index {
	half := func(number uint32) *Index {
		other := func(key string) bool {
			h := fnv.New32a()
			h.Write([]byte(key))
			return h.Sum32()>>8&1 != number
		}
		var file bytes.Buffer
		err := Build(t.Context(), &file, Library{
			Packs:   slices.DeleteFunc(slices.Clone(packs), func(p icon.Pack) bool { return other(p.Key) }),
			Docs:    byPack(slices.DeleteFunc(slices.Clone(docs), func(d Doc) bool { return other(d.Pack) })),
			Lexicon: shippedLexicon(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		x, err := Open(file.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	from, to := half(0), half(1)
	popular, known := map[string]byte{}, map[string]int{}
	for doc := range uint32(from.docs) {
		name, _ := from.names(doc)
		known[string(name)]++
		popular[from.concept(doc)] = from.body[secDocs][int(doc)*docSize+docPopular]
	}
	for doc := range uint32(to.docs) {
		name, _ := to.names(doc)
		record := to.body[secDocs][int(doc)*docSize:]
		record[docPopular] = max(1, popular[to.concept(doc)])
		record[docKnown] = byte(max(1, bits.Len(uint(known[string(name)]))))
	}
	return to
}
