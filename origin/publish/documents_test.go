package publish

import (
	"os"
	"reflect"
	"testing"

	"github.com/iconedge/iconedge/origin/search"
)

// keyed is a source of which only the key is known.
type keyed struct {
	source
	key string
}

func (d keyed) about() *info { return &info{key: d.key} }

// TestSavedDocuments checks that documents come back as they were, pack by pack in the order of the
// keys, and that a damaged file is an error.
func TestSavedDocuments(t *testing.T) {
	whole := search.Doc{Pack: "b", Name: "x", AliasOf: "y", Width: 1.5, Height: 2, Monochrome: true, Categories: []string{"c", "d"},
		Spellings: []string{"X"}, Image: [16]byte{1}, Shape: [16]byte{15: 2}, Own: true, Stroked: true, Look: 1}
	for i := range reflect.TypeFor[search.Doc]().NumField() {
		if f := reflect.ValueOf(whole).Field(i); f.IsZero() {
			t.Fatalf("%s is empty, so that this test can't see its loss", reflect.TypeFor[search.Doc]().Field(i).Name)
		}
	}
	p := &publication{work: t.TempDir()}
	packs := []*pack{
		{source: keyed{key: "c"}},
		{source: keyed{key: "b"}, docs: []search.Doc{whole, {Pack: "b", Name: "z"}}},
		{source: keyed{key: "a"}, docs: []search.Doc{{Pack: "a", Name: "x"}}},
	}
	want := append(append([]search.Doc{}, packs[2].docs...), packs[1].docs...)
	for _, k := range packs {
		if err := p.saveDocs(k); err != nil || k.docs != nil {
			t.Fatalf("%v; %d documents are still in memory", err, len(k.docs))
		}
	}
	var got []search.Doc
	var unread error
	for d := range p.savedDocs(packs, &unread) {
		got = append(got, d)
	}
	if unread != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %+v, want %+v", unread, got, want)
	}
	if err := os.Truncate(p.docsFile(packs[1]), 100); err != nil {
		t.Fatal(err)
	}
	for range p.savedDocs(packs, &unread) {
	}
	if unread == nil {
		t.Error("half a file is no error")
	}
}
