//go:build linux

package report

import "fmt"

// A Grow is the result of `loadtest grow`.
type Grow struct {
	Date    string      `json:"date"`
	Machine Machine     `json:"machine"`
	Rounds  int         `json:"rounds"`
	Seconds float64     `json:"seconds"`
	Points  []GrowPoint `json:"points"`
	Left    []string    `json:"left_out"` // omitted points, with reasons
}

// A GrowPoint is the result of an edge at one set of parameters. Series names the parameter that
// varies.
type GrowPoint struct {
	Series      string  `json:"series"`
	Entries     int     `json:"entries"`
	Connections int     `json:"connections"`
	Cores       int     `json:"cores"`
	Body        int     `json:"body_bytes"`
	Disk        bool    `json:"disk"` // a disk tier, and memory for a quarter of the entries
	CPUMicros   float64 `json:"cpu_us"`
	PerSecond   float64 `json:"answers_per_second"`
	P50         float64 `json:"p50_us"`
	P99         float64 `json:"p99_us"`
	P999        float64 `json:"p999_us"`
	Memory      int64   `json:"memory_bytes"`
}

// The series of a Grow, by the name of the parameter that varies.
const (
	ByEntries     = "entries"
	ByConnections = "connections"
	ByCores       = "cores"
	ByBody        = "body bytes"
)

// Series lists the series in the order of the page.
var Series = []string{ByEntries, ByConnections, ByCores, ByBody}

// varied returns the parameter that the series varies.
func (p GrowPoint) varied() int {
	return map[string]int{ByEntries: p.Entries, ByConnections: p.Connections, ByCores: p.Cores, ByBody: p.Body}[p.Series]
}

func (p GrowPoint) tier() string {
	if p.Disk {
		return "a quarter in memory, all on disk"
	}
	return "memory"
}

// Table returns the table of one series.
func (g *Grow) Table(series string) Table {
	t := Table{Head: []string{series, "cache", "CPU µs", "answers/s", "p50 µs", "p99 µs", "p99.9 µs", "memory MB", "bytes an entry"}}
	for _, p := range g.Points {
		if p.Series == series {
			t.Rows = append(t.Rows, []string{
				Grouped(float64(p.varied())), p.tier(), micros(p.CPUMicros), Grouped(p.PerSecond), fixed(p.P50, 0),
				fixed(p.P99, 0), fixed(p.P999, 0),
				fixed(float64(p.Memory)/1e6, 0), Grouped(float64(p.Memory) / float64(p.Entries)),
			})
		}
	}
	return t
}

// Plot shows CPU time over the parameter of a series, with a line for each kind of cache.
func (g *Grow) Plot(series string) []byte {
	c := Chart{Title: fmt.Sprintf("CPU time of a hit by %s", series), X: Axis{Label: series, Log: true},
		Y: Axis{Label: "CPU µs an answer", Marks: []Mark{}}}
	for _, disk := range []bool{false, true} {
		var line Line
		for _, p := range g.Points {
			if p.Series == series && p.Disk == disk {
				line.Name = p.tier()
				line.Points = append(line.Points, XY{float64(p.varied()), p.CPUMicros})
			}
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	return c.SVG()
}

// String returns a name of the point for messages.
func (p GrowPoint) String() string {
	return fmt.Sprintf("%s %d, %s", p.Series, p.varied(), p.tier())
}
