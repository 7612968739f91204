// Command chart draws the chart of the README from the figures that make conformance and make bench
// have measured: cache tests passed, and CPU time of a hit.
//
//	go run -C tools ./chart ..
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed chart.svg.tmpl
var text string

var page = template.Must(template.New("chart").Parse(text))

// A bar is one product with its figure. The program's own is drawn in another colour.
type bar struct {
	Name  string
	Value string
	size  float64
	ours  bool

	Class                             string
	X, Y, NameX, TextY, ValueX, Width float64
}

// A panel is a group of bars, the best first.
type panel struct {
	Title string
	X     float64
	Bars  []bar
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("chart takes the folder of the repository")
	}
	svg, err := draw(os.Args[1])
	if err == nil {
		err = os.WriteFile(file(os.Args[1]), svg, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func file(root string) string { return filepath.Join(root, "docs", "images", "chart.svg") }

// draw returns the chart as an SVG.
func draw(root string) ([]byte, error) {
	tests, err := cacheTests(root)
	if err != nil {
		return nil, err
	}
	cost, err := costs(root)
	if err != nil {
		return nil, err
	}
	panels := []panel{place(tests, 0), place(cost, 440)}
	label := tests.Title + " " + list(tests.Bars) + " " + cost.Title + " " + list(cost.Bars)
	height := 40 + 30*max(len(tests.Bars), len(cost.Bars))
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{"Panels": panels, "Height": height, "Label": label})
	return b.Bytes(), err
}

// cacheTests returns how many required tests of the public suite each cache passes.
func cacheTests(root string) (p panel, err error) {
	var figures struct {
		Measured []struct {
			Name     string
			Required struct{ Of, Passed int }
		}
	}
	if err := read(filepath.Join(root, "tools", "conformance", "figures.json"), &figures); err != nil {
		return p, err
	}
	of := 0
	for _, m := range figures.Measured {
		name, _, _ := strings.Cut(m.Name, ",")
		if slices.ContainsFunc(p.Bars, func(b bar) bool { return b.Name == name }) {
			continue // the same program with other flags
		}
		of = m.Required.Of
		p.Bars = append(p.Bars, bar{Name: name, Value: fmt.Sprint(m.Required.Passed),
			size: float64(m.Required.Passed), ours: name == "iconedge"})
	}
	slices.SortStableFunc(p.Bars, func(a, b bar) int { return int(b.size - a.size) })
	p.Title = fmt.Sprintf("Cache tests passed, of %d (cache-tests.fyi)", of)
	return p, nil
}

// measured has the servers of the panel of costs, and their names there.
var measured = map[string]string{
	"iconedge": "iconedge, icons", "iconedge, forwarding": "iconedge, forwarded", "nginx": "nginx",
	"HAProxy": "HAProxy", "Varnish": "Varnish",
}

// costs returns the CPU time of a hit in the mix with a Zipf distribution, at saturation: of each
// server the cheapest round.
func costs(root string) (p panel, err error) {
	var bench struct {
		Cells []struct {
			Server, Column string
			Rate           int
			Rounds         []struct {
				CPU float64 `json:"cpu_us"`
			}
		}
	}
	if err := read(filepath.Join(root, "docs", "reference", "performance", "hits.json"), &bench); err != nil {
		return p, err
	}
	for _, c := range bench.Cells {
		name, ok := measured[c.Server]
		if !ok || c.Column != "Zipf" || c.Rate != 0 {
			continue
		}
		best := c.Rounds[0].CPU
		for _, r := range c.Rounds {
			best = min(best, r.CPU)
		}
		p.Bars = append(p.Bars, bar{Name: name, Value: fmt.Sprintf("%.1f", best), size: best, ours: name != c.Server})
	}
	slices.SortStableFunc(p.Bars, func(a, b bar) int { return int(100 * (a.size - b.size)) })
	p.Title = "CPU time of a hit of 1 kB, in µs"
	return p, nil
}

func read(path string, into any) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	return err
}

// place computes the positions of a panel whose left edge is x.
func place(p panel, x float64) panel {
	p.X = x
	most := 0.0
	for _, b := range p.Bars {
		most = max(most, b.size)
	}
	for i := range p.Bars {
		b := &p.Bars[i]
		b.Class = "bar"
		if b.ours {
			b.Class = "bar ours"
		}
		b.NameX, b.X, b.Y = x+110, x+118, float64(34+30*i)
		b.TextY, b.Width = b.Y+15, 240*b.size/most
		b.ValueX = b.X + b.Width + 6
	}
	return p
}

func list(bars []bar) string {
	var all []string
	for _, b := range bars {
		all = append(all, b.Name+" "+b.Value)
	}
	return strings.Join(all, ", ") + "."
}
