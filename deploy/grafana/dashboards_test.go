package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommitted: the committed files equal the output of the tables, and there are no others.
func TestCommitted(t *testing.T) {
	for _, b := range boards {
		want, err := b.json()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("dashboards", b.name+".json")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("dashboards/%s.json does not equal its table (%v): go run ./deploy/grafana", b.name, err)
		}
	}
	if files, err := filepath.Glob(filepath.Join("dashboards", "*")); err != nil || len(files) != len(boards) {
		t.Errorf("%d files for %d boards: %v, %v", len(files), len(boards), files, err)
	}
}

// TestWrite: the output of the command is valid JSON, and the same each time.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	for _, b := range boards {
		text, err := os.ReadFile(filepath.Join(dir, b.name+".json"))
		var read any
		if err != nil || json.Unmarshal(text, &read) != nil {
			t.Errorf("%s: %v", b.name, err)
		}
	}
	if err := write(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that is not there is no error")
	}
}

// TestPanels: each panel has a description, a unit and rising thresholds, and no abbreviation is
// left in its queries.
func TestPanels(t *testing.T) {
	for _, b := range boards {
		if b.about == "" || len(b.rows) < 3 {
			t.Errorf("%s: %d rows, about %q", b.name, len(b.rows), b.about)
		}
		for _, r := range b.rows {
			for _, p := range r.panels {
				if p.title == "" || p.about == "" || p.unit == "" || len(p.queries) == 0 {
					t.Errorf("%s / %s / %q: a panel has a title, a description, a unit and a query", b.name, r.title, p.title)
				}
				if !slices.IsSortedFunc(p.steps, func(a, b step) int { return int(a.from*1e6) - int(b.from*1e6) }) {
					t.Errorf("%s / %s: thresholds %v do not rise", b.name, p.title, p.steps)
				}
				for _, q := range p.queries {
					if strings.Contains(q.expr, "@") {
						t.Errorf("%s / %s: %s", b.name, p.title, q.expr)
					}
				}
				if p.kind != "table" && p.kind != "stat" && len(p.queries) > 1 &&
					slices.ContainsFunc(p.queries, func(q query) bool { return q.legend == "" }) {
					t.Errorf("%s / %s: of several lines each has a name", b.name, p.title)
				}
			}
		}
	}
}

// TestVariables: each variable that an expression uses can be selected on its board.
func TestVariables(t *testing.T) {
	used := regexp.MustCompile(`\$(\w+)`)
	with := map[string]bool{} // the boards with a selection of sites
	for _, b := range boards {
		known := map[string]bool{"__rate_interval": true}
		for _, v := range b.variables() {
			known[v.(object)["name"].(string)] = true
		}
		with[b.name] = known["site"]
		for _, r := range b.rows {
			for _, p := range r.panels {
				for _, q := range p.queries {
					for _, m := range used.FindAllStringSubmatch(q.expr, -1) {
						if !known[m[1]] {
							t.Errorf("%s / %s: no variable %s", b.name, p.title, m[1])
						}
					}
				}
			}
		}
	}
	if !with["sites"] || with["fleet"] {
		t.Errorf("a selection of sites is on %v", with)
	}
}

// TestGrid: panels do not overlap or exceed the width, and ids are unique in a board.
func TestGrid(t *testing.T) {
	for _, b := range boards {
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range b.panels() {
			m := p.(object)
			at, title := m["gridPos"].(object), m["title"].(string)
			if id := m["id"].(int); ids[id] {
				t.Errorf("%s: two panels have the id %d", b.name, id)
			} else {
				ids[id] = true
			}
			for x := at["x"].(int); x < at["x"].(int)+at["w"].(int); x++ {
				for y := at["y"].(int); y < at["y"].(int)+at["h"].(int); y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %q lies on %q at column %d", b.name, title, other, x)
					}
					taken[[2]int{x, y}] = title
				}
			}
		}
	}
}

// TestLinks: every page and board that a board links to exists.
func TestLinks(t *testing.T) {
	page := regexp.MustCompile(regexp.QuoteMeta(runbooks) + `(\w+)\.md`)
	other := regexp.MustCompile(`/d/iconedge-(\w+)`)
	for _, b := range boards {
		text, err := b.json()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", "..", "docs", "how-to", "runbooks", string(m[1])+".md")); err != nil {
				t.Errorf("%s: %v", b.name, err)
			}
		}
		seen := map[string]bool{b.name: true}
		for _, m := range other.FindAllSubmatch(text, -1) {
			seen[string(m[1])] = true
		}
		for _, there := range boards {
			if !seen[there.name] {
				t.Errorf("%s does not lead to %s", b.name, there.name)
			}
			delete(seen, there.name)
		}
		if len(seen) > 0 {
			t.Errorf("%s leads to boards that are not there: %v", b.name, seen)
		}
	}
}
