package search

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/test/sequential"
)

func TestSearch(t *testing.T) {
	x := small(t)
	for _, row := range []struct {
		why  string
		q    Query
		want string // the first hits
	}{
		{"exact names first, in packs by turns, folded with copies; plain before styles", Query{Text: "home"},
			"mdi/home old/home ic/baseline-home ic/outline-home mdi/home-outline mdi/home-variant mdi/homes-row " +
				"mdi/home-circle-plus copies/homestead"},
		{"an alias is found by its name, and folded with its icon", Query{Text: "house"}, "ph/house mdi/house ph/house-fill ph/house-bold"},
		{"the last word may be half typed; then names take turns", Query{Text: "hous"},
			"mdi/house ph/house-fill ph/house-bold ph/house-line ph/house"},
		{"a word that is not the last may not, while whole ones are found", Query{Text: "arr left"},
			"mdi/arrow-left mdi/arrow-left-bold mdi/left-arrow-box ph/arrow-left"},
		{"words in order before others, the fewest other words first", Query{Text: "arrow left"},
			"mdi/arrow-left ph/arrow-left mdi/arrow-left-bold ph/arrow-left-bold mdi/left-arrow-box"},
		{"a style in the query is not another word", Query{Text: "home outline"}, "mdi/home-outline ic/outline-home"},
		{"camelCase", Query{Text: "FolderOpen"}, "mdi/folder-open"},
		{"but names are sometimes one word", Query{Text: "GitHub"}, "mdi/github"},
		{"digits", Query{Text: "Index9"}, "old/index-9"},
		{"plural in the query", Query{Text: "arrows-left"}, "mdi/arrow-left ph/arrow-left"},
		{"plural in the name", Query{Text: "home row"}, "mdi/homes-row"},
		{"any case, any spaces", Query{Text: "  TRASH\t\u00a0can "}, "mdi/trash-can"},
		{"pack:name", Query{Text: "mdi:home"}, "mdi/home mdi/home-outline"},
		{"pack/name, spaced and in capitals", Query{Text: " MDI / home"}, "mdi/home mdi/home-outline"},
		{"pack:name half typed", Query{Text: "ph:tra"}, "ph/trash ph/trash-bold"},
		{"not a pack: a word", Query{Text: "folder:open"}, "mdi/folder-open"},
		{"pack name", Query{Text: "ph trash"}, "ph/trash ph/trash-bold"},
		{"name pack", Query{Text: "trash ph"}, "ph/trash ph/trash-bold"},
		{"a pack's title", Query{Text: "material design arrow"}, "mdi/arrow-left mdi/arrow-right mdi/arrow-left-bold"},
		{"a name that begins like a pack is first what it says", Query{Text: "map pin"}, "old/map-pin map/pin"},
		{"a pack alone", Query{Text: "map:"}, "map/airport map/museum map/pin"},
		{"pack given apart", Query{Text: "home", Pack: "mdi"}, "mdi/home mdi/home-outline mdi/home-variant"},
		{"and named again", Query{Text: "mdi home", Pack: "mdi"}, "mdi/home mdi/home-outline"},
		{"a copy is a hit in a search of its pack", Query{Text: "home", Pack: "copies"}, "copies/home copies/homestead"},
		{"the pack given and another one named", Query{Text: "mdi:home", Pack: "ph"}, ""},
		{"a pack that is not there", Query{Text: "home", Pack: "none"}, ""},
		{"a light that is not a style", Query{Text: "traffic"}, "copies/traffic-light copies/traffic-line"},
		{"words that no name combines are found separately", Query{Text: "trash house"}, "ph/trash ph/house"},
		{"a typo", Query{Text: "hoem circle plus"}, "mdi/home-circle-plus"},
		{"another typo, the closest word first", Query{Text: "trahs"}, "ph/trash mdi/trash-can"},
		{"words that are one", Query{Text: "trash canarrow"}, "ph/trash"},
		{"one word that is two", Query{Text: "arrowleft"}, "mdi/arrow-left ph/arrow-left mdi/arrow-left-bold"},
		{"a style", Query{Text: "home", Filter: Filter{Style: "outline"}}, "ic/outline-home mdi/home-outline"},
		{"a licence", Query{Text: "house", Filter: Filter{License: "mit"}}, "ph/house"},
		{"commercial use", Query{Text: "home", Filter: Filter{Commercial: true}, Pack: "copies"}, ""},
		{"strokes of one width", Query{Text: "home", Filter: Filter{Stroked: true}}, "mdi/home-outline"},
		{"a category of icons", Query{Text: "home", Filter: Filter{Category: "BUILDINGS"}}, "mdi/home"},
		{"a category of packs", Query{Text: "home", Filter: Filter{Category: "archive / unmaintained"}}, "old/home"},
		{"a style that no icon has", Query{Text: "home", Filter: Filter{Style: "baroque"}}, ""},
		{"a class", Query{Text: "ph-bold ph-house"}, "ph/house-bold ph/house mdi/house"},
		{"a component", Query{Text: "MdOutlineHome"}, "ic/outline-home ic/baseline-home"},
		{"a component, half typed", Query{Text: "MdOutlineWi"}, "ic/baseline-wifi"},
		{"a component with a typo", Query{Text: "MdOutlineWfii"}, "ic/baseline-wifi"},
		{"a component with a style", Query{Text: "StarOutlined"}, "ic/outline-star"},
		{"an element", Query{Text: `<Icon icon="mdi:github" />`}, "mdi/github"},
		{"an import", Query{Text: "import { mdiTrashCan } from '@mdi/js'"}, "mdi/trash-can"},
		{"another library's name for a pack", Query{Text: "materialdesignicons:github"}, "mdi/github"},
		{"a file", Query{Text: "arrow-right.svg"}, "mdi/arrow-right"},
		{"a name in code of another pack than the one given", Query{Text: "i-mdi-house", Pack: "ph"}, "ph/house"},
		{"a name that looks like a class is a name", Query{Text: "index-9"}, "old/index-9"},
		{"a semantic match", Query{Text: "garbage"}, "ph/trash mdi/trash-can"},
	} {
		row.q.Limit = 50
		hits, total := x.Search(row.q)
		if got := refs(hits); got != row.want && !strings.HasPrefix(got, row.want+" ") || row.want == "" && got != "" {
			t.Errorf("%s: %+v\n got %s\nwant %s", row.why, row.q, got, row.want)
		}
		if total != len(hits) {
			t.Errorf("%s: total %d, but %d hits", row.why, total, len(hits))
		}
	}
}

func TestHit(t *testing.T) {
	x := small(t)
	hits, total := x.Search(Query{Text: "mdi house", Limit: 1})
	want := Hit{Ref: icon.Ref{Pack: "mdi", Name: "house"}, AliasOf: "home", Width: 24, Height: 17, Monochrome: true}
	want.Also = []icon.Ref{{Pack: "copies", Name: "home"}}
	if total == 0 || !reflect.DeepEqual(hits, []Hit{want}) {
		t.Errorf("got %+v of %d, want %+v", hits, total, want)
	}
	if hits, _ := x.Search(Query{Text: "copies pin", Limit: 1}); len(hits) != 1 || hits[0].Monochrome ||
		hits[0].AliasOf != "" || hits[0].Height != 21 {
		t.Errorf("got %+v", hits)
	}
}

func TestNothingToFind(t *testing.T) {
	x := small(t)
	for _, q := range []string{
		"", " ", "\x00", "!?-:/", "🏠", "\U0001F468\u200d\U0001F469", "بيت", "עברית", ":", "/", "::", ".*", "(+)+$", "%s%n", "\xff\xfe",
		strings.Repeat("z", 10_000), strings.Repeat("z ", 5_000), strings.Repeat("🏠", 300), "\u202e\u0301", "none:",
	} {
		if hits, total := x.Search(Query{Text: q, Limit: 20}); len(hits) != 0 || total != 0 {
			t.Errorf("%.20q: got %s of %d, want nothing", q, refs(hits), total)
		}
	}
	if hits, total := x.Search(Query{Text: strings.Repeat(" ", MaxText-4) + "home" + " zebra", Limit: 1}); len(hits) != 1 || total == 0 {
		t.Errorf("the text beyond %d characters must be ignored, got %d of %d", MaxText, len(hits), total)
	}
	empty := open(t, nil, nil)
	if hits, total := empty.Search(Query{Text: "home", Limit: 20}); len(hits) != 0 || total != 0 {
		t.Errorf("an empty library: %v of %d", hits, total)
	}
	if got := empty.Suggest("home again"); len(got) != 0 {
		t.Errorf("an empty library suggests %q", got)
	}
}

func TestOddPages(t *testing.T) {
	x := small(t)
	_, total := x.Search(Query{Text: "home", Limit: 1})
	for _, row := range []struct{ limit, offset, want int }{
		{0, 0, 0}, {-1, 0, 0}, {3, -1, 3}, {50, 0, total}, {1 << 40, 0, total}, {50, total - 1, 1}, {50, total, 0}, {50, 1 << 40, 0},
	} {
		if hits, n := x.Search(Query{Text: "home", Limit: row.limit, Offset: row.offset}); len(hits) != row.want || n != total {
			t.Errorf("limit %d, offset %d: %d hits of %d, want %d of %d", row.limit, row.offset, len(hits), n, row.want, total)
		}
	}
}

// TestPages checks that the pages of any query are parts of one list without repetitions.
func TestPages(t *testing.T) {
	sequential.Test(t)
	x := random(t, 1, 12, 1500)
	for _, text := range []string{"home", "h", "arrow left", "s", "outline", "p3 home", "p3:arrow", "bold s", "up up", "ho can", "24"} {
		whole, total := x.Search(Query{Text: text, Limit: 1 << 20})
		if len(whole) != total {
			t.Errorf("%q: %d hits, but a total of %d", text, len(whole), total)
		}
		seen := map[icon.Ref]bool{}
		for _, h := range whole {
			if seen[h.Ref] {
				t.Errorf("%q: %s is repeated", text, h.Ref)
			}
			seen[h.Ref] = true
		}
		for _, size := range []int{1, 7, 50} {
			var paged []Hit
			for off := 0; off < len(whole); off += size {
				page, n := x.Search(Query{Text: text, Limit: size, Offset: off})
				if n != total {
					t.Fatalf("%q: total %d at offset %d, %d at 0", text, n, off, total)
				}
				paged = append(paged, page...)
			}
			if !reflect.DeepEqual(paged, whole) {
				t.Errorf("%q: pages of %d are not the whole list", text, size)
			}
		}
	}
}

// TestBound checks that all matches are counted, even if only some are ranked, and that the best
// come first.
func TestBound(t *testing.T) {
	var docs []Doc
	packs := []icon.Pack{{Key: "a"}, {Key: "z"}}
	for i := range maxRanked + 1000 {
		docs = append(docs, Doc{Pack: "a", Name: fmt.Sprintf("word-%d-more", i)})
	}
	docs = append(docs, Doc{Pack: "z", Name: "word"}, Doc{Pack: "z", Name: "word-other"})
	x := open(t, packs, docs)
	hits, total := x.Search(Query{Text: "word", Limit: 1 << 20})
	if total != len(docs) || len(hits) != maxRanked {
		t.Errorf("%d hits of %d, want %d of %d", len(hits), total, maxRanked, len(docs))
	}
	if got := refs(hits[:3]); got != "z/word a/word-0-more z/word-other" {
		t.Errorf("the first hits are %s, want z/word a/word-0-more z/word-other: shorter names first, although they are last in the file",
			got)
	}
}

func TestConcurrent(t *testing.T) {
	x := random(t, 2, 5, 1000)
	want, wantTotal := x.Search(Query{Text: "arrow", Limit: 50})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				x.Suggest("arrwo left")
				x.Search(Query{Text: "home s", Limit: 5})
				if got, total := x.Search(Query{Text: "arrow", Limit: 50}); total != wantTotal || !reflect.DeepEqual(got, want) {
					t.Errorf("got %s of %d", refs(got), total)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"home", "mdi:home", "ph trash", "FolderOpen", "p3 up", "\x00", "بيت", "🏠 home", "a/b",
		"' OR 1=1", "s s s s s s s s s s s s s s s s s s"} {
		f.Add(s, "", uint8(3), uint8(2))
	}
	f.Add("home", "p1", uint8(0), uint8(200))
	x := random(f, 3, 6, 800)
	f.Fuzz(func(t *testing.T, text, pack string, limit, offset uint8) {
		s := x.scratch.Get().(*scratch)
		s.ranks, s.semantic = s.ranks[:0], nil
		readings := x.readings(Query{Text: text, Pack: pack}, nil)
		x.find(s, x.lookups(), readings)
		s.forget()
		if len(s.ranks) > maxRanked || len(s.semantic) > maxSemantic || len(s.touched) > maxWeighed || len(readings) > maxReadings {
			t.Fatalf("%d readings, %d docs ranked, %d weighed", len(readings), len(s.ranks), len(s.touched))
		}
		for _, r := range readings {
			for _, w := range r.terms {
				if near := x.withinEdits(w.typed, 1); len(near) > maxNear || len(x.near(w.typed)) > maxTypoTries {
					t.Fatalf("%d words near %q", len(near), w.typed)
				}
			}
		}
		x.scratch.Put(s)
		whole, total := x.Search(Query{Text: text, Pack: pack, Limit: x.docs})
		if len(whole) != total || total > x.groups {
			t.Fatalf("%d hits, total %d, %d distinct SVGs", len(whole), total, x.groups)
		}
		from, to := min(int(offset), total), min(int(offset)+int(limit), total)
		if page, _ := x.Search(Query{Text: text, Pack: pack, Limit: int(limit), Offset: int(offset)}); refs(page) != refs(whole[from:to]) {
			t.Fatalf("a page is not a part of the list: %s", refs(page))
		}
		for _, h := range whole {
			if pack != "" && h.Ref.Pack != pack {
				t.Fatalf("%s is outside of the pack", h.Ref)
			}
		}
		for _, s := range x.Suggest(text) {
			if _, n := x.Search(Query{Text: s}); n == 0 || !utf8.ValidString(s) {
				t.Fatalf("Suggest returned %q, which has %d hits", s, n)
			}
		}
	})
}
