package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/iconedge/iconedge/test/golden"
	"github.com/iconedge/iconedge/test/harness"
)

var (
	figuresFile = filepath.Join(conformanceDir, "figures.json")
	pageFile    = filepath.Join("..", "..", "docs", "reference", "conformance.md")
)

// figures are the data of docs/reference/conformance.md, besides the reasons in
// testdata/conformance.list.
type figures struct {
	Suite     string    `json:"suite"` // version
	Measured  []product `json:"measured"`
	Published []product `json:"published"` // the results that the suite publishes
	Chapters  []chapter `json:"chapters"`  // of the first product, iconedge
	// tests that the first product passes and the default setting fails
	Besides []string `json:"besides"`
}

// A product is one row of the table.
type product struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Date    string `json:"date,omitempty"`
	counts
}

type chapter struct {
	Name string `json:"name"`
	counts
}

// counts holds a count for each of the suite's three kinds of tests.
type counts struct {
	Required count `json:"required,omitzero"`
	Optimal  count `json:"optimal,omitzero"`
	Check    count `json:"check,omitzero"`
}

type count struct {
	Of     int `json:"of"`
	Passed int `json:"passed"`
	Alone  int `json:"alone"` // passed, whatever the result of the tests that they depend on
}

func (c count) String() string {
	switch {
	case c.Of == 0:
		return ""
	case c.Passed == c.Alone:
		return fmt.Sprint(c.Passed)
	}
	return fmt.Sprintf("%d (%d)", c.Passed, c.Alone)
}

func (c counts) String() string {
	return fmt.Sprintf("required %v of %d, optimal %v of %d, checks %v of %d", c.Required, c.Required.Of, c.Optimal,
		c.Optimal.Of, c.Check, c.Check.Of)
}

func countsOf(results []caseResult) (c counts) {
	kinds := map[string]*count{"required": &c.Required, "optimal": &c.Optimal, "check": &c.Check}
	for _, r := range results {
		k := kinds[r.Kind]
		k.Of++
		if r.Passed {
			k.Passed++
		}
		if r.Alone {
			k.Alone++
		}
	}
	return c
}

// The names of iconedge's rows.
const (
	rowStrict    = "iconedge, `--store-cookies --client-revalidation`"
	rowByDefault = "iconedge, default"
)

// setDefault writes the row of the default setting below the first row, and the tests that it fails
// in addition.
func (f *figures) setDefault(results []caseResult, besides []string) {
	row := product{Name: rowByDefault, Version: "this tree", counts: countsOf(results)}
	if !slices.ContainsFunc(f.Measured, func(p product) bool { return p.Name == rowByDefault }) {
		f.Measured = slices.Insert(f.Measured, 1, row)
	}
	f.setMeasured(row)
	f.Besides = besides
}

// setOurs writes iconedge's row and the chapters.
func (f *figures) setOurs(results []caseResult) {
	f.setMeasured(product{Name: rowStrict, Version: "this tree", counts: countsOf(results)})
	f.Chapters = nil
	for len(results) > 0 {
		name := results[0].Chapter
		end := slices.IndexFunc(results, func(r caseResult) bool { return r.Chapter != name })
		if end < 0 {
			end = len(results)
		}
		f.Chapters = append(f.Chapters, chapter{name, countsOf(results[:end])})
		results = results[end:]
	}
}

// setMeasured replaces the earlier row of p.
func (f *figures) setMeasured(p product) {
	p.Date = time.Now().UTC().Format(time.DateOnly)
	i := slices.IndexFunc(f.Measured, func(old product) bool { return old.Name == p.Name })
	if i < 0 {
		f.Measured = append(f.Measured, p)
		return
	}
	f.Measured[i] = p
}

func readFigures(t *testing.T) (f figures) {
	t.Helper()
	harness.ReadJSON(t, figuresFile, &f)
	return f
}

// updateFigures changes the figures, and writes them and the page.
func updateFigures(t *testing.T, change func(*figures)) {
	t.Helper()
	f := readFigures(t)
	change(&f)
	harness.WritePage(t, figuresFile, f, pageFile, conformancePage(t, f))
}

// conformancePage returns docs/reference/conformance.md.
func conformancePage(t *testing.T, f figures) []byte {
	t.Helper()
	layout, err := template.ParseFiles(filepath.Join(conformanceDir, "page.md.tmpl"))
	var b strings.Builder
	if err == nil {
		err = layout.Execute(&b, struct {
			figures
			Failures []failure
		}{f, failures(readKnown(t))})
	}
	if err != nil {
		t.Fatalf("writing the page: %v", err)
	}
	return []byte(b.String())
}

// A failure is a reason with the tests that fail for it.
type failure struct{ Tests, Reason string }

func failures(known map[string]string) (list []failure) {
	ids := map[string][]string{}
	for id, reason := range known {
		if reason != "" {
			ids[reason] = append(ids[reason], "`"+id+"`")
		}
	}
	for reason, tests := range ids {
		slices.Sort(tests)
		list = append(list, failure{strings.Join(tests, ", "), reason})
	}
	slices.SortFunc(list, func(a, b failure) int { return strings.Compare(a.Tests, b.Tests) })
	return list
}

// TestConformancePage: docs/reference/conformance.md has the figures and reasons of the tree, and
// the version of the suite that the tree pins.
func TestConformancePage(t *testing.T) {
	f := readFigures(t)
	golden.Check(t, pageFile, conformancePage(t, f))
	pins, err := os.ReadFile(filepath.Join("..", "..", "tools", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if pin := fmt.Sprintf(`"http-cache-tests": %q`, f.Suite); !strings.Contains(string(pins), pin) {
		t.Errorf("the figures are not of the suite that tools/package.json pins: it has no %s", pin)
	}
}
