// Package balance has the policies by which an edge chooses among the URLs of an origin, in one
// table. The check of a configuration file, its schema, config explain and the documents read it.
//
// docs/explain/extend.md shows how to add a policy: one type and one row.
package balance

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A Policy scores the URLs of an origin for each fetch. The client of the origin tries them in the
// order of their scores, the highest first; healthy ones come before the others, and a group before
// its backups, whatever their scores are. A Policy is safe for concurrent use.
type Policy interface {
	// Score sets the scores for the fetch of a key. It must not keep the slice.
	Score(key string, origins []Origin)
}

// An Origin is what a policy knows about one URL, and the score that the policy gives it.
type Origin struct {
	Score   float64
	Index   int // in the order of the configuration
	Group   int // 0: the first choice; the backups have higher numbers
	Healthy bool
	Seed    uint64 // a hash of the URL, the same in every edge
	Weight  int    // 0: no fetch while others are healthy
	Active  int64  // exchanges that this edge has with it now
}

// A Row is a policy as the configuration names it.
type Row struct {
	Name string
	Help string        // what it does, for the schema, config explain and the documents
	New  func() Policy // makes the policy of one origin, whose state no other origin shares
}

// Default is the name of the policy of an origin that names none.
const Default = "hash"

var rows = []Row{
	{Default, "each cache key has an order of its own, the same in every edge (rendezvous hashing)", func() Policy { return hash{} }},
	{"least_conn", "the URL with the fewest exchanges for its weight", func() Policy { return leastConn{} }},
	{"random", "any URL, as often as its weight says", func() Policy { return random{} }},
}

// Add adds a policy to the table. A program calls it before it reads a configuration file, such as
// in an init function. It panics if the name is taken.
func Add(r Row) {
	if _, taken := Find(r.Name); taken {
		panic("balance: two policies have the name " + r.Name)
	}
	rows = append(slices.Clip(rows), r)
}

// Rows returns the table.
func Rows() []Row { return rows }

// Find returns the row of a name. The empty name is that of the default policy.
func Find(name string) (Row, bool) {
	if name == "" {
		name = Default
	}
	at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
	if at < 0 {
		return Row{}, false
	}
	return rows[at], true
}

// Names returns the names of all policies in the order of the table.
func Names() []string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names
}

// hash gives each key an order of its own. Adding or removing a URL moves only the keys of that
// URL.
type hash struct{}

func (hash) Score(key string, origins []Origin) {
	for i := range origins {
		o := &origins[i]
		o.Score = Weighted(float64(Hash(o.Seed, key)>>11)/(1<<53), o.Weight)
	}
}

type random struct{}

func (random) Score(_ string, origins []Origin) {
	for i := range origins {
		origins[i].Score = Weighted(rand.Float64(), origins[i].Weight)
	}
}

type leastConn struct{}

func (leastConn) Score(_ string, origins []Origin) {
	for i := range origins {
		o := &origins[i]
		if o.Score = math.Inf(-1); o.Weight > 0 {
			// The part behind the point chooses among equals.
			o.Score = -(float64(o.Active) + rand.Float64()/2) / float64(o.Weight)
		}
	}
}

// Weighted turns a number from 0 to 1 into a score by which a URL comes first as often as its
// weight says (rendezvous hashing with weights). With equal weights the order is that of the
// numbers.
func Weighted(number float64, weight int) float64 {
	if weight == 0 {
		return math.Inf(-1)
	}
	return -float64(weight) / math.Log(max(number, math.SmallestNonzeroFloat64))
}

const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// Seed returns the seed of a URL.
func Seed(url string) uint64 { return fnv(fnvOffset, url) }

// fnv continues an FNV-1a hash.
func fnv(h uint64, s string) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// Hash returns a hash of a key for a seed. In FNV the last bytes affect mostly the low bits, so the
// finaliser of MurmurHash3 spreads them.
func Hash(seed uint64, key string) uint64 {
	h := fnv(seed, key)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
