package search

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// phraseLexicon has a meaning of two words.
func phraseLexicon() *lexicon.Lexicon {
	return &lexicon.Lexicon{Projects: []lexicon.Project{{Name: "tags",
		Icons: []lexicon.Tagged{{Name: "trash", Tags: []string{"garbage", "trash can", "arrow left"}}}}}}
}

// TestFormerVersions checks that the index of a release that an earlier program published gives the
// same results. Each file of testdata was built from the same library by the last program that
// wrote its version.
func TestFormerVersions(t *testing.T) {
	packs, docs := smallLibrary(t)
	now := openWith(t, packs, docs, phraseLexicon())
	if hits, _ := now.Search(Query{Text: "garbage", Limit: 50}); !slices.ContainsFunc(hits,
		func(h Hit) bool { return h.Ref.Name == "arrow-left" }) {
		t.Errorf("garbage finds %s, want arrow-left included, by a meaning of two words", refs(hits))
	}
	if now.version != Form {
		t.Error("an index of this version is not current")
	}
	for _, v := range []string{"version2", "version3"} {
		data, err := os.ReadFile(filepath.Join("testdata", v+".idx"))
		if err != nil {
			t.Fatal(err)
		}
		former, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		if former.version == Form {
			t.Errorf("%s is current", v)
		}
		for _, q := range []Query{{Text: "home"}, {Text: "garbage"}, {Text: "garbage house"}, {Text: "arrow left"},
			{Text: "trahs"}, {Text: "ph trash"}, {Text: "xyzzyq"},
			{Similar: icon.Ref{Pack: "mdi", Name: "home"}}} {
			q.Limit, q.Explain = 50, true
			got, n := former.Search(q)
			want, m := now.Search(q)
			if !reflect.DeepEqual(got, want) || n != m {
				t.Errorf("%s: %+v: %+v, want %+v as in this version", v, q, got, want)
			}
		}
		if hits, _ := former.Search(Query{Text: "hom", Limit: 50}); len(hits) == 0 {
			t.Errorf("%s: hom finds nothing", v)
		}
	}
}
