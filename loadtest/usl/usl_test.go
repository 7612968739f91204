package usl

import (
	"math"
	"testing"
)

// The law has the values that its formula gives, and both fits give the measured growth at two
// cores, unless more time is waited than the work grows by.
func TestFit(t *testing.T) {
	for _, row := range []struct {
		name            string
		growth, waiting float64
		best, worst     Law
		of16            [2]float64 // speedups of best and worst
	}{
		{"nothing is shared", 1, 0, Law{}, Law{}, [2]float64{16, 16}},
		{"all waits", 1.1, 0.1, Law{Alpha: 0.1}, Law{Alpha: 0.1}, [2]float64{6.4, 6.4}},
		{"half of it waits", 1.1, 0.05, Law{Alpha: 0.1}, Law{Alpha: 0.05, Beta: 0.025}, [2]float64{6.4, 16 / 7.75}},
		{"none waits", 1.02, 0, Law{Alpha: 0.02}, Law{Beta: 0.01}, [2]float64{16 / 1.3, 16 / 3.4}},
		{"noise", 0.97, 0, Law{}, Law{}, [2]float64{16, 16}},
		{"waiting that costs no time", 1, 0.05, Law{Alpha: 0.05}, Law{Alpha: 0.05}, [2]float64{16 / 1.75, 16 / 1.75}},
		{"one core for all", 2, 1, Law{Alpha: 1}, Law{Alpha: 1}, [2]float64{1, 1}},
	} {
		best, worst := Fit(row.growth, row.waiting)
		if !near(best.Alpha, row.best.Alpha) || best.Beta != 0 || !near(worst.Alpha, row.worst.Alpha) || !near(worst.Beta, row.worst.Beta) {
			t.Errorf("%s: %+v and %+v, want %+v and %+v", row.name, best, worst, row.best, row.worst)
		}
		for i, l := range []Law{best, worst} {
			if got := l.Speedup(16); !near(got, row.of16[i]) {
				t.Errorf("%s: %v times the throughput on 16 cores, want %v", row.name, got, row.of16[i])
			}
			if got := l.Speedup(1); got != 1 {
				t.Errorf("%s: %v times the throughput on one core", row.name, got)
			}
			if got, want := l.Speedup(2), 2/max(row.growth, 1+row.waiting); !near(got, want) {
				t.Errorf("%s: %v times the throughput on two cores, want %v", row.name, got, want)
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
