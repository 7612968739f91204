//go:build linux

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What most readers compare, on the page of results.
var (
	plainServers = []string{Ours, Sites, Forwarding, ForwardingSites, Nginx, Varnish, HAProxy}
	plainColumns = []string{Zipf, Browser, Unchanged, StoredMiss}
	paceServers  = []string{Ours, Nginx, Varnish, HAProxy, Ceiling}
)

// Summary says what hits cost, for the first lines of the page of results.
func (p Page) Summary() string {
	const unmeasured = "The cost of a cache hit on one core, beside servers that are known for low cost."
	if p.Hits == nil {
		return unmeasured
	}
	if _, ok := p.Hits.cell(Ours, Zipf, 0); !ok { // a run of other parts alone
		return unmeasured
	}
	var b strings.Builder
	costs := func(column, ours, begin string, others ...string) {
		c, ok := p.Hits.cell(ours, column, 0)
		if !ok {
			return
		}
		fmt.Fprintf(&b, begin, c.cheapest())
		var beside []string
		for _, other := range others {
			if c, ok := p.Hits.cell(other, column, 0); ok {
				beside = append(beside, fmt.Sprintf("%s %.1f", other, c.cheapest()))
			}
		}
		if len(beside) > 0 {
			b.WriteString(" (" + strings.Join(beside, ", ") + ")")
		}
	}
	costs(Zipf, Ours, "A hit over HTTP/1.1 costs %.1f µs of a core for an icon")
	costs(Zipf, Forwarding, ", and %.1f for a file of another application", HAProxy, Nginx, Varnish)
	costs(Streams50, Forwarding, "; over HTTP/2 the file costs %.1f", Nginx)
	costs(Quic50, Forwarding, ", over HTTP/3 %.1f")
	costs(StoredMiss, Forwarding, ". A miss that is stored costs %.0f µs", Nginx)
	b.WriteString(".")
	return b.String()
}

// PlainTable returns the cost of hits over HTTP/1.1.
func (b *Bench) PlainTable() Table { return b.excerpt(plainColumns, plainServers) }

// StreamTable returns the cost of hits over HTTP/2 and HTTP/3.
func (b *Bench) StreamTable() Table {
	var columns, servers []string
	for _, column := range b.Columns {
		if strings.HasPrefix(column, "HTTP/") {
			columns = append(columns, column)
		}
	}
	for _, p := range b.Servers {
		if p.Name != Before {
			servers = append(servers, p.Name)
		}
	}
	return b.excerpt(columns, servers)
}

// excerpt returns the CPU time of the cheapest rounds, without servers and columns that have none.
func (b *Bench) excerpt(columns, servers []string) Table {
	t := Table{Head: []string{"CPU µs"}}
	for _, column := range columns {
		for _, server := range servers {
			if _, ok := b.cell(server, column, 0); ok {
				t.Head = append(t.Head, column)
				break
			}
		}
	}
	for _, server := range servers {
		row, found := []string{server}, false
		for _, column := range t.Head[1:] {
			c, ok := b.cell(server, column, 0)
			found = found || ok
			if !ok {
				row = append(row, none)
				continue
			}
			row = append(row, fixed(c.cheapest(), 1))
		}
		if found {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// PaceExcerpt returns the figures of the usual load at saturation for the servers that most readers
// know.
func (b *Bench) PaceExcerpt() Table {
	all := b.ColumnTable(Zipf, 0)
	t := Table{Head: append([]string{"medians"}, all.Head[1:]...)}
	for _, server := range paceServers {
		for _, row := range all.Rows {
			if row[0] == server {
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

// OtherTable returns the costs of what is not a hit.
func (p Page) OtherTable() Table {
	t := Table{Head: []string{"cost of", "iconedge", "beside it"}}
	if p.Bench != nil && len(p.Bench.Misses) > 0 {
		ours := p.Bench.Misses[0]
		row := []string{"a miss of an icon, CPU µs of edge and origin", fmt.Sprintf("%.0f and %.0f", ours.Server, ours.Origin), none}
		for _, m := range p.Bench.Misses {
			if strings.HasPrefix(m.What, Nginx) {
				row[2] = fmt.Sprintf("%s before the same origin: %.0f and %.0f", Nginx, m.Server, m.Origin)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if p.Secure != nil {
		each := map[string]string{}
		for _, r := range p.Secure.Rests {
			each[r.Server] = fmt.Sprintf("%.1f", r.Each()/1e3)
		}
		if ours := each[Ours]; ours != "" {
			row := []string{"an idle connection of HTTP/2 over TLS, kB", ours, none}
			if nginx := each[Nginx]; nginx != "" {
				row[2] = Nginx + ": " + nginx
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if p.Lists != nil {
		if ours, ok := p.Lists.row(Ours, JoinedList); ok {
			row := []string{"Iconify's icon data, 30 icons of a pack, CPU µs", fixed(ours.CPU, 0), none}
			if theirs, ok := p.Lists.row(IconifyService, JoinedList); ok {
				row[2] = IconifyService + ": " + fixed(theirs.CPU, 0)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// mostMissed is the number of missed targets on the page of results; the lab book has all of them.
const mostMissed = 8

// A Score says how many targets were measured and how many of them were reached, with a table of
// those that were missed by the most.
type Score struct {
	Measured, Reached int
	Worst             Table
}

// Score compares the figures of all parts with their targets.
func (p Page) Score() Score {
	s := Score{Worst: Table{Head: []string{"missed target", "measured", "target"}}}
	type miss struct {
		row  []string
		over float64
	}
	var missed []miss
	count := func(what, measured, target, verdict string) {
		switch {
		case verdict == "reached":
			s.Reached++
		case strings.HasPrefix(verdict, "missed"):
			missed = append(missed, miss{[]string{what, measured, target}, over(measured, target)})
		default:
			return
		}
		s.Measured++
	}
	if p.Hits != nil {
		for _, row := range p.Hits.HitTable().Rows {
			if !strings.HasPrefix(row[0], "objects allocated: "+Before) { // another build
				count(row[0], row[1], "≤ "+row[2], row[4])
			}
		}
	}
	var tables []Table
	if p.Bench != nil {
		tables = append(tables, p.Bench.TargetTable())
	}
	if p.Secure != nil {
		tables = append(tables, p.Secure.TargetTable())
	}
	for _, table := range tables {
		for _, row := range table.Rows {
			for i := 2; i+1 < len(row); i += 2 {
				count(table.Head[i]+", "+row[0], row[i], row[1], row[i+1])
			}
		}
	}
	if p.Lists != nil {
		for _, row := range p.Lists.RatioTable().Rows {
			count(row[0], row[2], row[1], row[3])
		}
	}
	slices.SortStableFunc(missed, func(a, b miss) int { return cmp.Compare(b.over, a.over) })
	for _, m := range missed[:min(len(missed), mostMissed)] {
		s.Worst.Rows = append(s.Worst.Rows, m.row)
	}
	return s
}

// over returns by how many times a figure misses its target; 0 if the target is 0.
func over(measured, target string) float64 {
	sign, bound, _ := strings.Cut(target, " ")
	m, _ := strconv.ParseFloat(measured, 64)
	b, _ := strconv.ParseFloat(bound, 64)
	if sign == "≥" {
		m, b = b, m
	}
	if b == 0 {
		return 0
	}
	return m / b
}
