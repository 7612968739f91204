package iconedge

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

// The limits of the edge's packages, without their tests. Files, lines and fields are reported, not
// limited: such limits made people paste well-named files together.
const (
	mostWiring  = 900 // lines of package edge itself, with those for programs that embed it
	mostMethods = 40  // of a type
	// mostUp is the greatest part, in percent, of the arrows between the files of a package that
	// run against the order of the files. Packages with fewer than fewArrows may have any part.
	mostUp    = 15
	fewArrows = 20
	untested  = 300 // lines of a package that has no tests of its own, and is none for tests
)

// larger has today's figures of packages beyond a limit. They may only become smaller. Those of
// connections (h1, h2) are state machines whose files all work on one record.
var larger = map[string]struct{ methods, up int }{
	"edge/access":       {up: 5},
	"edge/cache":        {methods: 60, up: 20},
	"edge/cache/disk":   {methods: 52, up: 9},
	"edge/cache/memory": {up: 7},
	"edge/h1":           {methods: 76, up: 14},
	"edge/h2":           {methods: 89, up: 38},
	"edge/listen":       {up: 28},
	"edge/observe":      {methods: 42},
	"edge/ratelimit":    {up: 6},
	"edge/upstream":     {up: 35},
}

const architecture = "docs/explain/architecture.md"

// A figures describes one package without its tests.
type figures struct {
	files            map[string]*ast.File
	lines, testLines int
	methods          map[string]int // by type
	arrows, up       int
	imports          map[string]bool // rooms of the edge
}

// edgePackages returns the figures of the edge's packages, by their paths.
func edgePackages(t *testing.T) map[string]*figures {
	t.Helper()
	packages := map[string]*figures{}
	err := filepath.WalkDir("edge", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		dir := path.Dir(filepath.ToSlash(name))
		if packages[dir] == nil {
			packages[dir] = &figures{files: map[string]*ast.File{}, methods: map[string]int{}, imports: map[string]bool{}}
		}
		return packages[dir].add(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// docs/explain/architecture.md has the figures of the edge's packages.
func TestFigures(t *testing.T) {
	packages := edgePackages(t)
	var table bytes.Buffer
	table.WriteString("| package | files | lines | tests beside | most methods | arrows, up | imports of the edge's " +
		"rooms |\n|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		f := packages[name]
		f.countArrows()
		largest, methods := f.mostMethods()
		fmt.Fprintf(&table, "| `%s` | %d | %d | %s | %s %d | %d, %d | %s |\n", name, len(f.files), f.lines,
			map[bool]string{true: "yes", false: "no"}[f.testLines > 0], largest, methods, f.arrows, f.up,
			strings.Join(slices.Sorted(maps.Keys(f.imports)), ", "))
		if methods > max(mostMethods, larger[name].methods) {
			t.Errorf("%s.%s has %d methods; at most %d are allowed", name, largest, methods, mostMethods)
		}
		if f.arrows >= fewArrows && f.up > max(mostUp*f.arrows/100, larger[name].up) {
			t.Errorf("%d of the %d arrows between the files of %s run up; at most %d %% may", f.up, f.arrows, name, mostUp)
		}
		if f.lines > untested && f.testLines == 0 && !strings.HasSuffix(name, "test") {
			t.Errorf("%s has %d lines and no tests beside them", name, f.lines)
		}
	}
	if lines := packages["edge"].lines; lines > mostWiring {
		t.Errorf("edge has %d lines; at most %d are allowed", lines, mostWiring)
	}
	replaceBetween(t, "figures", table.String())
}

// Each package of imports_test.go has a row in docs/explain/architecture.md, whose last column is
// made of its entry there.
func TestRooms(t *testing.T) {
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- rooms -->\n")
	rest, _, _ = strings.Cut(rest, "<!-- end of the rooms -->\n")
	var table strings.Builder
	seen := map[string]bool{}
	for row := range strings.Lines(rest) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `") {
			table.WriteString(row)
			continue
		}
		name := strings.Trim(cells[1], " `")
		allowed, ok := rooms[name]
		if !ok || seen[name] {
			t.Errorf("%s: the row of %s is its second one, or imports_test.go has no entry for it", architecture, name)
		}
		seen[name] = true
		imports := strings.Join(strings.Fields(allowed), ", ")
		fmt.Fprintf(&table, "|%s|%s| %s |\n", cells[1], cells[2], cmp.Or(strings.ReplaceAll(imports, "github.com/", ""), "nothing"))
	}
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		if !seen[name] {
			t.Errorf("%s has no row for %s", architecture, name)
		}
	}
	replaceBetween(t, "rooms", table.String())
}

// way has the arrows of the picture of a request's way: the first room calls the second one.
var way = [][2]string{
	{"listen", "h1"}, {"listen", "h2"}, {"listen", "h3"}, {"h1", "request"}, {"h2", "request"}, {"h3", "request"},
	{"hit", "request"}, {"proxy", "hit"}, {"hit", "represent"}, {"hit", "respond"},
	{"proxy", "own"}, {"proxy", "iconset"}, {"proxy", "forwarded"},
	{"own", "fetch"}, {"iconset", "fetch"}, {"forwarded", "fetch"}, {"fetch", "cache"}, {"fetch", "upstream"},
	{"fetch", "pipeline"}, {"pipeline", "represent"}, {"pipeline", "respond"},
}

// The picture of a request's way has the rooms of way, and each arrow of it is an import of the
// code.
func TestPicture(t *testing.T) {
	packages := edgePackages(t)
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## One request\n\n```\n")
	picture, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatalf("%s has no picture of one request", architecture)
	}
	drawn := map[string]bool{}
	for _, word := range regexp.MustCompile(`\b[a-z][a-z0-9]*\b`).FindAllString(picture, -1) {
		if packages["edge/"+word] != nil {
			drawn[word] = true
		}
	}
	called := map[string]bool{}
	for _, arrow := range way {
		from, to := arrow[0], arrow[1]
		called[from], called[to] = true, true
		if f := packages["edge/"+from]; f == nil || !f.imports[to] {
			t.Errorf("edge/%s does not import edge/%s: the picture of one request in %s is wrong", from, to, architecture)
		}
	}
	if !maps.Equal(drawn, called) {
		t.Errorf("the picture in %s has %v, the test %v", architecture, slices.Sorted(maps.Keys(drawn)), slices.Sorted(maps.Keys(called)))
	}
}

// Each decision of docs/explain/decisions.md stands there once.
func TestDecisions(t *testing.T) {
	text, err := os.ReadFile("docs/explain/decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, entry := range regexp.MustCompile(`(?m)^\*\*\d{4}-\d\d-\d\d · .*?\*\*`).FindAllString(string(text), -1) {
		if seen[entry] {
			t.Errorf("decisions.md has %s twice", entry)
		}
		seen[entry] = true
	}
	if len(seen) < 50 {
		t.Errorf("decisions.md has %d entries, want all decisions", len(seen))
	}
}

// replaceBetween replaces the text of docs/explain/architecture.md between two comments, if the
// test updates golden files, and else compares it.
func replaceBetween(t *testing.T, what, want string) {
	t.Helper()
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+what+" -->\n", "<!-- end of the "+what+" -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no place for the %s", architecture, what)
	}
	golden.Check(t, architecture, []byte(before+begin+want+end+after))
}

// add counts a file.
func (f *figures) add(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	lines := bytes.Count(text, []byte{'\n'})
	if strings.HasSuffix(name, "_test.go") {
		f.testLines += lines
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f.lines += lines
	f.files[filepath.Base(name)] = file
	for _, spec := range file.Imports {
		if room, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"edge/"); ok {
			f.imports[room] = true
		}
	}
	return nil
}

func (f *figures) mostMethods() (name string, most int) {
	for _, t := range slices.Sorted(maps.Keys(f.methods)) {
		if n := f.methods[t]; n > most {
			name, most = t, n
		}
	}
	return name, most
}

// countArrows counts methods, and the arrows between files: one leads from a file to another that
// declares a name which the first file uses. Those of names that several files declare, such as
// methods of different types, do not count. up is the number of arrows against the order of the
// files that has the fewest, as far as against finds it.
func (f *figures) countArrows() {
	names, methods := map[string]string{}, map[string]string{} // name → file; empty: several
	declare := func(in map[string]string, name, file string) {
		if other, ok := in[name]; ok && other != file {
			file = ""
		}
		in[name] = file
	}
	for name, file := range f.files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declare(names, d.Name.Name, name)
					continue
				}
				declare(methods, d.Name.Name, name)
				f.methods[receiver(d.Recv.List[0].Type)]++
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						declare(names, spec.Name.Name, name)
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							declare(names, n.Name, name)
						}
					}
				}
			}
		}
	}
	arrows := map[string]map[string]bool{}
	for name, file := range f.files {
		arrows[name] = map[string]bool{}
		arrow := func(to string) {
			if to != "" && to != name {
				arrows[name][to] = true
			}
		}
		selected := map[*ast.Ident]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				arrow(methods[n.Sel.Name])
				selected[n.Sel] = true
			case *ast.Ident:
				if !selected[n] {
					arrow(names[n.Name])
				}
			}
			return true
		})
		f.arrows += len(arrows[name])
	}
	f.up = against(arrows)
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// against returns how many arrows lead back in an order of their places that has few of such. It
// moves one place at a time to where the fewest arrows lead back, until no move helps.
func against(arrows map[string]map[string]bool) (back int) {
	order := slices.Sorted(maps.Keys(arrows))
	count := func() (n int) {
		for i, from := range order {
			for _, to := range order[:i] {
				if arrows[from][to] {
					n++
				}
			}
		}
		return n
	}
	back = count()
	for better := true; better; {
		better = false
		for _, name := range slices.Clone(order) {
			from := slices.Index(order, name)
			for to := range order {
				order = slices.Insert(slices.Delete(order, from, from+1), to, name)
				if n := count(); n < back {
					back, from, better = n, to, true
					continue
				}
				order = slices.Insert(slices.Delete(order, to, to+1), from, name)
			}
		}
	}
	return back
}
