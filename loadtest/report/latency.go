//go:build linux

package report

import "math"

// nines returns the position of a percentage on an axis on which 90, 99, 99.9 are equidistant.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }

// LatencyPlot shows latency by percentile, one line a server.
func LatencyPlot(title string, runs []Run) []byte {
	c := Chart{
		Title: title,
		X: Axis{Label: "answers that took no longer", Marks: []Mark{
			{0, "0 %"}, {nines(50), "50 %"}, {1, "90 %"}, {2, "99 %"}, {3, "99.9 %"}, {4, "99.99 %"},
		}},
		Y: Axis{Label: "latency, µs (logarithmic)", Log: true},
	}
	for _, r := range runs {
		line := Line{Name: r.Name}
		for _, p := range r.Latency.Percentiles {
			// the maximum has no position on this axis
			if 0 < p.Percent && p.Percent < 100 && p.Micros > 0 {
				line.Points = append(line.Points, XY{nines(p.Percent), p.Micros})
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return c.SVG()
}
