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

// A panel is a question, its answer's unit, and what its reader should make of it.
type panel struct {
	kind               string // Grafana's name of it
	title, unit, about string
	width, height      int // of the 24 columns; of rows of 30 pixels
	queries            []query
	steps              []step          // colours from a value on
	stacked            bool            // lines that add up to a whole
	columns            []column        // of a table
	words              map[string]word // values that are words
	decimals           int             // that matter; 0: as Grafana sees fit
}

type query struct{ expr, legend string }

type step struct {
	from   float64
	colour string
}

// A column of a table: a label, or a query by its letter.
type column struct{ field, title, unit, link string }

type word struct{ text, colour string }

// Units, as Grafana calls them.
const (
	perSecond = "reqps"
	events    = "cps"
	share     = "percentunit"
	seconds   = "s"
	size      = "bytes"
	traffic   = "Bps"
	number    = "short"
	whole     = "none"
	ago       = "dateTimeFromNow" // of milliseconds
)

const (
	green  = "green"
	yellow = "yellow"
	red    = "red"
)

// q is one query and what its lines are called; the legend of a single number is empty.
func q(expr, legend string) query { return query{inFull(expr), legend} }

// inFull writes the short words of an expression out: whose series, chosen by the variables, and over how long a rate is taken.
// Origins and shields are few and serve all regions, so that the variable does not choose among origins.
func inFull(expr string) string { return shortWords.Replace(expr) }

var shortWords = strings.NewReplacer(
	"@edge", `job="iconedge-edge",region=~"$region",instance=~"$instance"`,
	"@node", `job=~"iconedge-(edge|shield)",region=~"$region",instance=~"$instance"`,
	"@origin", `job="iconedge-origin"`,
	"@any", `job=~"iconedge-.+",region=~"$region",instance=~"$instance"`,
	"@region", `region=~"$region"`,
	"@rate", "[$__rate_interval]",
)

// stat is one number; its colour says whether it is a good one.
func stat(title, unit, about, expr string) panel {
	return panel{kind: "stat", title: title, unit: unit, about: about, width: 4, height: 4, queries: []query{q(expr, "")}}
}

// lines are series over time.
func lines(title, unit, about string, queries ...query) panel {
	return panel{kind: "timeseries", title: title, unit: unit, about: about, width: 8, height: 8, queries: queries}
}

// states are bands over time, one a series, coloured by value.
func states(title, about string, words map[string]word, queries ...query) panel {
	return panel{kind: "state-timeline", title: title, unit: whole, about: about, width: 12, height: 8, queries: queries, words: words}
}

// table shows labels and values of the moment; its columns stand in their order.
func table(title, about string, columns []column, queries ...query) panel {
	return panel{kind: "table", title: title, unit: whole, about: about, width: 24, height: 8, queries: queries, columns: columns}
}

// wide is p on so many columns.
func (p panel) wide(columns int) panel {
	p.width = columns
	return p
}

// stack is p with its lines on top of each other.
func (p panel) stack() panel {
	p.stacked = true
	return p
}

// above is p that turns yellow from warn on and red from bad.
func (p panel) above(warn, bad float64) panel {
	p.steps = []step{{0, green}, {warn, yellow}, {bad, red}}
	return p
}

// below is p that is green from good on, yellow from warn, and red below.
func (p panel) below(good, warn float64) panel {
	p.steps = []step{{0, red}, {warn, yellow}, {good, green}}
	return p
}

// exact is p with so many decimals: 99.9 % and 99.95 % are not the same.
func (p panel) exact(decimals int) panel {
	p.decimals = decimals
	return p
}

// line is p with one line, that all should stay below.
func (p panel) line(at float64) panel {
	p.steps = []step{{0, green}, {at, red}}
	return p
}

// all is p that is red below one: what is yes or no is no somewhere.
func (p panel) all() panel {
	p.steps = []step{{0, red}, {1, green}}
	return p
}

// yesNo are the words of what is 1 or 0.
func yesNo(yes, no string) map[string]word {
	return map[string]word{"1": {yes, green}, "0": {no, red}}
}

// quantile is that of a classic histogram of an edge, by labels besides le.
func quantile(of, metric, selector, by string) string {
	labels := "le"
	if by != "" {
		labels += ", " + by
	}
	return "histogram_quantile(" + of + ", sum by (" + labels + ") (rate(" + metric + "_bucket{" + selector + "}@rate)))"
}
