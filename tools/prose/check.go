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
		comments := wide(src)
		for _, n := range slices.Sorted(maps.Keys(comments)) {
			add(n, fmt.Sprintf("comment of %d columns; wrap it at %d", comments[n], maxColumns))
		}
	}
	lines := map[int]string{}
	switch {
	case path.Ext(file) == ".go":
		lines = unreadable(file, src)
	case path.Ext(file) == ".md" && !written.MatchString(file):
		lines = longText(src)
	}
	for _, n := range slices.Sorted(maps.Keys(lines)) {
		add(n, lines[n])
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
	case strings.Contains(file, "origin/site/assets/"): // built from site/src
		return nil
	case ext == ".txt" && strings.Contains(file, "testdata/"):
		return marked(src, lineComment)
	case ext == ".go":
		return slices.Concat(goComments(src), goStrings(src), goNames(src))
	case ext == ".md", strings.HasSuffix(base, ".md.tmpl"):
		return markdown(src)
	case ext == ".ts", ext == ".tsx", ext == ".jsx", ext == ".mjs", ext == ".js":
		return append(marked(src, jsComment), jsStrings(src)...)
	case ext == ".css":
		return marked(src, jsComment)
	case ext == ".html":
		return html(src)
	case ext == ".yaml", ext == ".yml":
		return append(marked(src, hashComment), yamlTexts(src)...)
	case ext == ".json":
		return jsonTexts(src)
	case slices.Contains(hashed, ext), base == "Makefile", base == "Containerfile":
		return marked(src, hashComment)
	}
	return nil
}

// hashed has the extensions of other files whose comments begin with a number sign.
var hashed = []string{".sh", ".service", ".socket", ".env", ".example", ".conf", ".config", ".cfg", ".vcl", ".tpl", ".list"}

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

// goStrings returns the string literals of Go source that are phrases: log messages, errors, help,
// descriptions of metrics and of the API, names of cases.
func goStrings(src string) (all []passage) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && phrase(s) {
				all = append(all, passage{files.Position(lit.Pos()).Line, code.ReplaceAllString(s, "`code`")})
			}
		}
		return true
	})
	return all
}

// goNames returns the names that Go source declares at its top level, each as words: maxColumns is
// the passage "max columns".
func goNames(src string) (all []passage) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			all = append(all, passage{files.Position(id.Pos()).Line, words(id.Name)})
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					add(spec.Names...)
				}
			}
		}
	}
	return all
}

// words splits a name in mixed caps.
func words(name string) string { return strings.ToLower(caps.ReplaceAllString(name, "$1 $2")) }

var caps = regexp.MustCompile(`(\pL|\pN)(\p{Lu}\p{Ll})`)

// phrase reports whether a string literal may be prose: it has words, and is no markup or pattern.
func phrase(s string) bool { return strings.Contains(s, " ") && prosaic.MatchString(s) }

var prosaic = regexp.MustCompile(`\pL{2,},? \pL`)

// jsStrings returns the string literals of JavaScript and TypeScript that are phrases.
func jsStrings(src string) (all []passage) {
	for n, line := range strings.Split(src, "\n") {
		if comment := jsComment.FindStringIndex(line); comment != nil {
			line = line[:comment[0]]
		}
		for _, lit := range jsLiteral.FindAllString(line, -1) {
			if phrase(lit) {
				all = append(all, passage{n + 1, lit[1 : len(lit)-1]})
			}
		}
	}
	return all
}

var jsLiteral = regexp.MustCompile("'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`(?:[^`\\\\]|\\\\.)*`")

// html returns the texts of a page or template, and its attributes that people read or hear.
func html(src string) (all []passage) {
	src = action.ReplaceAllStringFunc(src, func(a string) string { return " …" + strings.Repeat("\n", strings.Count(a, "\n")) })
	for n, line := range strings.Split(src, "\n") {
		for _, attribute := range spoken.FindAllStringSubmatch(line, -1) {
			all = append(all, passage{n + 1, attribute[1]})
		}
		for _, text := range strings.Split(block.ReplaceAllString(line, "\x00"), "\x00") {
			if text = strings.TrimSpace(tag.ReplaceAllString(text, "")); phrase(text) {
				all = append(all, passage{n + 1, text})
			}
		}
	}
	return all
}

var (
	action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	spoken = regexp.MustCompile(`(?:alt|title|aria-label|placeholder|content)="([^"]* [^"]*)"`)
	block  = regexp.MustCompile(`</?(?:p|h\d|li|ul|div|td|th|label|button|option|small|section|title)\b[^>]*>`)
	tag    = regexp.MustCompile(`<[^>]*>`)
)

// yamlTexts returns the values of YAML that are phrases, with the lines that continue them.
func yamlTexts(src string) (all []passage) {
	last := -1
	for n, line := range strings.Split(src, "\n") {
		trimmed := strings.TrimSpace(line)
		value := yamlKey.ReplaceAllString(trimmed, "")
		switch {
		case strings.HasPrefix(trimmed, "#"), trimmed == "":
			continue
		case value == trimmed && last == n-1 && len(all) > 0:
			all[len(all)-1].text += " " + value
		case phrase(value):
			all = append(all, passage{n + 1, value})
		default:
			continue
		}
		last = n
	}
	return all
}

var yamlKey = regexp.MustCompile(`^(?:- )*"?[\w./$-]+"?:(?: +|$)|^- `)

// jsonTexts returns the descriptions and titles in JSON.
func jsonTexts(src string) (all []passage) {
	for n, line := range strings.Split(src, "\n") {
		for _, m := range jsonText.FindAllStringSubmatch(line, -1) {
			all = append(all, passage{n + 1, m[1]})
		}
	}
	return all
}

var jsonText = regexp.MustCompile(`"(?:description|title|summary|text)": *"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"`)

// wide returns the width of each comment line that is too wide, by line number. It skips
// directives, and lines with a URL or a table, which can't be wrapped.
func wide(src string) map[int]int {
	found := map[int]int{}
	lines := strings.Split(src, "\n")
	for n := range commentLines(src) {
		line := lines[n-1]
		if columns(line) > maxColumns && !strings.Contains(line, "://") && !strings.Contains(line, "//go:") &&
			!strings.Contains(line, "//\t") {
			found[n] = columns(line)
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
