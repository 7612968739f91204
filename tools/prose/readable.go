package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxCode      = 140 // columns of a line of Go
	maxText      = 120 // columns of a line of Markdown
	maxOperators = 4   // && and || in one condition
	unbreakable  = 60  // columns of a string without spaces that a line may be longer for
	// maxParameters is the number of parameters of a function besides those that everybody knows: a
	// context and a testing.TB in front.
	maxParameters = 5
	// maxBooleans is the number of true and false in one call, or in one row of a table without the
	// names of its fields.
	maxBooleans = 1
)

// longLists has the functions that may have more parameters, by file and name, with the reason why
// a struct would not name them better.
var longLists = map[string]string{
	"icon/raster/draw.go nested": "what the walk over the tree hands down, in one call",
	"icon/raster/matrix.go fit":  "a box, as in SVG: x, y, width, height",
	"icon/raster/path.go arc":    "the arguments of the command in path data, in their order",
	"icon/raster/path.go rect":   "the attributes of a rectangle, in their order",
	"origin/shape/path.go arc":   "the arguments of the command in path data, in their order",
}

// written matches the documents that programs write, whose lines are as long as their templates'.
var written = regexp.MustCompile(`testdata/|^deploy/helm/|^docs/reference/` +
	`(applications|config|config-file|conformance|faults|fleet|licences|metrics|performance|plugins|site|performance/lab-book)\.md$`)

// columns returns the width of a line.
func columns(line string) int {
	return utf8.RuneCountInString(line) + strings.Count(line, "\t")*(tabColumns-1)
}

// unreadable returns the findings about lines, conditions, parameters and booleans of Go source, by
// line number. It skips lines with a raw string, a long word or a URL, which can't be wrapped.
// Conditions of tests that compare a result with all its wanted parts read as a list, so it does
// not count theirs.
func unreadable(file, src string) map[int]string {
	found := map[int]string{}
	isTest := strings.HasSuffix(file, "_test.go")
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil // the compiler reports it
	}
	raw := map[int]bool{}
	inside := map[ast.Node]bool{} // parts of a condition that has been counted
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if strings.HasPrefix(n.Value, "`") || len(n.Value) > unbreakable && !strings.Contains(n.Value, " ") {
				for l := files.Position(n.Pos()).Line; l <= files.Position(n.End()).Line; l++ {
					raw[l] = true
				}
			}
		case *ast.FuncDecl:
			if count := parameters(n.Type.Params); count > maxParameters && longLists[file+" "+n.Name.Name] == "" {
				found[files.Position(n.Pos()).Line] = fmt.Sprintf("%s has %d parameters; name them by a struct", n.Name.Name, count)
			}
		case *ast.CallExpr:
			if count := booleans(n.Args); count > maxBooleans && !mayList(n) {
				found[files.Position(n.Pos()).Line] = fmt.Sprintf("call with %d booleans; name them by constants or a struct", count)
			}
		case *ast.CompositeLit:
			if count := booleans(n.Elts); count > maxBooleans && count < len(n.Elts) {
				found[files.Position(n.Pos()).Line] = fmt.Sprintf("row with %d booleans; name its fields", count)
			}
		case *ast.BinaryExpr:
			if isTest || inside[n] {
				break
			}
			if count := operators(n, inside); count > maxOperators {
				found[files.Position(n.Pos()).Line] = fmt.Sprintf("condition with %d operators; name its parts, or split it", count)
			}
		}
		return true
	})
	for i, line := range strings.Split(src, "\n") {
		if n := columns(line); n > maxCode && !raw[i+1] && !strings.Contains(line, "://") && !strings.HasPrefix(line, "//\t") {
			found[i+1] = fmt.Sprintf("line of %d columns; wrap it at %d", n, maxCode)
		}
	}
	return found
}

// lists has the functions that take several booleans, by name, with the reason.
var lists = map[string]string{
	"Add":            "of a fuzz target: the arguments of one run",
	"CompareAndSwap": "the old and the new value, as everybody knows",
	"arc":            "the arguments of the command in path data, in their order",
	"calls":          "what a limit answers to each call, in their order",
}

// mayList reports whether a call may have several booleans.
func mayList(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return lists[f.Name] != ""
	case *ast.SelectorExpr:
		return lists[f.Sel.Name] != ""
	}
	return false
}

// parameters returns the number of parameters besides a context and a testing.TB in front.
func parameters(list *ast.FieldList) int {
	n := list.NumFields()
	for _, field := range list.List {
		known := field.Type
		if pointer, ok := known.(*ast.StarExpr); ok {
			known = pointer.X
		}
		selector, ok := known.(*ast.SelectorExpr)
		if !ok {
			break
		}
		in, ok := selector.X.(*ast.Ident)
		if !ok || in.Name != "testing" && (in.Name != "context" || selector.Sel.Name != "Context") {
			break
		}
		n -= max(len(field.Names), 1)
	}
	return n
}

// booleans returns the number of true and false in a list.
func booleans(list []ast.Expr) (n int) {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
			n++
		}
	}
	return n
}

// operators returns the number of && and || in a condition, without those of functions in it and
// those between comparisons with characters, which are read as a class. It adds the parts to
// inside.
func operators(condition ast.Expr, inside map[ast.Node]bool) (n int) {
	ast.Inspect(condition, func(part ast.Node) bool {
		b, ok := part.(*ast.BinaryExpr)
		if !ok {
			_, isFunction := part.(*ast.FuncLit)
			return !isFunction
		}
		if inside[b] = true; (b.Op == token.LAND || b.Op == token.LOR) && !comparesCharacter(b.Y) {
			n++
		}
		return true
	})
	return n
}

// comparesCharacter reports whether an expression consists of comparisons with characters.
func comparesCharacter(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return comparesCharacter(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			return comparesCharacter(e.X) && comparesCharacter(e.Y)
		}
		return isCharacter(e.X) || isCharacter(e.Y)
	}
	return false
}

func isCharacter(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.CHAR
}

// longCode matches a code span that is not broken over lines, such as a command.
var longCode = regexp.MustCompile("`[^`]{80,}`")

// longText returns the widths of the lines of a document that are too wide, by line number. It
// skips code, comments, tables, and lines with a URL.
func longText(src string) map[int]string {
	found := map[int]string{}
	fence, comment := "", false
	for i, line := range strings.Split(src, "\n") {
		trimmed := strings.TrimSpace(line)
		if comment = comment || strings.HasPrefix(trimmed, "<!--"); comment {
			comment = !strings.Contains(line, "-->")
			continue
		}
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:strings.LastIndex(trimmed, "`")+1]
		case strings.HasPrefix(trimmed, "|"), strings.Contains(line, "://"), longCode.MatchString(line):
		case columns(line) > maxText:
			found[i+1] = fmt.Sprintf("line of %d columns; wrap it at %d", columns(line), maxText)
		}
	}
	return found
}
