//go:build linux

package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

// A Page is docs/reference/performance.md: the figures, and the texts that people wrote.
type Page struct {
	Hits         *Bench // nil: not measured yet
	Bench        *Bench
	Secure       *Secure
	Lists        *Lists
	Grow         *Grow
	Tried, Knees string // Markdown
}

//go:embed performance.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"grouped": grouped, "float": func(n int) float64 { return float64(n) }, "plotName": PlotName}).Parse(pageText))

// Markdown renders the page.
func (p Page) Markdown() ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("writing the page: %w", err)
	}
	return b.Bytes(), nil
}

// Series lists the measured series.
func (p Page) Series() (series []string) {
	for _, s := range Series {
		if p.Grow.has(s) {
			series = append(series, s)
		}
	}
	return series
}

// Plots renders the plots of the page, by file name.
func (p Page) Plots() map[string][]byte {
	plots := map[string][]byte{}
	if p.Bench != nil {
		plots["saturation.svg"] = p.Bench.Latency("Latency at saturation, "+Zipf, Zipf, 0)
		plots["rate.svg"] = p.Bench.Latency("Latency at "+grouped(p.Bench.Rate)+"/s, "+Zipf, Zipf, p.Bench.Rate)
	}
	if p.Grow != nil {
		for _, s := range p.Series() {
			plots[PlotName(s)] = p.Grow.Plot(s)
		}
	}
	return plots
}

// PlotName returns the file name of the plot of a Grow series.
func PlotName(series string) string { return "grow-" + strings.ReplaceAll(series, " ", "-") + ".svg" }

// Measured lists the columns that were measured at saturation.
func (b *Bench) Measured() []string { return b.measured(0) }

// MeasuredRated lists the columns that were measured at the fixed rate.
func (b *Bench) MeasuredRated() []string { return b.measured(b.Rate) }

func (g *Grow) has(series string) bool {
	for _, p := range g.Points {
		if p.Series == series {
			return true
		}
	}
	return false
}
