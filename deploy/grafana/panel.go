package main

import "strings"

// A board is a dashboard: rows of panels.
type board struct {
	name, title, about string
	rows               []row
}

type row struct {
	title  string
	panels []panel
}

// A panel has queries, the unit of their results, and a description.
type panel struct {
	kind               string // Grafana's name of the panel type
	title, unit, about string
	width, height      int // in columns, of which a row has 24, and in units of 30 pixels
	queries            []query
	steps              []step          // colours by lower bound
	stacked            bool            // the lines add up to a whole
	columns            []column        // columns of a table
	words              map[string]word // texts for values
	decimals           int             // number of decimals; 0: Grafana's choice
}

type query struct{ expr, legend string }

type step struct {
	from   float64
	colour string
}

// A column of a table shows a label, or the result of a query by its letter.
type column struct{ field, title, unit, link string }

type word struct{ text, colour string }

// Grafana's names of units.
const (
	perSecond = "reqps"
	events    = "cps"
	share     = "percentunit"
	seconds   = "s"
	size      = "bytes"
	traffic   = "Bps"
	bits      = "bps"
	number    = "short"
	whole     = "none"
	ago       = "dateTimeFromNow" // of a time in milliseconds
)

const (
	green  = "green"
	yellow = "yellow"
	red    = "red"
)

// q returns a query and the legend of its lines. The legend of a single number is empty.
func q(expr, legend string) query { return query{inFull(expr), legend} }

// inFull expands the abbreviations of an expression: the series that the variables select, and the
// range of rates. Origins and shields are few and serve all regions, so the region variable does
// not apply to origins.
func inFull(expr string) string { return shortWords.Replace(expr) }

var shortWords = strings.NewReplacer(
	"@edge", `job="iconedge-edge",region=~"$region",instance=~"$instance"`,
	"@node", `job=~"iconedge-(edge|shield)",region=~"$region",instance=~"$instance"`,
	"@origin", `job="iconedge-origin"`,
	"@any", `job=~"iconedge-.+",region=~"$region",instance=~"$instance"`,
	"@region", `region=~"$region"`,
	"@rate", "[$__rate_interval]",
)

// stat shows one number, coloured by its thresholds.
func stat(title, unit, about, expr string) panel {
	return panel{kind: "stat", title: title, unit: unit, about: about, width: 4, height: 4, queries: []query{q(expr, "")}}
}

// lines shows series over time.
func lines(title, unit, about string, queries ...query) panel {
	return panel{kind: "timeseries", title: title, unit: unit, about: about, width: 8, height: 8, queries: queries}
}

// states shows bands over time, one for each series, coloured by value.
func states(title, about string, words map[string]word, queries ...query) panel {
	return panel{kind: "state-timeline", title: title, unit: whole, about: about, width: 12, height: 8, queries: queries, words: words}
}

// table shows current labels and values, with columns in their order.
func table(title, about string, columns []column, queries ...query) panel {
	return panel{kind: "table", title: title, unit: whole, about: about, width: 24, height: 8, queries: queries, columns: columns}
}

// wide returns p with a width in columns.
func (p panel) wide(columns int) panel {
	p.width = columns
	return p
}

// stack returns p with stacked lines.
func (p panel) stack() panel {
	p.stacked = true
	return p
}

// above returns p with yellow from warn and red from bad.
func (p panel) above(warn, bad float64) panel {
	p.steps = []step{{0, green}, {warn, yellow}, {bad, red}}
	return p
}

// below returns p with green from good, yellow from warn, and red below.
func (p panel) below(good, warn float64) panel {
	p.steps = []step{{0, red}, {warn, yellow}, {good, green}}
	return p
}

// exact returns p with a number of decimals: 99.9 % and 99.95 % differ.
func (p panel) exact(decimals int) panel {
	p.decimals = decimals
	return p
}

// line returns p with a threshold line that all values should stay below.
func (p panel) line(at float64) panel {
	p.steps = []step{{0, green}, {at, red}}
	return p
}

// all returns p with red below one, for values that are 0 or 1: below one, at least one of them is
// 0.
func (p panel) all() panel {
	p.steps = []step{{0, red}, {1, green}}
	return p
}

// yesNo returns the texts for 1 and 0.
func yesNo(yes, no string) map[string]word {
	return map[string]word{"1": {yes, green}, "0": {no, red}}
}

// quantile returns the expression for a quantile of an edge's classic histogram, by labels besides
// le.
func quantile(of, metric, selector, by string) string {
	labels := "le"
	if by != "" {
		labels += ", " + by
	}
	return "histogram_quantile(" + of + ", sum by (" + labels + ") (rate(" + metric + "_bucket{" + selector + "}@rate)))"
}
