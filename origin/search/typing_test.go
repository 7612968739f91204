package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// packsOf makes a library from lines "key: name name".
func packsOf(lines string) (packs []icon.Pack, docs []Doc) {
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		key, names, _ := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		packs = append(packs, icon.Pack{Key: key, Name: key, Monochrome: true})
		for name := range strings.FieldsSeq(names) {
			docs = append(docs, Doc{Pack: key, Name: name, Width: 24, Height: 24})
		}
	}
	return packs, docs
}

const typing = `
	a: loop-left l-loop-big cloak cloud-upload cloud-x cloud home signal-cellular-1 secret
	b: cloud long-cloud-upload signal-cellular arrow-up-left
	c: cloud cloud-upload secret-k8s-outline corner-arrow-right arrow-right
	fa6-solid: home clock cloth
	k8s: secret pod
`

// TestTyping checks the order of hits of words that are still being typed, and of packs that the
// query names.
func TestTyping(t *testing.T) {
	packs, docs := packsOf(typing)
	x := openWith(t, packs, docs, shippedLexicon(t))
	for _, row := range []struct{ why, text, pack, want string }{
		{"a letter rather begins a word than is one", "loop l", "", "a/loop-left a/l-loop-big"},
		{"what many packs draw, then short names", "clo", "a", "a/cloud a/cloak a/cloud-upload a/cloud-x"},
		{"a pack whose key ends with a digit", "fa6 solid home", "", "fa6-solid/home"},
		{"the same after the name", "home fa6 solid", "", "fa6-solid/home"},
		{"a name of a pack that the query names, before a style of another name", "secret k8s", "", "k8s/secret c/secret-k8s-outline"},
		{"a typo that is a word of another language", "signal celular 1", "", "a/signal-cellular-1"},
	} {
		hits, _ := x.Search(Query{Text: row.text, Pack: row.pack, Limit: 20})
		if got := refs(hits); !strings.HasPrefix(got+" ", row.want+" ") {
			t.Errorf("%s: %q: %s, want %s first", row.why, row.text, got, row.want)
		}
	}
}

// TestTypingPopularNames checks the order of words that are also the beginning of far more popular
// names.
func TestTypingPopularNames(t *testing.T) {
	lines := "a: cal cal-circle moo-x boo back trace\nb: cal car card\nc: car\nd: boot-camp\n"
	for i := range 120 {
		lines += fmt.Sprintf("p%d: calendar trash moon%d book boom boot boo-%d\n", i, i, i)
	}
	packs, docs := packsOf(lines)
	x := openWith(t, packs, docs, &lexicon.Lexicon{Projects: []lexicon.Project{{Name: "tags",
		Icons: []lexicon.Tagged{{Name: "back", Tags: []string{"tra"}}}}}})
	for _, row := range []struct{ why, text, pack, want string }{
		{"exact names, then a much likelier name once, then names with the word", "cal", "",
			"a/cal b/cal p0/calendar a/cal-circle p1/calendar"},
		{"a name that is not much likelier follows", "car", "", "b/car c/car b/card"},
		{"names that few packs draw are not much likelier", "moo", "", "a/moo-x"},
		{"three names at most", "boo", "", "a/boo p0/book p0/boom p0/boot p0/boo-0"},
		{"in a pack, names with the word come first", "cal", "a", "a/cal a/cal-circle"},
		{"a word of another language, and the beginning of popular names", "tra", "a", "a/trace a/back"},
	} {
		hits, _ := x.Search(Query{Text: row.text, Pack: row.pack, Limit: 20})
		if got := refs(hits); !strings.HasPrefix(got+" ", row.want+" ") {
			t.Errorf("%s: %q: %s, want %s first", row.why, row.text, got, row.want)
		}
	}
	if got, want := x.Complete("ca"), []string{"calendar", "cal", "car", "card", "cal circle", "boot camp"}; !slices.Equal(got, want) {
		t.Errorf("ca: %q, want %q: those that many packs draw, then the short ones", got, want)
	}
}

// TestCompleteInside checks that names with the typed words elsewhere follow those that begin with
// them.
func TestCompleteInside(t *testing.T) {
	packs, docs := packsOf(typing)
	x := open(t, packs, docs)
	for text, want := range map[string][]string{
		"arrow ri":   {"arrow right", "corner arrow right"},
		"upload clo": {"cloud upload", "long cloud upload"},
		"c:arrow r":  {"c:arrow right", "c:corner arrow right"},
		"b:arrow r":  nil,
		"cloud":      {"cloud", "cloud upload", "cloud x", "long cloud upload"},
		"clouds":     {"clouds", "clouds upload", "clouds x", "long cloud upload"},
	} {
		if got := x.Complete(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	x.Hide([]string{"c/corner-arrow-right", "b"})
	if got := x.Complete("arrow ri"); !slices.Equal(got, []string{"arrow right"}) {
		t.Errorf("with withdrawn icons: %q", got)
	}
	if got := x.Complete("upload clo"); !slices.Equal(got, []string{"cloud upload"}) {
		t.Errorf("with withdrawn packs: %q", got)
	}
}
