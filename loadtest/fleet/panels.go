//go:build linux

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A board is the part of a Grafana dashboard that queries Prometheus.
type board struct {
	file   string
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	Title   string  `json:"title"`
	Type    string  `json:"type"`
	Panels  []panel `json:"panels"` // panels inside a row
	Targets []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// An Asked is a panel whose queries were run.
type Asked struct {
	Board, Panel string
	Queries      int
	Answered     int    // number of queries with data
	Error        string // of the first query without data
}

// readBoards reads the dashboards in a folder, which need not exist.
func readBoards(folder string) (boards []board, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		read := board{file: strings.TrimSuffix(filepath.Base(file), ".json")}
		if err := json.Unmarshal(b, &read); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		read.Panels = flat(read.Panels)
		boards = append(boards, read)
	}
	return boards, nil
}

// flat lists the panels with queries, including those inside rows.
func flat(panels []panel) (all []panel) {
	for _, p := range panels {
		if len(p.Targets) > 0 {
			all = append(all, p)
		}
		all = append(all, flat(p.Panels)...)
	}
	return all
}

// rateInterval is the value of Grafana's $__rate_interval. Grafana would compute a similar value
// for one scrape a second and the duration of a run.
const rateInterval = 20 * time.Second

var variable = regexp.MustCompile(`\$(?:\{([A-Za-z_]\w*)(?::\w+)?\}|([A-Za-z_]\w*))`)

// filled replaces Grafana's variables in a query: all regions, all nodes, the duration of the run.
func filled(expr string, ran, step time.Duration) string {
	return variable.ReplaceAllStringFunc(expr, func(v string) string {
		names := variable.FindStringSubmatch(v)
		switch names[1] + names[2] {
		case "__rate_interval":
			return rateInterval.String()
		case "__interval":
			return step.String()
		case "__range":
			return fmt.Sprintf("%.0fs", ran.Seconds())
		}
		return ".*"
	})
}

// steps is the number of points of a query over the run.
const steps = 150

// askPanels runs every query of every panel, and plots the panels of the fleet dashboard.
func (r *run) askPanels(ctx context.Context) error {
	boards, err := readBoards(r.Dashboards)
	if err != nil {
		return err
	}
	for _, b := range boards {
		for _, p := range b.Panels {
			lines, asked, err := r.askPanel(ctx, p)
			if err != nil {
				return err
			}
			asked.Board = b.Title
			r.result.Panels = append(r.result.Panels, asked)
			if strings.HasPrefix(b.file, "fleet") && p.Type == "timeseries" && len(lines) > 0 {
				r.result.Plots = append(r.result.Plots, r.plot(p, lines))
			}
		}
	}
	return nil
}

// A line is a series with the name that its panel gives it.
type line struct {
	name string
	series
}

func (r *run) askPanel(ctx context.Context, p panel) (all []line, asked Asked, err error) {
	ran := r.ended.Sub(r.began)
	step := max(time.Second, (ran / steps).Round(time.Second))
	asked = Asked{Panel: p.Title, Queries: len(p.Targets)}
	for _, t := range p.Targets {
		found, err := r.query(ctx, filled(t.Expr, ran, step), r.began, r.ended, step)
		switch {
		case ctx.Err() != nil:
			return nil, asked, ctx.Err()
		case err != nil && asked.Error == "":
			asked.Error = err.Error()
		case len(found) > 0:
			asked.Answered++
		}
		for _, s := range found {
			all = append(all, line{legend(t.Legend, s.Metric), s})
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return strings.Compare(a.name, b.name) })
	return all, asked, nil
}

var labelName = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// legend returns the name of a series in Grafana's format.
func legend(format string, labels map[string]string) string {
	return labelName.ReplaceAllStringFunc(format, func(s string) string {
		return labels[labelName.FindStringSubmatch(s)[1]]
	})
}
