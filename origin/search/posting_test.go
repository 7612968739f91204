package search

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/test/sequential"
)

// TestPosting compares appendPosting with roaring, on every kind of container.
func TestPosting(t *testing.T) {
	sequential.Test(t)
	r := rand.New(rand.NewPCG(1, 2))
	docs := func(n int, from, to uint32) (list []uint32) {
		for range n {
			list = append(list, from+r.Uint32N(to-from))
		}
		return list
	}
	ranges := func(list ...uint32) (docs []uint32) {
		for i := 0; i < len(list); i += 2 {
			for d := list[i]; d < list[i+1]; d++ {
				docs = append(docs, d)
			}
		}
		return docs
	}
	for why, list := range map[string][]uint32{
		"nothing":                nil,
		"one":                    {70_000},
		"few":                    docs(100, 0, 400_000),
		"a list and a bitmap":    append(docs(20_000, 0, 65_536), docs(100, 65_536, 131_072)...),
		"bitmaps":                docs(200_000, 0, 400_000),
		"runs in few containers": ranges(5, 900, 65_530, 65_540),
		"runs in many":           ranges(0, 400_000),
		"runs, lists and bitmaps in many": append(append(ranges(10, 20_000, 300_000, 301_000),
			docs(30_000, 65_536, 131_072)...), docs(50, 140_000, 240_000)...),
		"the first and last of a container": {0, 65_535, 65_536, 131_071, math.MaxUint32 - 1},
	} {
		for _, optimised := range []bool{false, true} {
			want := roaring.BitmapOf(list...)
			if optimised {
				want.RunOptimize()
			}
			var file bytes.Buffer
			if _, err := want.WriteTo(&file); err != nil {
				t.Fatal(err)
			}
			for _, only := range []span{{0, math.MaxUint32}, {0, 0}, {65_536, 65_537}, {300, 70_000},
				{131_071, 300_500}, {399_999, 500_000}} {
				for _, most := range []int{1 << 20, 50, 1} {
					var all []uint32
					for _, d := range want.ToArray() {
						if d >= only.from && d < only.to && len(all) < most {
							all = append(all, d)
						}
					}
					if got := appendPosting(nil, file.Bytes(), only, most); !slices.Equal(got, all) {
						t.Errorf("%s, optimised %v, %v, at most %d: %d docs, want %d", why, optimised, only, most, len(got), len(all))
					}
					if got := appendDocs(nil, want, only, most); !slices.Equal(got, all) {
						t.Errorf("%s in memory, %v, at most %d: %d docs, want %d", why, only, most, len(got), len(all))
					}
				}
			}
		}
	}
}

func TestSpanOf(t *testing.T) {
	for _, row := range []struct {
		docs  *roaring.Bitmap
		want  span
		whole bool
	}{
		{nil, span{0, math.MaxUint32}, true},
		{roaring.New(), span{}, true},
		{roaring.BitmapOf(4, 5, 6), span{4, 7}, true},
		{roaring.BitmapOf(4, 6), span{4, 7}, false},
	} {
		if got, whole := spanOf(row.docs); got != row.want || whole != row.whole {
			t.Errorf("spanOf(%v) = %v, %v, want %v, %v", row.docs, got, whole, row.want, row.whole)
		}
	}
}

func TestTally(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var counts tally
	for _, n := range []int{0, 1, 5, 3000, 40} {
		counts.reset(n)
		want := map[uint64]int{}
		for range n {
			key := r.Uint64N(uint64(n)) << (r.Uint64N(2) * 32)
			if got := counts.next(key); got != want[key] {
				t.Fatalf("of %d keys: %d has been counted %d times, want %d", n, key, got, want[key])
			}
			want[key]++
		}
	}
}

func TestSortRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, sortedByRadix - 1, sortedByRadix, 5000} {
		for _, bits := range []int{1, 20, 64} {
			list := make([]rank, n)
			for i := range list {
				list[i] = rank(r.Uint64() >> (64 - bits) << (r.IntN(2) * (64 - bits)))
			}
			want := slices.Clone(list)
			slices.Sort(want)
			if new(scratch).sort(list); !slices.Equal(list, want) {
				t.Errorf("%d ranks of %d bits are out of order", n, bits)
			}
			r.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
			const from = 29
			want = slices.Clone(list)
			slices.SortStableFunc(want, func(a, b rank) int { return cmp.Compare(a>>from, b>>from) })
			if new(scratch).sortUpper(list, from); !slices.Equal(list, want) {
				t.Errorf("%d ranks of %d bits are out of order by their upper bits", n, bits)
			}
		}
	}
	if got := merge(nil, []rank{1, 4, 5}, []rank{2, 3, 9}); !slices.Equal(got, []rank{1, 2, 3, 4, 5, 9}) {
		t.Errorf("merged: %v", got)
	}
}
