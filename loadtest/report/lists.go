//go:build linux

package report

import "fmt"

// Lists is the result of the part of a bench that requests Iconify's icon data.
type Lists struct {
	Date     string     `json:"date"`
	Machine  Machine    `json:"machine"`
	Versions []string   `json:"versions"`
	Rounds   int        `json:"rounds"`
	Requests int        `json:"requests"` // of each row and round
	Rows     []ListRow  `json:"rows"`
	Mixes    []ListsMix `json:"mixes"`
	Left     []string   `json:"left_out"`
}

// A ListRow is the cost of one kind of response in the cheapest round.
type ListRow struct {
	Server string  `json:"server"`
	What   string  `json:"what"`
	CPU    float64 `json:"cpu_us"`    // of the server, for each response
	Origin float64 `json:"origin_us"` // of the origin behind it
	Bytes  float64 `json:"bytes"`     // of a body
}

// A ListsMix says how often a cache without a limit, empty at first, has what a request needs.
type ListsMix struct {
	What      string  `json:"what"`
	Requests  int     `json:"requests"`
	Pieces    float64 `json:"pieces"`    // the share of names that were requested before
	Addresses float64 `json:"addresses"` // the share of lists that were requested before
}

// Rows of the part.
const (
	JoinedList     = "30 icons of one pack, Zipf: joined"
	JoinedGzip     = "30 icons of one pack, Zipf: joined, gzip"
	StoredList     = "lists of the same size: stored whole"
	StoredGzip     = "lists of the same size: stored whole, gzip"
	RandomLists    = "5 icons of random packs"
	MissedLists    = "30 icons of one pack: all misses"
	IconifyService = "@iconify/api"
)

func (l *Lists) row(server, what string) (ListRow, bool) {
	for _, r := range l.Rows {
		if r.Server == server && r.What == what {
			return r, true
		}
	}
	return ListRow{}, false
}

// Table returns the costs.
func (l *Lists) Table() Table {
	t := Table{Head: []string{"CPU µs a response", "server", "origin", "bytes"}}
	for _, r := range l.Rows {
		t.Rows = append(t.Rows, []string{r.Server + ", " + r.What, micros(r.CPU), micros(r.Origin), Grouped(r.Bytes)})
	}
	return t
}

// RatioTable compares the costs with the targets.
func (l *Lists) RatioTable() Table {
	t := Table{Head: []string{"ratio of CPU time, cheapest rounds", "target", "measured", ""}}
	for _, r := range []struct {
		of, against, what, than string
		most                    float64 // 0: least is the target
		least                   float64
	}{
		{Ours, Ours, JoinedList, StoredList, 1.5, 0}, {Ours, Ours, JoinedGzip, StoredGzip, 1.5, 0},
		{IconifyService, Ours, JoinedList, JoinedList, 0, 20}, {IconifyService, Ours, RandomLists, RandomLists, 0, 20},
	} {
		a, ok := l.row(r.of, r.what)
		b, there := l.row(r.against, r.than)
		if !ok || !there || b.CPU == 0 {
			continue
		}
		ratio := a.CPU / b.CPU
		target, reached := fmt.Sprintf("≤ %.2f", r.most), ratio <= r.most
		if r.most == 0 {
			target, reached = fmt.Sprintf("≥ %.0f", r.least), ratio >= r.least
		}
		word := "reached"
		if !reached {
			word = "missed"
		}
		t.Rows = append(t.Rows, []string{r.of + ", " + r.what + " : " + r.against + ", " + r.than, target,
			fmt.Sprintf("%.2f", ratio), word})
	}
	return t
}

// MixTable returns the hit ratios.
func (l *Lists) MixTable() Table {
	t := Table{Head: []string{"hit ratio, %", "requests", "by piece", "by address"}}
	for _, m := range l.Mixes {
		t.Rows = append(t.Rows, []string{m.What, Grouped(float64(m.Requests)), fixed(100*m.Pieces, 1), fixed(100*m.Addresses, 1)})
	}
	return t
}
