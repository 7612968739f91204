package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/search/lexicon"
	"github.com/iconedge/iconedge/test/sequential"
)

// explainedAs formats the matches of one hit: "word by through; …".
func explainedAs(h Hit) string {
	var s []string
	for _, m := range h.Matched {
		s = append(s, fmt.Sprintf("%s %s %s", m.Word, m.By, m.Through))
	}
	return strings.Join(s, "; ")
}

func explainingLexicon() *lexicon.Lexicon {
	l := smallLexicon()
	l.Projects[0].Icons = append(l.Projects[0].Icons, lexicon.Tagged{Name: "folder-open", Tags: []string{"browse"}})
	return l
}

func TestExplain(t *testing.T) {
	packs, docs := smallLibrary(t)
	x := openWith(t, packs, docs, explainingLexicon())
	for _, row := range []struct{ why, text, hit, want string }{
		{"a name", "home", "mdi/home", "home name home"},
		{"a plural of the query", "arrows left", "mdi/arrow-left", "arrows name arrow; left name left"},
		{"a plural of the name", "home row", "mdi/homes-row", "home name homes; row name row"},
		{"an alias", "house", "mdi/house", "house alias house"},
		{"an incomplete word", "hous", "ph/house", "hous prefix house"},
		{"a typo", "trahs", "ph/trash", "trahs typo trash"},
		{"a typo beside a name", "hoem circle plus", "mdi/home-circle-plus", "hoem typo home; circle name circle; plus name plus"},
		{"two words that are one", "git hub", "mdi/github", "github name github"},
		{"a pack before the name", "ph trash", "ph/trash", "trash name trash; ph name ph"},
		{"a pack's name after it", "trash phosphor", "ph/trash", "trash name trash; phosphor name ph"},
		{"a pack and a colon", "ph:tra", "ph/trash", "tra prefix trash"},
		{"a tag", "garbage", "ph/trash", "garbage tag trash"},
		{"a word of another name", "garbage", "ph/trash-bold", "garbage synonym trash"},
		{"a word of a name that often has the tag", "garbage", "mdi/trash-can", "garbage synonym trash"},
		{"a meaning of several words", "browse", "mdi/folder-open", "browse tag folder open"},
	} {
		hits, _ := x.Search(Query{Text: row.text, Limit: 50, Explain: true})
		i := slices.IndexFunc(hits, func(h Hit) bool { return h.Ref.String() == row.hit })
		if i < 0 {
			t.Errorf("%s: %q does not find %s, but %s", row.why, row.text, row.hit, refs(hits))
			continue
		}
		if got := explainedAs(hits[i]); got != row.want {
			t.Errorf("%s: %q finds %s by %q, want %q", row.why, row.text, row.hit, got, row.want)
		}
	}
	if hits, _ := x.Search(Query{Text: "home", Limit: 1}); hits[0].Matched != nil {
		t.Errorf("without Explain: %v", hits[0].Matched)
	}
}

// TestExplainLanguages checks the words of other languages, which the program's lexicon has.
func TestExplainLanguages(t *testing.T) {
	sequential.Test(t)
	packs, docs := smallLibrary(t)
	x := openWith(t, packs, docs, shippedLexicon(t))
	for text, want := range map[string]string{"maison": "maison language house", "🏠": "🏠 language house", "дом": "дом language house"} {
		hits, _ := x.Search(Query{Text: text, Limit: 50, Explain: true})
		if !slices.ContainsFunc(hits, func(h Hit) bool { return explainedAs(h) == want }) {
			t.Errorf("%q finds %s, want one by %q", text, refs(hits), want)
		}
	}
}

// TestExplainAll checks that every hit of any query has an explanation in words of its name.
func TestExplainAll(t *testing.T) {
	packs, docs := smallLibrary(t)
	x := openWith(t, packs, docs, explainingLexicon())
	for _, text := range []string{"home", "h", "arrow lef", "trash house", "garbage house", "arrowleft",
		"trash canarrow", "Index9", "map", "old home", "m", "rubbish bin", "hose bold"} {
		plain, _ := x.Search(Query{Text: text, Limit: 50})
		hits, _ := x.Search(Query{Text: text, Limit: 50, Explain: true})
		if refs(plain) != refs(hits) {
			t.Errorf("%q: explained, the order is %s, otherwise %s", text, refs(hits), refs(plain))
		}
		for _, h := range hits {
			if len(h.Matched) == 0 {
				t.Errorf("%q: %s has no explanation", text, h.Ref)
			}
			for _, m := range h.Matched {
				words := strings.Split(h.Ref.Name, "-")
				if m.Through != h.Ref.Pack && slices.ContainsFunc(strings.Fields(m.Through),
					func(w string) bool { return !slices.Contains(words, w) }) {
					t.Errorf("%q: %s is explained by %v, but its name has no such word", text, h.Ref, m)
				}
			}
		}
	}
}

// similarLibrary makes a library in which some icons have shapes.
func similarLibrary(t testing.TB) *Index {
	packs, docs := smallLibrary(t)
	for i := range docs {
		switch d := &docs[i]; d.Pack + "/" + d.Name {
		case "mdi/home", "mdi/house", "copies/home":
			d.Shape = [16]byte{1, 2, 3, 4, 5, 6, 7, 8}
		case "ph/house", "old/map-pin": // two bits apart
			d.Shape = [16]byte{1, 2, 3, 7, 4, 6, 7, 8}
		case "map/museum", "map/airport": // one bit apart
			d.Shape = [16]byte{1, 2, 3, 4, 5, 6, 7, 9}
		case "ph/trash":
			d.Shape = [16]byte{0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff}
		}
	}
	return open(t, packs, docs)
}

func TestSimilar(t *testing.T) {
	x := similarLibrary(t)
	for _, row := range []struct {
		why  string
		q    Query
		want string
	}{
		{"the concept and that of its alias in other packs, then shapes", Query{Similar: icon.Ref{Pack: "mdi", Name: "home"}},
			"copies/home ph/house ic/baseline-home old/home ic/outline-home ph/house-fill map/airport map/museum old/map-pin"},
		{"as an alias", Query{Similar: icon.Ref{Pack: "mdi", Name: "house"}},
			"copies/home ph/house ic/baseline-home old/home ic/outline-home ph/house-fill map/airport map/museum old/map-pin"},
		{"in one pack", Query{Similar: icon.Ref{Pack: "mdi", Name: "home"}, Pack: "map"}, "map/airport map/museum"},
		{"in its own pack, by shape alone", Query{Similar: icon.Ref{Pack: "map", Name: "museum"}, Pack: "map"}, "map/airport"},
		{"with a licence", Query{Similar: icon.Ref{Pack: "mdi", Name: "home"}, Filter: Filter{License: "MIT"}}, "ph/house ph/house-fill"},
		{"no icon", Query{Similar: icon.Ref{Pack: "mdi", Name: "nothing"}}, ""},
		{"no pack", Query{Similar: icon.Ref{Pack: "none", Name: "home"}}, ""},
		{"no pack to search", Query{Similar: icon.Ref{Pack: "mdi", Name: "home"}, Pack: "none"}, ""},
		{"nothing of that shape", Query{Similar: icon.Ref{Pack: "mdi", Name: "github"}}, ""},
	} {
		row.q.Limit = 50
		hits, total := x.Search(row.q)
		if got := refs(hits); got != row.want || total != len(hits) {
			t.Errorf("%s: %d of %d\n got %s\nwant %s", row.why, len(hits), total, got, row.want)
		}
		for from := range hits {
			row.q.Offset, row.q.Limit = from, 1
			if page, _ := x.Search(row.q); refs(page) != hits[from].Ref.String() {
				t.Errorf("%s: page %d has %s, want %s", row.why, from, refs(page), hits[from].Ref)
			}
		}
	}
	hits, _ := x.Search(Query{Similar: icon.Ref{Pack: "mdi", Name: "home"}, Limit: 50, Explain: true})
	for ref, want := range map[string]string{"ph/house": "mdi/home name house",
		"ph/house-fill": "mdi/home name house", "map/museum": "mdi/home shape museum"} {
		if i := slices.IndexFunc(hits, func(h Hit) bool { return h.Ref.String() == ref }); explainedAs(hits[i]) != want {
			t.Errorf("%s: %q, want %q", ref, explainedAs(hits[i]), want)
		}
	}
}

// TestSimilarHidden checks that withdrawn icons are not similar to anything.
func TestSimilarHidden(t *testing.T) {
	x := similarLibrary(t)
	x.Hide([]string{"ph/house", "copies", "map/museum"})
	hits, total := x.Search(Query{Similar: icon.Ref{Pack: "mdi", Name: "home"}, Limit: 50})
	if want := "ic/baseline-home ph/house-fill old/home ic/outline-home map/airport old/map-pin"; refs(hits) != want || total != len(hits) {
		t.Errorf("got %s of %d, want %s", refs(hits), total, want)
	}
}
