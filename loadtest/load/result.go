//go:build linux

package load

import (
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Result is the result of one run. It has a JSON form.
type Result struct {
	Seconds   float64 `json:"seconds"`        // of the measurement
	Rate      float64 `json:"rate,omitempty"` // requests a second of the open loop; 0: closed loop
	Answers   int64   `json:"answers"`
	PerSecond float64 `json:"answers_per_second"`
	Bytes     int64   `json:"body_bytes"`

	Statuses map[string]int64 `json:"statuses"`
	// responses that differ from the expected ones, in the whole run
	Wrong int64 `json:"wrong"`
	// connections that broke before the response, in the whole run
	Broken int64 `json:"broken"`
	// requests that were due and found no free connection
	Unsent   int64    `json:"unsent"`
	Unheard  int64    `json:"unheard"` // requests without a response at the end
	Mistakes []string `json:"mistakes,omitempty"`
	Stopped  bool     `json:"stopped,omitempty"` // before the end

	CPUMicros float64 `json:"cpu_us,omitempty"` // of the server, for each response
	Latency   Latency `json:"latency"`
}

// Latency is the distribution of latencies in microseconds.
type Latency struct {
	Mean        float64 `json:"mean_us"`
	Max         float64 `json:"max_us"`
	P50         float64 `json:"p50_us"`
	P99         float64 `json:"p99_us"`
	P999        float64 `json:"p999_us"`
	Percentiles []Point `json:"percentiles"`
}

// A Point is a percentile: Percent of the responses took at most Micros.
type Point struct {
	Percent float64 `json:"percent"`
	Micros  float64 `json:"us"`
}

// Percents are the percentages in Latency.Percentiles, denser towards 100.
var Percents = []float64{0, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.75, 99.9, 99.95, 99.99, 99.995, 99.999}

// gather combines the counters of the loops and the readings of watch.
func gather(cfg *Config, loops []*loop, w watched) *Result {
	r := &Result{Rate: cfg.Rate, Statuses: map[string]int64{}, Stopped: w.stopped}
	all := hdrhistogram.New(1, longest, digits)
	for _, l := range loops {
		all.Merge(l.latency)
		for status, n := range l.counts.statuses {
			if n > 0 {
				r.Statuses[strconv.Itoa(status)] += n
				r.Answers += n
			}
		}
		r.Bytes += l.counts.bytes
		r.Unsent += l.counts.unsent
		r.Unheard += l.counts.unheard
		r.Wrong += l.wrong.Load()
		r.Broken += l.broken.Load()
		r.Mistakes = append(r.Mistakes, l.mistakes[:min(len(l.mistakes), maxMistakes-len(r.Mistakes))]...)
	}
	r.Latency = latencyOf(all)
	if seconds := (w.to.at - w.from.at).Seconds(); seconds > 0 {
		r.Seconds = seconds
		r.PerSecond = float64(w.to.answers-w.from.answers) / seconds
	}
	if n := w.to.answers - w.from.answers; n > 0 {
		r.CPUMicros = micros(int64(w.to.cpu-w.from.cpu)) / float64(n)
	}
	return r
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	if h.TotalCount() == 0 {
		return Latency{}
	}
	l := Latency{
		Mean: h.Mean() / float64(time.Microsecond), Max: micros(h.Max()), P50: micros(h.ValueAtQuantile(50)),
		P99: micros(h.ValueAtQuantile(99)), P999: micros(h.ValueAtQuantile(99.9)),
	}
	for _, p := range Percents {
		if float64(h.TotalCount())*(100-p) >= 100 { // at least one response lies beyond it
			l.Percentiles = append(l.Percentiles, Point{p, micros(h.ValueAtQuantile(p))})
		}
	}
	l.Percentiles = append(l.Percentiles, Point{100, l.Max})
	return l
}

func micros(ns int64) float64 { return float64(ns) / float64(time.Microsecond) }
