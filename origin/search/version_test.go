package search

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// phraseLexicon has a meaning of two words.
func phraseLexicon() *lexicon.Lexicon {
	return &lexicon.Lexicon{Projects: []lexicon.Project{{Name: "tags", Icons: []lexicon.Tagged{{Name: "trash", Tags: []string{"garbage", "trash can", "arrow left"}}}}}}
}

// TestFormerVersion checks that the index of a release that an earlier program published gives the
// same results. testdata/version2.idx was built from the same library by the last program that
// wrote version 2.
func TestFormerVersion(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "version2.idx"))
	if err != nil {
		t.Fatal(err)
	}
	former, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	packs, docs := smallLibrary(t)
	var file bytes.Buffer
	if err := Build(t.Context(), &file, Library{Packs: packs, Docs: slices.Values(docs), Lexicon: phraseLexicon(), Made: "a test"}); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(data, file.Bytes()) {
		t.Error("it is an index of this version")
	}
	now, err := Open(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"home", "garbage", "garbage house", "arrow left", "trahs", "ph trash", "xyzzyq"} {
		got, n := former.Search(Query{Text: q, Limit: 50})
		want, m := now.Search(Query{Text: q, Limit: 50})
		if refs(got) != refs(want) || n != m {
			t.Errorf("%q: %s, want %s as in this version", q, refs(got), refs(want))
		}
	}
	if hits, _ := now.Search(Query{Text: "garbage", Limit: 50}); !slices.ContainsFunc(hits, func(h Hit) bool { return h.Ref.Name == "arrow-left" }) {
		t.Errorf("garbage finds %s, want arrow-left included, by a meaning of two words", refs(hits))
	}
	if former.Current() || !now.Current() {
		t.Errorf("Current: %v of version 2, %v of this version", former.Current(), now.Current())
	}
}
