package main

import (
	"maps"
	"slices"
	"testing"
)

// Each row is a file of a package, beside the code below, and the lines that have findings.
func TestNames(t *testing.T) {
	const code = `package store

import "net/http"

type Store struct{ MaxBytes int }

func (s *Store) Get(key string) error { return errAbsent }

var errAbsent = http.ErrNoCookie

type embedding struct{ Store }
`
	for _, row := range []struct {
		name, src string
		want      []int
	}{
		{"a name of the package", "// f returns errAbsent.\nfunc f() {}", nil},
		{"a name that is gone", "// f returns errMissing.\nfunc f() {}", []int{3}},
		{"a method that is gone", "// f is Store.Put.\nfunc f() {}", []int{3}},
		{"a method", "// f is Store.Get, (*Store).Get, store.Store.\nfunc f() {}", nil},
		{"a method of an embedded type", "// f is embedding.Get.\nfunc f() {}", nil},
		{"a call", "// f calls gone().\nfunc f() {}", []int{3}},
		{"several", "// f has the Stores.\nfunc f() {}", nil},
		{"a package of the standard library", "// f is http.Handler.\nfunc f() {}", nil},
		{"another name of that package", "// f is http.Handling.\nfunc f() {}", []int{3}},
		{"an exported name of another package", "// f is a GlobList.\nfunc f() {}", nil},
		{"an unexported name of another package", "// f is a globList.\nfunc f() {}", []int{3}},
		{"a field of JSON", "// f is surrogateKeys.\nfunc f() {}", nil},
		{"a file", "// f: see other.go and glob/glob.go.\nfunc f() {}", nil},
		{"a file that is gone", "// f: see gone.go.\nfunc f() {}", []int{3}},
		{"an ordinary word", "// f is JavaScript.\nfunc f() {}", nil},
		{"a host", "// f is example.com.\nfunc f() {}", nil},
		{"a capital", "// f returns Other.\nfunc f() {}", []int{3}},
		{"the capital of a sentence", "// f waits. Other functions don't.\nfunc f() {}", nil},
		{"a type in a sentence", "// f returns a nil Store.\nfunc f() {}", nil},
		{"the name of another function", "// g does it.\nfunc f() {}", []int{3}},
		{"another exported name", "// NewStore does it.\nfunc New() {}", []int{3}},
		{"a name without a capital inside", "// Left returns it.\nfunc New() {}", []int{3}},
		{"a test", "// Left returns it.\nfunc TestNew() {}", nil},
		{"a type in small letters", "// An outcome is it.\ntype Outcome int", []int{3}},
		{"a sentence", "// Each row is one of these.\nvar rows = 1", nil},
		{"one of a group", "// a and b are constants.\nconst (\n\ta = 1\n\tb = 2\n)", nil},
		{"code", "//\tnoName(errMissing)\nfunc f() {}", nil},
		{"a comment in a function", "func f() {\n\t// see noName\n}", []int{4}},
		{"a quoted word", "// f returns \"NoName\" and `NoName`.\nfunc f() {}", nil},
	} {
		files := map[string]string{"store/store.go": code, "store/other.go": "package store\n\n" + row.src,
			"glob/glob.go": "package glob\n\ntype GlobList struct{}\n\ntype globList struct{}\n",
			"api.json":     `{"surrogateKeys": 1}`}
		read := func(file string) (string, error) { return files[file], nil }
		ix, err := newIndex(slices.Collect(maps.Keys(files)), read, "# words\nJavaScript\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(ix.unknown("store/other.go", files["store/other.go"]))); !slices.Equal(got, row.want) {
			t.Errorf("%s: lines %v, want %v", row.name, got, row.want)
		}
	}
}
