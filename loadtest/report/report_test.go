//go:build linux

package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/loadtest/load"
)

// sample returns a bench of two rounds: nginx takes 10 and 12 µs, iconedge 8 and 9. Other cells are
// empty.
func sample() *Bench {
	b := &Bench{Rate: 15_000, Rounds: 2, Columns: []string{Hot, Zipf, Gzip, GzipTwin}}
	b.Servers = []Peer{{Name: Ours, Ours: true, Memory: 40e6}, {Name: Limited, Ours: true}, {Name: Nginx, Memory: 30e6}}
	add := func(server, column string, rate float64, us ...float64) {
		for _, u := range us {
			l := load.Latency{P50: 500, P99: 900, P999: 1200,
				Percentiles: []load.Point{{Percent: 50, Micros: 500}, {Percent: 99, Micros: 900}, {Percent: 100, Micros: 3000}}}
			b.Add(server, column, rate, load.Result{CPUMicros: u, PerSecond: 1e6 / u, Latency: l})
		}
	}
	add(Ours, Hot, 0, 9, 8)
	add(Nginx, Hot, 0, 10, 12)
	add(Ours, Zipf, 0, 11, 10.5, 12)
	add(Nginx, Zipf, 0, 11)
	add(Ours, Gzip, 0, 10)
	add(Ours, GzipTwin, 0, 10)
	add(Ours, Hot, 15_000, 20)
	add(Nginx, Hot, 15_000, 16)
	return b
}

func TestRatios(t *testing.T) {
	b := sample()
	for _, row := range []struct {
		target  Target
		ratio   float64
		verdict string
	}{
		{Target{Column: Hot, Against: Nginx, Most: 0.88}, 0.8, "reached"},
		{Target{Column: Zipf, Against: Nginx, Most: 0.88}, 10.5 / 11, "missed by 8.5 %"},
		// "at most" includes equality
		{Target{Column: Gzip, Than: GzipTwin, Most: 1}, 1, "reached"},
		{Target{Column: Hot, Against: Nginx, Rated: true, Most: 1.15}, 1.25, "missed by 8.7 %"},
	} {
		r, ok := b.reached(row.target, Ours)
		if !ok || math.Abs(r-row.ratio) > 1e-9 || row.target.verdict(r) != row.verdict {
			t.Errorf("%s: %v, %s (%v), want %v, %s", row.target.String(b.Rate), r, row.target.verdict(r), ok, row.ratio, row.verdict)
		}
	}
	if _, ok := b.reached(Target{Column: Hot, Against: Varnish}, Ours); ok {
		t.Error("there is a ratio to a server that was not measured")
	}
}

// hitSample has two of the targets of hits, and allocations.
func hitSample() *Bench {
	b := sample()
	secure := &Bench{Servers: []Peer{{Name: Nginx}, {Name: Smallest}}, Left: []string{"h2o: not installed"}}
	secure.Add(Forwarding, Quic50, 0, load.Result{CPUMicros: 90})
	secure.Add(Smallest, Quic50, 0, load.Result{CPUMicros: 30})
	b.Add(Forwarding, Zipf, 0, load.Result{CPUMicros: 5.5})
	b.Columns = append(b.Columns, Quic50)
	b.Merge(secure)
	b.Allocations = []Allocation{{Ours, Zipf, 0.01}, {Forwarding, Zipf, 12}, {Ours, Quic50, 200}}
	return b
}

func TestHitTable(t *testing.T) {
	b := hitSample()
	got := b.HitTable().Markdown()
	for _, want := range []string{
		"| iconedge, forwarding, Zipf : nginx | 0.500 | 0.70 | 0.60 | reached |",
		"| iconedge, forwarding, HTTP/3, 4 × 50 : the smallest http3 server | 3.000 | 1.20 | 0.90 | missed by 150.0 % |",
		"| iconedge, Zipf : iconedge, baseline | – | 1.03 | 1.00 | not measured |",
		"| objects allocated: iconedge, Zipf | 0.0 | 0 | – | reached |",
		"| objects allocated: iconedge, forwarding, Zipf | 12.0 | 0 | – | missed |",
		"| objects allocated: iconedge, HTTP/3, 4 × 50 | 200.0 | – | – |  |",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s in\n%s", want, got)
		}
	}
	if len(b.Servers) != 4 || len(b.Left) != 1 {
		t.Errorf("merged: %+v, %q", b.Servers, b.Left)
	}
}

func TestMedians(t *testing.T) {
	for _, row := range []struct {
		rounds                     []float64
		cheapest, median, typical_ float64
	}{
		{[]float64{3}, 3, 3, 3},
		{[]float64{3, 1}, 1, 2, 3},
		{[]float64{5, 1, 3}, 1, 3, 3},
	} {
		var c Cell
		for _, us := range row.rounds {
			c.Rounds = append(c.Rounds, load.Result{CPUMicros: us})
		}
		if c.cheapest() != row.cheapest || c.median(cpu) != row.median || c.typical().CPUMicros != row.typical_ {
			t.Errorf("of %v: cheapest %v, median %v, typical %v", row.rounds, c.cheapest(), c.median(cpu), c.typical().CPUMicros)
		}
	}
}

func TestTables(t *testing.T) {
	b := sample()
	for _, row := range []struct {
		name  string
		table Table
		want  []string
	}{
		{"CPU", b.CPUTable(0), []string{"| iconedge | 8.00 (8.50) | 10.50 (11.00) | 10.00 (10.00) | 10.00 (10.00) |",
			"| nginx | 10.00 (11.00) | 11.00 (11.00) | – | – |"}},
		{"CPU at the rate", b.CPUTable(15_000), []string{"| CPU µs an answer | one hot path |", "| nginx | 16.00 (16.00) |"}},
		{"targets", b.TargetTable(), []string{"| one hot path : nginx | ≤ 0.88 | 0.800 | reached | – | – |",
			"| one hot path, 15,000/s : nginx | ≤ 1.15 | 1.250 | missed by 8.7 % | – | – |"}},
		{"column", b.ColumnTable(Hot, 15_000), []string{"| iconedge | 20.00 | 100 | 50,000 | 500 | 900 | 1200 | 40 |"}},
	} {
		got := row.table.Markdown()
		for _, want := range row.want {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("%s has no line %s:\n%s", row.name, want, got)
			}
		}
		for _, line := range row.table.Rows {
			if len(line) != len(row.table.Head) {
				t.Errorf("%s: %d cells under %d heads: %v", row.name, len(line), len(row.table.Head), line)
			}
		}
	}
	if strings.Contains(b.TargetTable().Markdown(), Varnish) {
		t.Error("a target is shown against a server that was not measured")
	}
}

// secured returns a bench over TLS: for a request on one stream and on ten, nginx takes 10 and 20
// µs, and iconedge 8 and 6; a browser's fields cost 1 µs more.
func secured() *Secure {
	s := &Secure{Cipher: "TLS_AES_128_GCM_SHA256", Body: 1001.2}
	s.Rounds, s.Servers = 1, []Peer{{Name: Ours, Ours: true}, {Name: Nginx}}
	s.Columns = []string{Secure1, Streams1, Streams10, Browsing(Streams1)}
	for column, us := range map[string][2]float64{Streams1: {8, 10}, Streams10: {6, 20}, Browsing(Streams1): {9, 10}} {
		s.Add(Ours, column, 0, load.Result{CPUMicros: us[0], PerSecond: 50_000})
		s.Add(Nginx, column, 0, load.Result{CPUMicros: us[1], PerSecond: 40_000})
	}
	s.Rests = []Rest{
		{TLSAlone, 2000, 10e6, 60e6}, {Ours, 2000, 100e6, 166e6}, {Nginx, 2000, 10e6, 40e6},
	}
	return s
}

func TestSecureTables(t *testing.T) {
	s := secured()
	for _, row := range []struct {
		table Table
		want  []string
	}{
		{s.TargetTable(), []string{
			"| HTTP/2, 64 × 1 : nginx | ≤ 0.80 | 0.800 | reached |", "| HTTP/2, 16 × 10 : nginx | ≤ 0.26 | 0.300 | missed by 15.4 % |",
			"| HTTP/2, 64 × 1, a browser's fields : nginx | ≤ 0.88 | 0.900 | missed by 2.3 % |",
			"| HTTP/2, 64 × 1, a browser's fields : HTTP/2, 64 × 1 | ≤ 1.10 | 1.125 | missed by 2.3 % |",
		}},
		{s.PaceTable(0), []string{"| iconedge | 50,000 (40) | 50,000 (30) | 50,000 (45) |"}},
		{s.RestTable(), []string{"| TLS alone | 25.0 | – |  |", "| iconedge | 33.0 | 8.0 | ≤ 12: reached |", "| nginx | 15.0 | – |  |"}},
	} {
		got := row.table.Markdown()
		for _, want := range row.want {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("no line %s in\n%s", want, got)
			}
		}
	}
	s.Rests[1].After += 10e6
	if got := s.RestTable().Markdown(); !strings.Contains(got, "| iconedge | 38.0 | 13.0 | ≤ 12: missed by 8.3 % |") {
		t.Errorf("13 kB beyond TLS:\n%s", got)
	}
	s.Rests = s.Rests[1:]
	if got := s.RestTable().Markdown(); !strings.Contains(got, "| iconedge | 38.0 | – |  |") {
		t.Errorf("without TLS alone:\n%s", got)
	}
}

func TestRunTable(t *testing.T) {
	var b bytes.Buffer
	Text(&b, RunTable([]Run{{Name: "edge",
		Result: load.Result{Answers: 1234567, PerSecond: 98765.4, Statuses: map[string]int64{"304": 3, "200": 4}}}}))
	for _, want := range []string{"98,765", "1,234,567", "4×200 3×304"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestGrouped(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999.4: "999", 999.5: "1,000", 1234567: "1,234,567"} {
		if got := Grouped(v); got != want {
			t.Errorf("Grouped(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	for _, row := range []struct {
		low, high float64
		log       bool
		want      string
	}{
		{0, 20, false, "0 2.5 5 7.5 10 12.5 15 17.5 20"},
		{3, 9, false, "0 2 4 6 8 10"},
		{20, 900, true, "10 20 50 100 200 500 1k 2k"},
		{1000, 1_000_000, true, "1k 10k 100k 1M"},
	} {
		line := Line{Points: []XY{{0, row.low}, {0, row.high}}}
		s := Axis{Log: row.log}.scale([]Line{line}, func(p XY) float64 { return p.Y }, 0, 100)
		var got []string
		for _, m := range s.marks {
			got = append(got, m.Label)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("from %v to %v: %v, want %s", row.low, row.high, got, row.want)
		}
		if a, b := s.at(row.low), s.at(row.high); a < -1e-9 || b > 100+1e-9 || a >= b {
			t.Errorf("from %v to %v: drawn from %v to %v, want within 0 and 100", row.low, row.high, a, b)
		}
	}
}

// TestCharts: a chart is well-formed XML, shows each line with its name, and stays inside its area.
func TestCharts(t *testing.T) {
	runs := []Run{{Name: "a <b> & c"}, {Name: "empty"}}
	for _, p := range load.Percents {
		runs[0].Latency.Percentiles = append(runs[0].Latency.Percentiles, load.Point{Percent: p, Micros: 100 + p})
	}
	grow := &Grow{Points: []GrowPoint{
		{Series: ByEntries, Entries: 1000, CPUMicros: 9}, {Series: ByEntries, Entries: 1_000_000, CPUMicros: 14},
		{Series: ByEntries, Entries: 1000, Disk: true, CPUMicros: 11},
	}}
	for name, svg := range map[string][]byte{"latency": LatencyPlot("Latency & more", runs),
		"grow": grow.Plot(ByEntries), "nothing": Chart{}.SVG()} {
		lines, err := polylines(svg)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, svg)
		}
		if want := map[string]int{"latency": 2, "grow": 2, "nothing": 0}[name]; len(lines) != want {
			t.Errorf("%s has %d lines, want %d", name, len(lines), want)
		}
		for _, points := range lines {
			for point := range strings.FieldsSeq(points) {
				var x, y float64
				if _, err := fmt.Sscanf(point, "%f,%f", &x, &y); err != nil || x < left || x > width-right || y < top || y > height-bottom {
					t.Errorf("%s: the point %s is not inside (%v)", name, point, err)
				}
			}
		}
	}
}

// polylines returns the points of each line of a chart.
func polylines(svg []byte) (all []string, err error) {
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			all = append(all, e.Attr[0].Value)
		}
	}
}

func TestPage(t *testing.T) {
	p := Page{
		Hits: hitSample(), Bench: sample(), Secure: secured(), Tried: "SO_REUSEPORT by core.", Knees: "The processor's cache ends there.",
		Lists: &Lists{
			Requests: 6000, Left: []string{"@iconify/api: it is not installed"},
			Mixes: []ListsMix{{What: RandomLists, Requests: 100, Pieces: 0.25}},
			Rows: []ListRow{{Server: Ours, What: JoinedList, CPU: 15, Bytes: 12_000},
				{Server: Ours, What: StoredList, CPU: 12}, {Server: IconifyService, What: JoinedList, CPU: 150}},
		},
		Handshakes: &Handshakes{Number: 3000, Clients: 8}, Pages: &Pages{Icons: 40, Delay: 0.05},
		Grow: &Grow{Points: []GrowPoint{{Series: ByBody, Entries: 10_000, Body: 200, CPUMicros: 9, PerSecond: 100_000, Memory: 2e7}}},
	}
	for _, micros := range []float64{600, 500, 550} {
		p.Handshakes.Add(OverQUIC, Resumed, micros)
		p.Pages.Add("h3", 1, micros)
	}
	b, err := p.LabBook()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Hits of every site and protocol", "| iconedge, forwarding, Zipf : nginx | 0.500 |", "Omitted: h2o",
		"## Targets", "| one hot path : nginx | ≤ 0.88 | 0.800 | reached |", "![Latency at saturation](saturation.svg)",
		"## Attempts\n\nSO_REUSEPORT by core.", "### body bytes", "(grow-body-bytes.svg)", "## Iconify's icon data",
		"6,000 requests", "| iconedge, 30 icons of one pack, Zipf: joined | 15.00 | – | 12,000 |",
		"stored whole | ≤ 1.50 | 1.25 | reached |", "joined | ≥ 20 | 10.00 | missed |", "| 5 icons of random packs | 100 | 25.0 | – |",
		"Omitted: @iconify/api", "## TLS, HTTP/2 and HTTP/3", "100 icons of 1001 bytes",
		"Memory of 2000 idle connections", "3,000 connections", "| QUIC | – | 500 (2,000) | – |",
		"a page of 40 icons", "50 ms in each direction", "| HTTP/3 | 1 % | 550 | 600 | 600 |",
		"| 200 | memory | 9.00 | 100,000 |", "### The knees\n\nThe processor",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}
	for name := range p.Plots() {
		if !strings.Contains(string(b), "("+name+")") {
			t.Errorf("%s is not shown", name)
		}
	}
	results, err := p.Results()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**In short:** A hit over HTTP/1.1 costs 10.5 µs of a core for an icon, and 5.5 for a file of another " +
			"application (nginx 11.0), over HTTP/3 90.0.\n",
		"| iconedge, forwarding | 5.5 |", "| nginx | 11.0 |", "| the smallest http3 server | 30.0 |",
		"| Iconify's icon data, 30 icons of a pack, CPU µs | 15 | @iconify/api: 150 |",
		"| an idle connection of HTTP/2 over TLS, kB | 33.0 | nginx: 15.0 |", "6 of 14 targets are reached.",
		"|---|---:|---:|\n| iconedge, forwarding, HTTP/3, 4 × 50 : the smallest http3 server | 3.000 | ≤ 1.20 |\n| " +
			"@iconify/api, 30 icons of one pack, Zipf: joined",
		"| iconedge, HTTP/2, 16 × 10 : nginx | 0.300 | ≤ 0.26 |", "(performance/saturation.svg)", "(performance/lab-book.md)",
	} {
		if !strings.Contains(string(results), want) {
			t.Errorf("no %q in\n%s", want, results)
		}
	}
	if got := (Page{Hits: &Bench{}}).Summary(); !strings.HasPrefix(got, "The cost of a cache hit") {
		t.Errorf("hits without figures: %s", got)
	}
	for _, page := range []func() ([]byte, error){(Page{}).Results, (Page{}).LabBook} {
		if _, err := page(); err != nil {
			t.Errorf("without figures: %v", err)
		}
	}
}
