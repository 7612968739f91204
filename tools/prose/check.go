package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns = 100 // of a comment line; a tab counts as tabColumns
	tabColumns = 4
)

// A rule describes a construction that sentences must not have, with the advice for its finding.
type rule struct {
	pattern *regexp.Regexp
	// a match of pattern inside a match of except is no finding; nil: no exceptions
	except  *regexp.Regexp
	instead string
}

// parseRules reads lines of `pattern => instead`, each followed by any number of `except pattern`.
// Patterns are RE2, without regard to case. Lines that begin with # are comments.
func parseRules(text string) ([]rule, error) {
	var rules []rule
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if except, ok := strings.CutPrefix(line, "except "); ok && len(rules) > 0 {
			re, err := regexp.Compile("(?i)" + except)
			if err != nil {
				return nil, fmt.Errorf("rules.txt:%d: %w", n+1, err)
			}
			rules[len(rules)-1].except = re
			continue
		}
		pattern, instead, ok := strings.Cut(line, " => ")
		re, err := regexp.Compile("(?i)" + pattern)
		if !ok || err != nil {
			return nil, fmt.Errorf("rules.txt:%d: want PATTERN => INSTEAD: %w", n+1, err)
		}
		rules = append(rules, rule{pattern: re, instead: instead})
	}
	return rules, nil
}

// broken returns the first match of the rule in a text, except those that the rule allows.
func (r rule) broken(text string) (match string, ok bool) {
	allowed := [][]int{}
	if r.except != nil {
		allowed = r.except.FindAllStringIndex(text, -1)
	}
next:
	for _, at := range r.pattern.FindAllStringIndex(text, -1) {
		for _, a := range allowed {
			if a[0] <= at[0] && at[1] <= a[1] {
				continue next
			}
		}
		return text[at[0]:at[1]], true
	}
	return "", false
}

// A passage is prose from a file: a comment, a paragraph or a message, with its line.
type passage struct {
	line int
	text string
}

// check returns the findings in one file. Files of kinds that passages does not know have none.
func check(file, src string, rules []rule) []string {
	var found []string
	add := func(line int, finding string) {
		found = append(found, fmt.Sprintf("%s:%d: %s", file, line, finding))
	}
	if path.Ext(file) == ".go" {
		columns := wide(src)
		for _, n := range slices.Sorted(maps.Keys(columns)) {
			add(n, fmt.Sprintf("comment of %d columns; wrap it at %d", columns[n], maxColumns))
		}
	}
	for _, p := range passages(file, src) {
		for _, r := range rules {
			if match, ok := r.broken(p.text); ok {
				add(p.line, strconv.Quote(match)+"; "+r.instead)
			}
		}
	}
	return found
}

// passages returns the prose of a file, by its kind.
func passages(file, src string) []passage {
	base := path.Base(file)
	switch ext := path.Ext(file); {
	case base == "package-lock.json", strings.Contains(file, "tools/prose/"):
		return nil
	case ext == ".txt" && strings.Contains(file, "testdata/"):
		return marked(src, lineComment)
	case ext == ".go":
		return append(goComments(src), goMessages(src)...)
	case ext == ".md":
		return markdown(src)
	case ext == ".ts", ext == ".tsx", ext == ".mjs", ext == ".js", ext == ".css":
		return marked(src, jsComment)
	case ext == ".yaml", ext == ".yml", ext == ".sh", ext == ".service", ext == ".conf", base == "Makefile", base == "Containerfile":
		return marked(src, hashComment)
	}
	return nil
}

var (
	jsComment   = regexp.MustCompile(`(?:^|\s)(?://|/?\*+)\s(.*)$`)
	lineComment = regexp.MustCompile(`^#+\s+(.*)$`)
	hashComment = regexp.MustCompile(`(?:^|\s)#+\s(.*)$`)
)

// marked returns the comments that a regular expression finds in lines, neighbouring ones joined,
// because a construction may run over the end of a line.
func marked(src string, comment *regexp.Regexp) (all []passage) {
	last := -1
	for n, line := range strings.Split(src, "\n") {
		m := comment.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if last == n-1 && len(all) > 0 {
			all[len(all)-1].text += " " + m[1]
		} else {
			all = append(all, passage{n + 1, m[1]})
		}
		last = n
	}
	return all
}

// goComments returns the comments of Go source; lines of one group are joined.
func goComments(src string) (all []passage) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil // the compiler reports it
	}
	for _, g := range f.Comments {
		all = append(all, passage{files.Position(g.Pos()).Line, strings.Join(strings.Fields(g.Text()), " ")})
	}
	return all
}

// messageCalls matches the functions whose texts people read: logs, errors, problems and flags.
var messageCalls = regexp.MustCompile(`^(Debug|Info|Warn|Error|Errorf|Log|LogAttrs|New|NotFound|BadParameter|Because|With|` +
	`StringVar|BoolVar|IntVar|Int64Var|UintVar|Uint64Var|DurationVar|Float64Var|Var|Func|BoolFunc|TextVar|` +
	`NewDesc|Fatal|Fatalf|Skip|Skipf)$`)

// goMessages returns the string literals with a space in the calls of messageCalls, and the Help
// texts of metrics.
func goMessages(src string) (all []passage) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	literals := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(s, " ") {
					all = append(all, passage{files.Position(lit.Pos()).Line, s})
				}
			}
			_, nested := n.(*ast.FuncLit)
			return !nested
		})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && messageCalls.MatchString(sel.Sel.Name) {
				for _, arg := range n.Args {
					literals(arg)
				}
				return false
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Help" {
				literals(n.Value)
				return false
			}
		}
		return true
	})
	return all
}

// wide returns the width of each comment line that is too wide, by line number. It skips
// directives, and lines with a URL or a table, which can't be wrapped.
func wide(src string) map[int]int {
	found := map[int]int{}
	lines := strings.Split(src, "\n")
	for n := range commentLines(src) {
		line := lines[n-1]
		columns := utf8.RuneCountInString(line) + strings.Count(line, "\t")*(tabColumns-1)
		if columns > maxColumns && !strings.Contains(line, "://") && !strings.Contains(line, "//go:") && !strings.Contains(line, "//\t") {
			found[n] = columns
		}
	}
	return found
}

// commentLines returns the numbers of the lines that have a comment.
func commentLines(src string) map[int]bool {
	lines := map[int]bool{}
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.COMMENT {
			first := file.Line(pos)
			for n := range strings.Count(lit, "\n") + 1 {
				lines[first+n] = true
			}
		}
	}
}

// markdown returns the paragraphs of a document, without code. Generated tables count too: their
// texts come from programs, which must write plain English as well.
func markdown(src string) (all []passage) {
	fenced, open := false, false
	for n, line := range strings.Split(src, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fenced, open = !fenced, false
			continue
		}
		starts := strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "#")
		switch {
		case fenced:
		case trimmed == "":
			open = false
		case open && !starts:
			all[len(all)-1].text += " " + trimmed
		default:
			all = append(all, passage{n + 1, trimmed})
			open = true
		}
	}
	for i := range all {
		all[i].text = code.ReplaceAllString(all[i].text, "`code`")
	}
	return all
}

var code = regexp.MustCompile("`[^`]*`")
