//go:build linux

package fleet

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/report"
)

// A Plot is a rendered panel.
type Plot struct {
	Title, File string
	SVG         []byte
}

// mostLines is the number of colours of a chart.
const mostLines = 7

// plot renders a panel over the duration of the run. The marks of its time axis are the starts of
// the phases.
func (r *run) plot(p panel, lines []line) Plot {
	c := report.Chart{Title: p.Title, X: report.Axis{Label: "phase"}, Y: report.Axis{Label: unitName(p.FieldConfig.Defaults.Unit)}}
	for i, ph := range r.result.Phases {
		c.X.Marks = append(c.X.Marks, report.Mark{At: ph.From.Seconds(), Label: fmt.Sprint(i + 1)})
	}
	for _, l := range lines[:min(len(lines), mostLines)] {
		c.Lines = append(c.Lines, report.Line{Name: l.name, Points: points(l.Values, r.began)})
	}
	return Plot{Title: p.Title, File: fileName(p.Title), SVG: c.SVG()}
}

// points converts numeric values to points, with the time since the start of the run.
func points(values []sample, began time.Time) (all []report.XY) {
	from := float64(began.UnixMilli()) / 1000
	for _, s := range values {
		if !math.IsNaN(s.value) && !math.IsInf(s.value, 0) {
			all = append(all, report.XY{X: s.at - from, Y: s.value})
		}
	}
	return all
}

var unitNames = map[string]string{
	"s": "seconds", "reqps": "a second", "cps": "a second", "ops": "a second", "percentunit": "share",
	"bytes": "bytes", "Bps": "bytes a second",
}

// unitName returns the name of a Grafana unit.
func unitName(unit string) string { return unitNames[unit] }

// fileName returns the file name of a plot.
func fileName(title string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			return c
		case 'A' <= c && c <= 'Z':
			return c - 'A' + 'a'
		}
		return '-'
	}, title)
	return strings.Join(strings.FieldsFunc(name, func(c rune) bool { return c == '-' }), "-") + ".svg"
}
