package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An index has the names that comments of Go source may use: those of the code, of its strings, of
// other languages, and of files.
type index struct {
	folders  map[string]*folder         // of Go source
	packages map[string]map[string]bool // exported names, by the name of the package
	exported map[string]bool            // exported names of every package of the repository
	words    map[string]bool            // of strings and of sources in other languages
	files    map[string]bool            // paths and base names
	ordinary map[string]bool            // words that look like names
}

// A folder has the names of the Go source in it.
type folder struct {
	names   map[string]bool            // every identifier, also those of selectors
	members map[string]map[string]bool // fields and methods, by type
	opaque  map[string]bool            // types that have members of other types
}

// newIndex returns the index of files, whose text read returns. ordinary has a word a line.
func newIndex(files []string, read func(string) (string, error), ordinary string) (*index, error) {
	ix := &index{folders: map[string]*folder{}, packages: map[string]map[string]bool{}, exported: map[string]bool{},
		words: map[string]bool{}, files: map[string]bool{}, ordinary: map[string]bool{}}
	for _, line := range strings.Split(ordinary, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			for _, w := range strings.Fields(line) {
				ix.ordinary[w] = true
			}
		}
	}
	imports := map[string]bool{}
	for _, file := range files {
		ix.files[file], ix.files[path.Base(file)] = true, true
		if !sources[path.Ext(file)] {
			continue
		}
		src, err := read(file)
		if err != nil {
			return nil, err
		}
		if path.Ext(file) != ".go" {
			ix.addWords(src)
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler reports it
		}
		ix.add(path.Dir(file), f)
		for _, spec := range f.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil && !strings.Contains(name, ".") {
				imports[name] = true
			}
		}
	}
	return ix, ix.addStandard(imports)
}

// sources has the extensions of the files whose words are names. Documents have none, because their
// names are as old as those of comments.
var sources = map[string]bool{".go": true, ".ts": true, ".tsx": true, ".js": true, ".jsx": true, ".mjs": true, ".json": true,
	".yaml": true, ".yml": true, ".html": true, ".css": true, ".lua": true, ".py": true, ".tmpl": true, ".conf": true,
	".vcl": true, ".cfg": true, ".txt": true, ".sh": true, ".service": true, ".plist": true}

var identifier = regexp.MustCompile(`[\pL_][\pL\pN_]*`)

func (ix *index) addWords(src string) {
	for _, w := range identifier.FindAllString(src, -1) {
		ix.words[w] = true
	}
}

// add adds the names of a file in the folder dir.
func (ix *index) add(dir string, f *ast.File) {
	in := ix.folders[dir]
	if in == nil {
		in = &folder{names: map[string]bool{}, members: map[string]map[string]bool{}, opaque: map[string]bool{}}
		ix.folders[dir] = in
	}
	exported := ix.packages[f.Name.Name]
	if exported == nil {
		exported = map[string]bool{}
		ix.packages[f.Name.Name] = exported
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			in.names[n.Name] = true
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				ix.addWords(n.Value)
			}
		case *ast.TypeSpec:
			in.addMembers(n)
		case *ast.FuncDecl:
			if t := receiver(n); t != "" {
				in.member(t)[n.Name.Name] = true
			}
		}
		return true
	})
	eachExported(f, func(name string) { exported[name], ix.exported[name] = true, true })
}

// addMembers adds the fields of a struct and the methods of an interface.
func (in *folder) addMembers(spec *ast.TypeSpec) {
	var fields *ast.FieldList
	switch t := spec.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		in.opaque[spec.Name.Name] = true
		return
	}
	members := in.member(spec.Name.Name)
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			in.opaque[spec.Name.Name] = true
		}
		for _, name := range field.Names {
			members[name.Name] = true
		}
	}
}

func (in *folder) member(of string) map[string]bool {
	if in.members[of] == nil {
		in.members[of] = map[string]bool{}
	}
	return in.members[of]
}

// receiver returns the type of a method's receiver, or "".
func receiver(f *ast.FuncDecl) (name string) {
	if f.Recv == nil {
		return ""
	}
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// eachExported calls add for the exported names that a file declares at its top level, and for
// exported fields and methods.
func eachExported(f *ast.File, add func(string)) {
	named := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				add(id.Name)
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			named(d.Name)
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					named(n.Name)
				case *ast.ValueSpec:
					named(n.Names...)
				case *ast.Field:
					named(n.Names...)
				}
				return true
			})
		}
	}
}

// addStandard adds the exported names of packages of the standard library.
func (ix *index) addStandard(imports map[string]bool) error {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("finding the standard library with go env: %w", err)
	}
	root := strings.TrimSpace(string(out))
	for name := range imports {
		dir := filepath.Join(root, "src", filepath.FromSlash(name))
		if _, err := os.Stat(dir); err != nil {
			continue // "C" and "unsafe"
		}
		parsed, err := parser.ParseDir(token.NewFileSet(), dir, func(i fs.FileInfo) bool {
			return !strings.HasSuffix(i.Name(), "_test.go")
		}, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("reading package %s: %w", name, err)
		}
		exported := ix.packages[path.Base(name)]
		if exported == nil {
			exported = map[string]bool{}
			ix.packages[path.Base(name)] = exported
		}
		for _, p := range parsed {
			for _, f := range p.Files {
				eachExported(f, func(name string) { exported[name] = true })
			}
		}
	}
	return nil
}

// check returns the findings about names in the comments of a file.
func (ix *index) check(file, src string) (found []string) {
	if path.Ext(file) != ".go" {
		return nil
	}
	lines := ix.unknown(file, src)
	for _, n := range slices.Sorted(maps.Keys(lines)) {
		found = append(found, fmt.Sprintf("%s:%d: %s", file, n, lines[n]))
	}
	return found
}

// unknown returns the findings about names in the comments of a file, by line number: names that
// the index does not have, and comments of declarations that begin with another name.
func (ix *index) unknown(file, src string) map[int]string {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil // the compiler reports it
	}
	found := map[int]string{}
	in := ix.folders[path.Dir(file)]
	imported := ix.imported(f)
	for _, group := range f.Comments {
		if strings.HasPrefix(group.Text(), "Output:") {
			continue // of an example
		}
		last := "." // the word before
		for _, c := range group.List {
			first := files.Position(c.Pos()).Line
			for n, line := range strings.Split(c.Text, "\n") {
				if noProse.MatchString(line) {
					last = "."
					continue
				}
				text := strings.TrimLeft(line, "/* ")
				words := strings.Fields(quoted.ReplaceAllString(text, "`code`"))
				for i, word := range words {
					inTitle := startsCapital(last) || i+1 < len(words) && startsCapital(words[i+1])
					isImported := imported[strings.TrimRight(word, ".,;:)")]
					if why := ix.doubt(in, word, inTitle || isImported || endsSentence(last)); why != "" {
						found[first+n] = why
					}
					last = word
				}
			}
		}
	}
	for line, why := range ix.misnamed(files, f) {
		found[line] = why
	}
	return found
}

// imported returns the exported names of the packages that a file imports.
func (ix *index) imported(f *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, spec := range f.Imports {
		maps.Copy(names, ix.packages[strings.Trim(path.Base(spec.Path.Value), `"`)])
	}
	return names
}

// noProse matches the lines of comments that are empty, directives, indented blocks or headings.
var noProse = regexp.MustCompile(`^//(\S|\s*$|\s\s|\s#|\t)`)

// quoted matches text in a comment that is no name of the code.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|'[^' ]*'")

var (
	// nameLike matches a name as code writes it: dotted, or with a parenthesis behind it.
	nameLike = regexp.MustCompile(`^([\pL_][\pL\pN_]*)((?:\.[\pL_][\pL\pN_]*)*)(\(\))?$`)
	goFile   = regexp.MustCompile(`^[\w./-]+\.go$`)
	mixed    = regexp.MustCompile(`[\p{Ll}\pN]\p{Lu}`)
	capital  = regexp.MustCompile(`^\p{Lu}\p{Ll}+$`)
)

// startsCapital reports whether a word begins with a capital, as those of titles do.
func startsCapital(word string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(word, "(\"'"))
	return unicode.IsUpper(first)
}

// doubt returns the finding about a word of a comment, or "". mayBeCapital means that the word may
// be an ordinary one although it begins with a capital.
func (ix *index) doubt(in *folder, word string, mayBeCapital bool) string {
	word = strings.Trim(word, "([{*&!?,;:…—–\"'")
	word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "'")
	if strings.HasSuffix(word, ")") && !strings.HasSuffix(word, "()") {
		word = strings.TrimRight(word, ")]}.,;:")
	}
	word = strings.TrimRight(word, ".,;:]}")
	if goFile.MatchString(word) {
		if ix.files[word] || ix.files[path.Base(word)] && !strings.Contains(word, "/") || ix.ordinary[word] {
			return ""
		}
		return strconv.Quote(word) + " is no file of the repository"
	}
	parts := nameLike.FindStringSubmatch(word)
	if parts == nil || ix.ordinary[word] || ix.ordinary[parts[1]+parts[2]] {
		return ""
	}
	name, behind := parts[1], strings.TrimPrefix(parts[2], ".")
	switch {
	case behind != "":
		return ix.doubtDotted(in, name, behind)
	case mixed.MatchString(name) || parts[3] != "":
		if ix.has(in, name) || ix.has(in, strings.TrimSuffix(name, "s")) {
			return ""
		}
	case capital.MatchString(name) && !mayBeCapital:
		if in.names[name] || ix.ordinary[name] || in.names[strings.TrimSuffix(name, "s")] {
			return ""
		}
	default:
		return ""
	}
	return strconv.Quote(name) + " is no name of the code"
}

// has reports whether code in the folder can mean something by a name.
func (ix *index) has(in *folder, name string) bool {
	return in.names[name] || ix.exported[name] || ix.words[name] || ix.ordinary[name] || ix.packages[name] != nil
}

// endsSentence reports whether the next word begins a sentence.
func endsSentence(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(word, `)"'`))
	return strings.ContainsRune(".?!:…-—–|=", last) || !unicode.IsLetter(last) && len(word) == 1
}

// doubtDotted returns the finding about a name of a package, a type or a value with members behind
// it, or "".
func (ix *index) doubtDotted(in *folder, name, behind string) string {
	finding := strconv.Quote(name+"."+behind) + " is no name of the code"
	first, _, _ := strings.Cut(behind, ".")
	if exported, ok := ix.packages[name]; ok && ast.IsExported(first) {
		if exported[first] || exported[strings.TrimSuffix(first, "s")] {
			return ""
		}
		return finding
	}
	if members, ok := in.members[name]; ok {
		if members[first] || in.opaque[name] && ix.has(in, first) {
			return ""
		}
		return finding
	}
	if !mixed.MatchString(name) && !ast.IsExported(first) && !mixed.MatchString(first) {
		return "" // a host, a file, a field of JSON
	}
	if ix.has(in, name) && ix.has(in, first) {
		return ""
	}
	return finding
}

// forTesting matches the names of functions that package testing calls.
var forTesting = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)`)

// misnamed returns the findings about comments of declarations that begin with the name of
// something else.
func (ix *index) misnamed(files *token.FileSet, f *ast.File) map[int]string {
	found := map[int]string{}
	look := func(isFunction bool, doc *ast.CommentGroup, names ...*ast.Ident) {
		if doc == nil || len(names) == 0 || forTesting.MatchString(names[0].Name) {
			return
		}
		words := strings.Fields(doc.Text())
		if len(words) < 2 {
			return
		}
		first := strings.TrimSuffix(strings.TrimRight(words[0], ",:"), "'s")
		article := first == "A" || first == "An" || first == "The"
		if article && strings.EqualFold(words[1], names[0].Name) {
			first, article = words[1], false
		}
		if article || ix.ordinary[first] || identifier.FindString(first) != first {
			return
		}
		for _, name := range names {
			if name.Name == first {
				return
			}
		}
		hasVerb := isFunction && strings.HasSuffix(words[1], "s")
		isName := mixed.MatchString(first) || hasVerb
		if !ast.IsExported(first) || strings.EqualFold(first, names[0].Name) || isName && names[0].IsExported() {
			found[files.Position(doc.Pos()).Line] = fmt.Sprintf("the comment of %s begins with %q", names[0].Name, first)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			look(true, d.Doc, d.Name)
		case *ast.GenDecl:
			var all []*ast.Ident
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					look(false, spec.Doc, spec.Name)
					all = append(all, spec.Name)
				case *ast.ValueSpec:
					all = append(all, spec.Names...)
				}
			}
			look(false, d.Doc, all...)
		}
	}
	return found
}
