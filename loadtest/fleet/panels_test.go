//go:build linux

package fleet

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/iconedge/iconedge/loadtest/report"
)

func TestFilled(t *testing.T) {
	for expr, want := range map[string]string{
		`rate(a{region=~"$region",instance=~"${instance}"}[$__rate_interval])`: `rate(a{region=~".*",instance=~".*"}[20s])`,
		`increase(a{b=~"${b:regex}"}[$__range])`:                               `increase(a{b=~".*"}[90s])`,
		`avg_over_time(a[$__interval])`:                                        `avg_over_time(a[2s])`,
		// a group of a regular expression, not a variable
		`label_replace(a, "b", "$1", "c", "(.*)")`: `label_replace(a, "b", "$1", "c", "(.*)")`,
	} {
		if got := filled(expr, 90*time.Second, 2*time.Second); got != want {
			t.Errorf("filled(%s) = %s, want %s", expr, got, want)
		}
	}
}

func TestLegend(t *testing.T) {
	labels := map[string]string{"region": "eu", "le": "1"}
	for format, want := range map[string]string{"{{region}} p99": "eu p99", "{{ region }}/{{none}}": "eu/", "all": "all"} {
		if got := legend(format, labels); got != want {
			t.Errorf("legend(%q) = %q, want %q", format, got, want)
		}
	}
}

func TestReadBoards(t *testing.T) {
	dir := t.TempDir()
	board := `{"title":"Fleet","panels":[{"title":"a row","type":"row","panels":[{"title":"in it","targets":[{"expr":"a"}]}]},
		{"title":"words","type":"text"},{"title":"lines","type":"timeseries","targets":[{"expr":"b","legendFormat":"{{c}}"}],"fieldConfig":{"defaults":{"unit":"s"}}}]}`
	if err := os.WriteFile(filepath.Join(dir, "fleet.json"), []byte(board), 0o644); err != nil {
		t.Fatal(err)
	}
	boards, err := readBoards(dir)
	if err != nil || len(boards) != 1 || boards[0].file != "fleet" || len(boards[0].Panels) != 2 {
		t.Fatalf("%+v, %v", boards, err)
	}
	if p := boards[0].Panels[1]; p.Title != "lines" || p.Targets[0].Legend != "{{c}}" || p.FieldConfig.Defaults.Unit != "s" {
		t.Errorf("%+v", p)
	}
	if boards, err := readBoards(filepath.Join(dir, "none")); err != nil || boards != nil {
		t.Errorf("a folder that does not exist: %v, %v", boards, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readBoards(dir); err == nil {
		t.Error("a dashboard that is not JSON was read")
	}
}

func TestCopyRules(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"edge.yaml", "edge_test.yaml", "README.md"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte("rate(a[5m]) / rate(a[1h])"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copied := filepath.Join(to, "edge.yaml")
	if files, err := copyRules(from, to); err != nil || !slices.Equal(files, []string{copied}) {
		t.Errorf("%v, %v", files, err)
	}
	if b, err := os.ReadFile(copied); err != nil || string(b) != "rate(a[20s]) / rate(a[1h])" {
		t.Errorf("%s, %v", b, err)
	}
}

func TestSample(t *testing.T) {
	var s series
	if err := json.Unmarshal([]byte(`{"metric":{"a":"b"},"values":[[1.5,"2"],[3,"NaN"]]}`), &s); err != nil ||
		s.Values[0] != (sample{1.5, 2}) || !math.IsNaN(s.Values[1].value) {
		t.Errorf("%+v, %v", s, err)
	}
	if got := points(s.Values, time.UnixMilli(500)); !slices.Equal(got, []report.XY{{X: 1, Y: 2}}) {
		t.Errorf("points: %v, want the one that is a number, a second after the beginning", got)
	}
	for _, broken := range []string{`[1]`, `[1,2]`, `["1","2"]`, `[1,"x"]`, `{}`} {
		if err := json.Unmarshal([]byte(broken), new(sample)); err == nil {
			t.Errorf("%s is read as a sample", broken)
		}
	}
}

// TestPlot: a plot is XML, with a line for each series as long as there are colours.
func TestPlot(t *testing.T) {
	r := &run{began: time.Unix(100, 0), result: Result{Phases: []*Phase{{}, {From: 10 * time.Second}}}}
	p := panel{Title: "Requests & <answers>, by region"}
	var lines []line
	for range mostLines + 2 {
		lines = append(lines, line{"eu", series{Values: []sample{{100, 1}, {120, 2}}}})
	}
	plot := r.plot(p, lines)
	if plot.File != "requests-answers-by-region.svg" {
		t.Errorf("the file is %s", plot.File)
	}
	drawn, d := 0, xml.NewDecoder(bytes.NewReader(plot.SVG))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			drawn++
		}
	}
	if drawn != mostLines {
		t.Errorf("%d lines, want %d", drawn, mostLines)
	}
}
