package observe

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// durationBuckets are the upper bounds of the classic buckets of durations, in seconds.
var durationBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}

// Each native bucket is at most nativeFactor times as wide as the one before it. That is schema 3,
// which has eight buckets for each power of two.
const (
	nativeFactor  = 1.1
	nativeSchema  = 3
	nativePerTwo  = 1 << nativeSchema
	nativeBuckets = 160    // at most; client_golang merges buckets when there are more
	firstNative   = -239   // the native bucket of a nanosecond: up to 2^(-239/8) s
	topPower      = 12     // longer durations count as 2^topPower seconds
	slotsPerTwo   = 16     // index slots for each power of two, at most one native bound in each
	nanosecond    = 1 << 4 // in units of the index, so that the shortest durations have slots
	octaves       = 42     // powers of two from a nanosecond to 2^topPower seconds
)

// A scale divides durations into cells by the bounds of both classic and native buckets, so that
// one count serves both.
type scale struct {
	upper   []int64 // the upper bound of each cell in nanoseconds, inclusive
	native  []int   // the native bucket of each cell; unused for the first cell, which is for zero
	classic []int   // the classic bucket of each cell
	first   [octaves * slotsPerTwo]uint16
}

var durationScale = newScale()

func newScale() *scale {
	s := &scale{upper: []int64{0}, native: []int{0}, classic: []int{0}}
	classic := 0
	for native := firstNative; native <= topPower*nativePerTwo; native++ {
		bound := within(math.Exp2(float64(native) / nativePerTwo))
		for ; classic < len(durationBuckets) && within(durationBuckets[classic]) < bound; classic++ {
			s.add(within(durationBuckets[classic]), native, classic)
		}
		s.add(bound, native, classic)
	}
	cell := 1
	for slot := range s.first {
		least := int64(slotsPerTwo+slot%slotsPerTwo) << (slot / slotsPerTwo) / nanosecond
		for cell < len(s.upper)-1 && s.upper[cell] < least {
			cell++
		}
		s.first[slot] = uint16(cell)
	}
	return s
}

func (s *scale) add(upper int64, native, classic int) {
	s.upper, s.native, s.classic = append(s.upper, upper), append(s.native, native), append(s.classic, classic)
}

// within returns the longest duration, in nanoseconds, whose time.Duration.Seconds does not exceed
// a bound in seconds.
func within(bound float64) int64 {
	n := int64(bound * 1e9)
	for time.Duration(n+1).Seconds() <= bound {
		n++
	}
	for time.Duration(n).Seconds() > bound {
		n--
	}
	return n
}

// cell returns the cell of a duration.
func (s *scale) cell(d time.Duration) int {
	n := min(int64(d), s.upper[len(s.upper)-1])
	if n <= 0 {
		return 0
	}
	octave := bits.Len64(uint64(n)*nanosecond) - 5
	cell := int(s.first[octave*slotsPerTwo+int(uint64(n)*nanosecond>>octave)%slotsPerTwo])
	for n > s.upper[cell] {
		cell++
	}
	return cell
}

// durations is a histogram of durations. Counting in client_golang's histogram, with classic and
// native buckets, takes several times as long.
type durations struct {
	cells []atomic.Uint64
	nanos atomic.Int64
}

func newDurations() durations {
	return durations{cells: make([]atomic.Uint64, len(durationScale.upper))}
}

// took counts a duration several times.
func (d *durations) took(t time.Duration, times int) {
	d.cells[durationScale.cell(t)].Add(uint64(times))
	d.nanos.Add(int64(t) * int64(times))
}

// exemplars hold the last traced request for each classic bucket of a histogram, and for longer
// ones.
type exemplars [16]atomic.Pointer[prometheus.Exemplar]

func (e *exemplars) add(d time.Duration, traceID string, now time.Time) {
	bucket := durationScale.classic[durationScale.cell(d)]
	e[bucket].Store(&prometheus.Exemplar{Value: d.Seconds(), Labels: prometheus.Labels{"trace_id": traceID}, Timestamp: now})
}

// on returns a histogram with these exemplars.
func (e *exemplars) on(m prometheus.Metric) prometheus.Metric {
	var all []prometheus.Exemplar
	for i := range e {
		if one := e[i].Load(); one != nil {
			all = append(all, *one)
		}
	}
	if len(all) == 0 {
		return m
	}
	return prometheus.MustNewMetricWithExemplars(m, all...)
}

// counts are the sums of several durations.
type counts struct {
	cells []uint64
	nanos int64
}

func newCounts() *counts { return &counts{cells: make([]uint64, len(durationScale.upper))} }

// add adds the counts of d.
func (c *counts) add(d *durations) {
	for i := range d.cells {
		c.cells[i] += d.cells[i].Load()
	}
	c.nanos += d.nanos.Load()
}

// metric returns the counts as a histogram with classic and native buckets.
func (c *counts) metric(desc *prometheus.Desc, began time.Time, labels ...string) prometheus.Metric {
	native, classic := map[int]int64{}, make([]uint64, len(durationBuckets)+1)
	var all uint64
	for i, n := range c.cells {
		all += n
		classic[durationScale.classic[i]] += n
		if n > 0 && i > 0 {
			native[durationScale.native[i]] += int64(n)
		}
	}
	return bothKinds{
		Metric: prometheus.MustNewConstNativeHistogram(desc, all, time.Duration(c.nanos).Seconds(), native, nil, c.cells[0],
			nativeSchema, prometheus.DefNativeHistogramZeroThreshold, began, labels...),
		classic: cumulative(classic),
	}
}

func cumulative(counts []uint64) []*dto.Bucket {
	buckets, all := make([]*dto.Bucket, len(durationBuckets)), uint64(0)
	for i, bound := range durationBuckets {
		all += counts[i]
		buckets[i] = &dto.Bucket{UpperBound: new(bound), CumulativeCount: new(all)}
	}
	return buckets
}

// bothKinds is a native histogram that also has classic buckets.
type bothKinds struct {
	prometheus.Metric
	classic []*dto.Bucket
}

func (b bothKinds) Write(out *dto.Metric) error {
	err := b.Metric.Write(out)
	if err == nil {
		out.Histogram.Bucket = b.classic
	}
	return err
}
