package iconedge

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

// mostWiring limits the lines of package edge itself, without tests. Files, lines and fields of the
// other packages are reported, and not limited: limits made people paste well-named files together.
const mostWiring = 800

// figures describes one package without its tests.
type figures struct {
	files, lines, exported int
	largest                string // the type with the most fields
	fields                 int
}

// docs/explain/architecture.md has the figures of the edge's packages.
func TestFigures(t *testing.T) {
	const page = "docs/explain/architecture.md"
	packages := map[string]*figures{}
	err := filepath.WalkDir("edge", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if packages[dir] == nil {
			packages[dir] = &figures{}
		}
		return packages[dir].add(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	table.WriteString("| package | files | lines | exported names | largest type, fields |\n|---|---|---|---|---|\n")
	names := make([]string, 0, len(packages))
	for name := range packages {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := packages[name]
		fmt.Fprintf(&table, "| `%s` | %d | %d | %d | %s, %d |\n", name, f.files, f.lines, f.exported, f.largest, f.fields)
	}
	if lines := packages["edge"].lines; lines > mostWiring {
		t.Errorf("edge has %d lines; at most %d are allowed", lines, mostWiring)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- figures -->\n", "<!-- end of the figures -->\n"
	before, rest, found := bytes.Cut(text, []byte(begin))
	_, after, ends := bytes.Cut(rest, []byte(end))
	if !found || !ends {
		t.Fatalf("%s has no place for the figures", page)
	}
	golden.Check(t, page, slices.Concat(before, []byte(begin), table.Bytes(), []byte(end), after))
}

// add counts a file.
func (f *figures) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f.files++
	f.lines += bytes.Count(text, []byte{'\n'})
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f.name(d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				f.spec(spec)
			}
		}
	}
	return nil
}

func (f *figures) spec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			f.name(name)
		}
	case *ast.TypeSpec:
		f.name(spec.Name)
		if s, ok := spec.Type.(*ast.StructType); ok && s.Fields.NumFields() > f.fields {
			f.largest, f.fields = spec.Name.Name, s.Fields.NumFields()
		}
	}
}

func (f *figures) name(name *ast.Ident) {
	if name.IsExported() {
		f.exported++
	}
}
