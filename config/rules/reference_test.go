package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/coding"
	"github.com/iconedge/iconedge/edge/upstream/balance"
	"github.com/iconedge/iconedge/test/golden"
)

// docs/reference/config-file.md has the rows of the tables of matches, actions, content codings and
// balancing policies.
func TestReference(t *testing.T) {
	page := filepath.FromSlash("../../docs/reference/config-file.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var codings, policies []config.Term
	for _, c := range coding.All() {
		codings = append(codings, config.Term{Name: c.String(), Help: coding.Rows()[c].Help})
	}
	for _, row := range balance.Rows() {
		policies = append(policies, config.Term{Name: row.Name, Help: row.Help})
	}
	for _, table := range []struct {
		name, head string
		rows       []config.Term
	}{
		{"matches", "| entry | holds when |", Matches()},
		{"actions", "| action | meaning |", Actions()},
		{"codings", "| coding | is |", codings},
		{"policies", "| policy | takes |", policies},
	} {
		begin, end := "<!-- "+table.name+" -->\n", "<!-- end of the "+table.name+" -->\n"
		before, rest, found := strings.Cut(string(text), begin)
		_, after, ends := strings.Cut(rest, end)
		if !found || !ends {
			t.Fatalf("%s has no place for the %s", page, table.name)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n|---|---|\n", table.head)
		for _, row := range table.rows {
			fmt.Fprintf(&b, "| `%s` | %s |\n", row.Name, row.Help)
		}
		text = []byte(before + begin + b.String() + end + after)
	}
	golden.Check(t, page, text)
}

// Each field of a match and of a rule is a row.
func TestTables(t *testing.T) {
	for _, table := range []struct {
		of   any
		rows []config.Term
	}{{config.Entries{}, Matches()}, {config.Rule{}, Actions()}} {
		known := map[string]bool{"match": true, "stop": true}
		for _, row := range table.rows {
			known[row.Name] = row.Help != ""
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(table.of)) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && !known[name] {
				t.Errorf("%s of %T has no row, or one without help", name, table.of)
			}
		}
	}
}

// The hit path answers by an outcome unless an action refuses the client, or only Decide can apply
// it.
func TestOutcomeByActions(t *testing.T) {
	for actions, want := range map[string]bool{
		"cache: on": true, "origin: b": true, "cookies: ignore": true, "ttl: 1m": true, "deny: [10.0.0.0/8]": true,
		"allow: [192.0.2.0/24]": true,
		"deny: [192.0.2.0/24]":  false, "allow: [10.0.0.0/8]": false, "rewrite: /x": true,
		"limit: {rate: 1/1m}": true, "signed: {secret: s}": false,
		"redirect: {to: /x}": true, "respond: {body: x}": true, "signed: {secret: s}, rewrite: /x": false,
	} {
		s := compile(t, "  - {"+actions+"}\n")
		if _, got := s.Outcome(get("/page")); got != want {
			t.Errorf("%s: there is an outcome: %v, want %v", actions, got, want)
		}
	}
}
