package invalidation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
)

// word returns a short text of few letters, so that many texts have a common prefix.
func word(r *rand.Rand, most int) string {
	var b strings.Builder
	b.WriteByte('/')
	for range r.IntN(most) {
		b.WriteByte("ab/"[r.IntN(3)])
	}
	return b.String()
}

// The tree finds the same invalidations as a comparison with every prefix.
func TestPrefixesModel(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var tree prefixes
		plain := map[string]Latest{}
		for i := range 300 {
			p, v := word(r, 8), Latest{}
			if r.IntN(50) == 0 {
				p = ""
			}
			if r.IntN(2) == 0 {
				v.Hard = Generation(r.IntN(1000))
			} else {
				v.Soft, v.When = Generation(r.IntN(1000)+1), int64(i)
			}
			tree.add(p, v)
			plain[p] = plain[p].Merge(v)
			key, want := word(r, 12), Latest{}
			for p, v := range plain {
				if strings.HasPrefix(key, p) {
					want = want.Merge(v)
				}
			}
			if got, nodes := tree.match(key); got.Hard != want.Hard || got.Soft != want.Soft || nodes > len(key)+1 {
				t.Fatalf("seed %d: match(%q) = %+v in %d nodes, want %+v", seed, key, got, nodes, want)
			}
		}
		bytes := 0
		tree.all(func(p string, v Latest) {
			if bytes += len(p); plain[p] != v {
				t.Fatalf("seed %d: %q is %+v, want %+v", seed, p, v, plain[p])
			}
			delete(plain, p)
		})
		if len(plain) > 0 || bytes != tree.bytes {
			t.Fatalf("seed %d: all omits %v; tree.bytes = %d, want %d", seed, plain, tree.bytes, bytes)
		}
	}
}

// The cost of a lookup depends on the length of the key, not on the number or nesting of prefixes.
func TestPrefixesWork(t *testing.T) {
	const n = 10_000
	long := strings.Repeat("a", n)
	for what, prefix := range map[string]func(i int) string{
		"side by side": func(i int) string { return fmt.Sprintf("/pack/%05d", i) },
		"nested":       func(i int) string { return long[:i+1] },
		"one folder":   func(i int) string { return fmt.Sprintf("/%d/", i) },
	} {
		var tree prefixes
		list := make([]string, n)
		for i := range n {
			list[i] = prefix(i)
			tree.add(list[i], Latest{Hard: Generation(i + 1)})
		}
		for _, key := range []string{"/pack/09999/home.svg", "/9999/home.svg", "aaa/home.svg", "/other", ""} {
			want := Generation(0)
			for i, p := range list {
				if strings.HasPrefix(key, p) {
					want = Generation(i + 1)
				}
			}
			if v, nodes := tree.match(key); v.Hard != want || nodes > len(key)+1 {
				t.Errorf("%s: match(%q) = %d in %d nodes, want %d in at most %d", what, key, v.Hard, nodes, want, len(key)+1)
			}
		}
	}
}

// BenchmarkCheck checks an entry against purges of different lengths, which take no longer to
// check.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{0, 1, 10_000, MaxPrefixes} {
		b.Run(fmt.Sprint(n, "_prefixes"), func(b *testing.B) {
			var m Table
			s := &Spec{}
			for i := range n {
				s.Prefixes = append(s.Prefixes, fmt.Sprintf("/pack-%d/", i))
			}
			m.Apply(s)
			e := Subject{"/mdi/home.svg?size=32", []uint64{1, 2, 3}, m.Current(), new(atomic.Uint64)}
			for b.Loop() {
				m.Check(e, func(Latest) {})
			}
		})
	}
}
