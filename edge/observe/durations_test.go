package observe

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// Our histogram equals client_golang's for the same durations, which include the bounds of all
// buckets and the nanoseconds beside them.
func TestDurationsAsOfClientGolang(t *testing.T) {
	var edges []time.Duration
	for _, n := range durationScale.upper {
		edges = append(edges, time.Duration(n-1), time.Duration(n), time.Duration(n+1))
	}
	edges = edges[:len(edges)-1] // the last is beyond the scale
	edges[0] = 0                 // instead of a negative duration
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 11))
		took := slices.Clone(edges)
		if seed > 0 {
			took = took[:0]
			for range 1 + r.IntN(5000) {
				took = append(took, time.Duration(math.Exp(r.Float64()*math.Log(4096e9))))
			}
		}
		ours, theirs := asHistogram(t, took), asHistogramOfClientGolang(t, took)
		if math.Abs(ours.GetSampleSum()-theirs.GetSampleSum()) > 1e-9*theirs.GetSampleSum() {
			t.Errorf("seed %d: the sum is %v, client_golang's %v", seed, ours.GetSampleSum(), theirs.GetSampleSum())
		}
		for _, h := range []*dto.Histogram{ours, theirs} {
			h.SampleSum, h.CreatedTimestamp = nil, nil
		}
		if !proto.Equal(ours, theirs) {
			t.Fatalf("seed %d:\n%v\nclient_golang:\n%v", seed, ours, theirs)
		}
	}
}

func asHistogram(t *testing.T, took []time.Duration) *dto.Histogram {
	d, c := newDurations(), newCounts()
	for _, n := range took {
		d.took(n, 1)
	}
	c.add(&d)
	return written(t, c.metric(prometheus.NewDesc("a", "b", nil, nil), time.Now()))
}

func asHistogramOfClientGolang(t *testing.T, took []time.Duration) *dto.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "a", Buckets: durationBuckets, NativeHistogramBucketFactor: nativeFactor})
	for _, n := range took {
		h.Observe(n.Seconds())
	}
	return written(t, h)
}

func written(t *testing.T, m prometheus.Metric) *dto.Histogram {
	t.Helper()
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetHistogram()
}

// A duration beyond the scale counts in no classic bucket, and in the last native one. A negative
// duration counts as zero.
func TestDurationsOffTheScale(t *testing.T) {
	if n := durationScale.cell(-time.Second); n != 0 {
		t.Errorf("a negative duration is in cell %d, want 0", n)
	}
	last := len(durationScale.upper) - 1
	for _, d := range []time.Duration{4096 * time.Second, 4097 * time.Second, math.MaxInt64} {
		if n := durationScale.cell(d); n != last || durationScale.classic[n] != len(durationBuckets) {
			t.Errorf("%v is in cell %d, want %d; classic bucket %d, want %d", d, n, last, durationScale.classic[n], len(durationBuckets))
		}
	}
}
