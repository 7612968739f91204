//go:build linux

package report

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"text/template"
)

// A Page has all figures, and the texts that people wrote: for docs/reference/performance.md, with
// the results, and for docs/reference/performance/lab-book.md behind it.
type Page struct {
	Hits         *Bench // nil: not measured yet
	Bench        *Bench
	Secure       *Secure
	Lists        *Lists
	Grow         *Grow
	Handshakes   *Handshakes
	Pages        *Pages
	Tried, Knees string // Markdown
}

//go:embed results.md.tmpl performance.md.tmpl
var texts embed.FS

var templates = template.Must(template.New("pages").Funcs(template.FuncMap{
	"grouped": Grouped, "float": func(n int) float64 { return float64(n) }, "plotName": PlotName,
	"millis": func(seconds float64) string { return fixed(1000*seconds, 0) },
}).ParseFS(texts, "*.tmpl"))

// Results renders the page of results, which people read in three minutes.
func (p Page) Results() ([]byte, error) { return p.render("results.md.tmpl") }

// LabBook renders the page with all figures, conditions and attempts.
func (p Page) LabBook() ([]byte, error) { return p.render("performance.md.tmpl") }

func (p Page) render(name string) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, p); err != nil {
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
		plots["rate.svg"] = p.Bench.Latency("Latency at "+Grouped(p.Bench.Rate)+"/s, "+Zipf, Zipf, p.Bench.Rate)
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
