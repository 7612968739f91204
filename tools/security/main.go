// Command security writes the table of docs/reference/security.md from the output of the tests, so
// that the page claims only tested behaviour.
//
//	go test -json ./... | go run -C tools ./security ../docs/reference/security.md
//
// It reads the events of `go test -json` and counts the tests of each attack (attacks.txt has the
// attacks, with their packages and tests). It writes the table between the two marks in the
// document. If a row has no test, or a failed one, it reports an error and does not change the
// document.
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"
)

//go:embed attacks.txt
var attacks string

const (
	begin = "<!-- the table: make security -->\n"
	end   = "<!-- end of the table -->\n"
)

// A row is one attack, with the results of its tests.
type row struct {
	name, outcome         string
	packages              []string
	tests                 *regexp.Regexp
	passed, failed, skips int
	faults                []string // the names of the tests that did not pass
}

// An event is a line of `go test -json` (cmd/test2json).
type event struct{ Action, Package, Test string }

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Print("usage: go test -json ./... | security FILE")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(events io.Reader, file string) error {
	rows, err := readRows(attacks)
	if err != nil {
		return err
	}
	if err := count(events, rows); err != nil {
		return err
	}
	doc, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	table, err := write(rows)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(doc), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table", file)
	}
	return os.WriteFile(file, []byte(head+begin+table+end+tail), 0o644)
}

// readRows parses lines of four parts: attack | outcome | packages below the module's root,
// separated by commas | regular expression for the names of its tests.
func readRows(text string) (rows []*row, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, " | ", 4)
		if len(parts) != 4 {
			return nil, fmt.Errorf("attacks.txt: %q has no four parts", line)
		}
		tests, err := regexp.Compile(parts[3])
		if err != nil {
			return nil, fmt.Errorf("attacks.txt: %w", err)
		}
		rows = append(rows, &row{name: parts[0], outcome: parts[1], packages: strings.Split(parts[2], ","), tests: tests})
	}
	return rows, nil
}

// count adds each test without subtests to the first row that matches it.
func count(events io.Reader, rows []*row) error {
	type name struct{ pkg, test string }
	ends, parents := map[name]string{}, map[name]bool{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20) // the output of a test may be long
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue
		}
		switch e.Action {
		case "pass", "fail", "skip":
			// A package may run its tests in two ways, and skip some of them the second time.
			n := name{e.Package, e.Test}
			ends[n] = e.Action + ends[n]
		}
		for i, c := range e.Test {
			if c == '/' {
				parents[name{e.Package, e.Test[:i]}] = true
			}
		}
	}
	for n, actions := range ends {
		if parents[n] {
			continue
		}
		for _, r := range rows {
			if r.has(n.pkg) && r.tests.MatchString(n.test) {
				r.add(n.test, actions)
				break
			}
		}
	}
	return lines.Err()
}

// has reports whether the tests of a package count.
func (r *row) has(pkg string) bool {
	return slices.ContainsFunc(r.packages, func(p string) bool { return strings.HasSuffix(pkg, "/"+p) })
}

// add counts a test by the actions that ended its runs, one after the other.
func (r *row) add(test, actions string) {
	switch {
	case strings.Contains(actions, "fail"):
		r.failed++
	case strings.Contains(actions, "pass"):
		r.passed++
		return
	default:
		r.skips++
	}
	r.faults = append(r.faults, test)
}

func write(rows []*row) (string, error) {
	var b strings.Builder
	var errs []error
	total := 0
	b.WriteString("\n| attack | cases | held | what happens to it | tests |\n|---|---:|---:|---|---|\n")
	for _, r := range rows {
		if r.failed > 0 || r.skips > 0 || r.passed == 0 {
			errs = append(errs, fmt.Errorf("%s: %d tests passed, %d failed, %d were skipped: %q", r.name, r.passed,
				r.failed, r.skips, r.faults))
		}
		total += r.passed
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s `%s` |\n", r.name, r.passed+r.failed, r.passed, r.outcome,
			strings.Join(r.packages, ", "), strings.ReplaceAll(r.tests.String(), "|", `\|`))
	}
	fmt.Fprintf(&b, "| **all** | %d | %d | | |\n\n", total, total)
	return b.String(), errors.Join(errs...)
}
