//go:build linux

// Package report makes tables, plots, and docs/reference/performance.md with its lab book from the
// results, and compares them with the targets. It measures nothing, and reads no files except its
// embedded templates.
package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/iconedge/iconedge/loadtest/load"
)

// A Run is the result of one server under one load.
type Run struct {
	Name string `json:"server"`
	load.Result
}

// A Table has a header row and rows of cells. The first cell of a row is its label.
type Table struct {
	Head []string
	Rows [][]string
}

// Text writes a table for a terminal.
func Text(w io.Writer, t Table) {
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		fmt.Fprintln(tabs, strings.Join(row, "\t")+"\t")
	}
	tabs.Flush()
}

// Markdown returns a Markdown table with right-aligned numbers.
func (t Table) Markdown() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.Head)
	b.WriteString("|---" + strings.Repeat("|---:", len(t.Head)-1) + "|\n")
	for _, row := range t.Rows {
		line(row)
	}
	return b.String()
}

// RunTable returns the table that `loadtest run` prints.
func RunTable(runs []Run) Table {
	t := Table{Head: []string{"server", "answers/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "CPU µs", "MB/s",
		"answers", "wrong", "unsent", "unheard", "statuses"}}
	for _, r := range runs {
		t.Rows = append(t.Rows, []string{
			r.Name, Grouped(r.PerSecond), millis(r.Latency.P50), millis(r.Latency.P99), millis(r.Latency.P999), millis(r.Latency.Max),
			micros(r.CPUMicros), fixed(float64(r.Bytes)/1e6/max(r.Seconds, 1e-9), 1), Grouped(float64(r.Answers)),
			Grouped(float64(r.Wrong + r.Broken)),
			Grouped(float64(r.Unsent)), Grouped(float64(r.Unheard)), statuses(r.Statuses),
		})
	}
	return t
}

func statuses(counted map[string]int64) string {
	var parts []string
	for status := range 600 {
		if n := counted[strconv.Itoa(status)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d×%d", n, status))
		}
	}
	return strings.Join(parts, " ")
}

const none = "–" // for a missing figure

func fixed(f float64, digits int) string {
	if f == 0 || math.IsNaN(f) {
		return none
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}

func micros(us float64) string { return fixed(us, 2) }
func millis(us float64) string { return fixed(us/1000, 3) }

// Grouped formats a whole number with commas between thousands.
func Grouped(f float64) string {
	digits := strconv.FormatFloat(math.Round(f), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
