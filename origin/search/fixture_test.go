package search

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// fixture is a small library, a pack on each line: "key (Name): name name=svg alias>icon". A doc
// without =svg has an SVG of its own; an alias has the SVG of its icon.
const fixture = `
mdi (Material Design Icons): home home-outline home-variant home-circle-plus arrow-left arrow-left-bold arrow-right left-arrow-box house>home github trash-can folder-open homes-row
ph (Phosphor): house house-bold house-fill trash trash-bold house-line arrow-left arrow-left-bold
ic (Google Material Icons): baseline-home outline-home baseline-delete outline-delete baseline-map outline-map baseline-star outline-star baseline-face outline-face baseline-lock outline-lock baseline-menu outline-menu baseline-call outline-call baseline-sync outline-sync baseline-wifi outline-wifi
map (Map Icons): pin museum airport
copies (Copies): home=mdi/home homestead pin=map/pin traffic-light traffic-line
old (Old Things): home battery-1 map-pin index-9
`

func smallLibrary(t testing.TB) ([]icon.Pack, []Doc) {
	var packs []icon.Pack
	var docs []Doc
	for line := range strings.Lines(strings.TrimSpace(fixture)) {
		head, names, _ := strings.Cut(strings.TrimSpace(line), "): ")
		key, title, _ := strings.Cut(head, " (")
		p := icon.Pack{Key: key, Name: title, Monochrome: key != "copies",
			License: map[string]string{"ph": "MIT"}[key], CommercialUse: key != "copies"}
		if key == "old" {
			p.Category = "Archive / Unmaintained"
		}
		packs = append(packs, p)
		for name := range strings.FieldsSeq(names) {
			name, drawing, drawn := strings.Cut(name, "=")
			name, parent, _ := strings.Cut(name, ">")
			if !drawn {
				drawing = key + "/" + name
			}
			if parent != "" {
				drawing = key + "/" + parent
			}
			d := Doc{Pack: key, Name: name, AliasOf: parent, Width: 24, Height: float64(16 + len(packs)), Monochrome: p.Monochrome,
				Stroked: key == "mdi" && name == "home-outline"}
			if name == "home" && key == "mdi" {
				d.Categories = []string{"Buildings"}
			}
			sum := sha256.Sum256([]byte(drawing))
			copy(d.Image[:], sum[:])
			docs = append(docs, d)
		}
	}
	return packs, docs
}

func build(t testing.TB, packs []icon.Pack, docs []Doc) []byte {
	t.Helper()
	return buildWith(t, packs, docs, smallLexicon())
}

// byPack returns the docs of each pack.
func byPack(docs []Doc) func(pack string) ([]Doc, error) {
	packs := map[string][]Doc{}
	for _, d := range docs {
		packs[d.Pack] = append(packs[d.Pack], d)
	}
	return func(pack string) ([]Doc, error) { return packs[pack], nil }
}

func buildWith(t testing.TB, packs []icon.Pack, docs []Doc, lex *lexicon.Lexicon) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := Build(t.Context(), &file, Library{Packs: packs, Docs: byPack(docs), Lexicon: lex, Made: "a test"}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func open(t testing.TB, packs []icon.Pack, docs []Doc) *Index {
	t.Helper()
	return openWith(t, packs, docs, smallLexicon())
}

func openWith(t testing.TB, packs []icon.Pack, docs []Doc, lex *lexicon.Lexicon) *Index {
	t.Helper()
	x, err := Open(buildWith(t, packs, docs, lex))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// smallLexicon knows one word that no name has.
func smallLexicon() *lexicon.Lexicon {
	return &lexicon.Lexicon{Projects: []lexicon.Project{{Name: "tags",
		Icons: []lexicon.Tagged{{Name: "trash", Tags: []string{"garbage", "rubbish bin"}}}}}}
}

func small(t testing.TB) *Index {
	packs, docs := smallLibrary(t)
	return open(t, packs, docs)
}

// refs formats hits as a line of text.
func refs(hits []Hit) string {
	s := make([]string, len(hits))
	for i, h := range hits {
		s[i] = h.Ref.String()
	}
	return strings.Join(s, " ")
}

// random makes a library of names from few words, so that every query has many matches, and with
// few distinct SVGs.
func random(t testing.TB, seed uint64, packs, docs int) *Index {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields("home house arrow left right up bold outline 24 circle plus trash can s")
	var ps []icon.Pack
	for i := range packs {
		ps = append(ps, icon.Pack{Key: fmt.Sprintf("p%d", i), Name: fmt.Sprintf("Pack %d Icons", i), Monochrome: i%2 == 0})
	}
	seen := map[icon.Ref]bool{}
	var ds []Doc
	for range docs {
		var name []string
		for range 1 + r.IntN(5) {
			name = append(name, words[r.IntN(len(words))])
		}
		d := Doc{Pack: ps[r.IntN(packs)].Key, Name: strings.Join(name, "-"), Width: 24, Height: 24,
			Image: [16]byte{1, byte(r.IntN(256)), byte(r.IntN(8))}}
		if ref := (icon.Ref{Pack: d.Pack, Name: d.Name}); !seen[ref] {
			seen[ref] = true
			ds = append(ds, d)
		}
	}
	return open(t, ps, ds)
}
