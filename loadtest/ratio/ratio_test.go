package ratio

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name, text string
		requests   []uint32
		sizes      []int
		err        string // part of it; empty: none
	}{
		{"keys", "a\nb\n\n* comment\na\n", []uint32{0, 1, 0}, nil, ""},
		{"sizes, of which the first counts, up to a megabyte", "7 10\n8 9999999\n7 20\n", []uint32{0, 1, 0}, []int{10, maxSize}, ""},
		{"nothing", "# only a comment\n", nil, nil, "no requests"},
		{"some with a size", "a\nb 3\n", nil, nil, "either each line"},
		{"some without a size", "a 3\nb\n", nil, nil, "either each line"},
		{"no number", "a x\n", nil, nil, "no size in bytes"},
	} {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		io.WriteString(z, row.text)
		z.Close()
		for _, in := range []io.Reader{strings.NewReader(row.text), &zipped} {
			got, err := Read("t", in)
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("%s: %v, want %q", row.name, err, row.err)
				}
				continue
			}
			if err != nil || !slices.Equal(got.Requests, row.requests) || !slices.Equal(got.Sizes, row.sizes) {
				t.Errorf("%s: %+v, %v", row.name, got, err)
			}
		}
	}
}

// Each policy hits what it should in a sequence of requests, with room for three objects.
func TestPolicies(t *testing.T) {
	const text = "a b c a d a b c d a"
	trace, err := Read("t", strings.NewReader(strings.ReplaceAll(text, " ", "\n")))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, hits string // the letters that are hits, and - for misses
	}{
		{"LRU", "---a-a----"},
		{"SIEVE", "---a-a---a"},   // the hand passes a, and removes b, c, d and b
		{"S3-FIFO", "---a------"}, // one use is too few for the main queue
		{"optimum", "---a-abc-a"}, // d is never stored
	} {
		i := slices.IndexFunc(peers, func(p peer) bool { return p.name == row.name })
		p, hits := peers[i].make(trace, costs{1, 1, 1, 1}, 3), ""
		for n, object := range trace.Requests {
			if p.request(object) {
				hits += text[2*n : 2*n+1]
			} else {
				hits += "-"
			}
		}
		if hits != row.hits {
			t.Errorf("%s: %s, want %s", row.name, hits, row.hits)
		}
	}
}

// No policy has more hits than the optimum, and each has all that are possible with enough room.
func TestBounds(t *testing.T) {
	for _, trace := range Made(Scale{20_000, MinObjects}) {
		if trace.Sized() {
			continue
		}
		c := make(costs, trace.Objects)
		for i := range c {
			c[i] = 1
		}
		for _, capacity := range []int64{50, int64(trace.Objects)} {
			best := trace.play(newOptimum(trace, c, capacity)).Hits
			for _, p := range peers {
				got := trace.play(p.make(trace, c, capacity)).Hits
				if got > best || got == 0 {
					t.Errorf("%s, %s: %f hits, the optimum has %f", trace.Name, p.name, got, best)
				}
			}
			if all := 1 - float64(trace.Objects)/float64(len(trace.Requests)); capacity > 50 && best != all {
				t.Errorf("%s: with room for all objects the optimum has %f hits, want %f", trace.Name, best, all)
			}
		}
	}
}

// The table has the edge's own cache, and the bytes of a trace with sizes.
func TestCompare(t *testing.T) {
	trace := sized(Scale{5000, MinObjects}).Cut(5000)
	r, err := Compare(t.Context(), []*Trace{trace}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	large := r[len(r)-1][0]
	if large.Entries == 0 || large.Shares[0].Hits <= 0 || large.Shares[0].Hits >= 1 {
		t.Errorf("the edge's cache has %d entries and %v of the hits", large.Entries, large.Shares[0])
	}
	if page := r.Section(); !strings.Contains(page, "| Zipf 0.9, lognormal sizes: bytes | ") {
		t.Errorf("the page lacks the bytes:\n%s", page)
	}
}
