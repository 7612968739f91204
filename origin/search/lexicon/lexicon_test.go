package lexicon

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const nouns = `  1 a licence
00000001 03 n 01 container 0 000 | any object that can be used to hold things
00000002 03 n 02 bin 0 trash_can 0 001 @ 00000001 n 0000 | a container for rubbish; "throw it in the bin"
00000003 03 n 01 skip 0 001 @ 00000002 n 0000 | a large bin
`

// folders makes a source of each kind.
func folders(t testing.TB) (list []Folder) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"lucide/tags.json":       `{"trash": ["garbage", "delete"], "trash-2": ["garbage"], "house": ["home", 2]}`,
		"tabler/icons.json":      `{"home": {"category": "Buildings", "tags": ["house", null, "living place"]}}`,
		"mdi/meta.json":          `[{"name": "delete-outline", "aliases": ["rubbish"], "tags": ["Home Automation"]}]`,
		"wordnet/dict/data.noun": nouns, "wordnet/dict/data.verb": "", "wordnet/dict/data.adj": "", "wordnet/dict/data.adv": "",
		"wordnet/dict/index.noun": "bin n 1 1 @ 1 0 00000002\nskip n 1 1 @ 1 0 00000003\ncontainer n 1 0 1 0 00000001\n",
		"wordnet/dict/index.verb": "", "wordnet/dict/index.adj": "", "wordnet/dict/index.adv": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lucide", "tabler", "mdi", "wordnet"} {
		list = append(list, Folder{name, os.DirFS(filepath.Join(dir, name))})
	}
	return list
}

func TestLearn(t *testing.T) {
	l, err := Open(folders(t), sha256.New())
	if err != nil {
		t.Fatal(err)
	}
	meanings := learnt(t, l, []string{"2", "bin", "delete", "home", "house", "outline", "trash"})
	for _, row := range []struct{ why, word, want string }{
		{"a tag of lucide", "garbage", "=trash"},
		{"the words of that name", "garbage", "trash"},
		{"another tag of the same icon, which is a name elsewhere", "garbage", "delete"},
		{"a tag of tabler", "house", "=home"},
		{"an alias of Material Design Icons, less the style", "rubbish", "=delete"},
		{"a part of a tag", "living", "=home"},
		{"a narrower word", "container", "bin"},
		{"a broader word", "skip", "bin"},
		{"a plural", "containers", ""},
	} {
		got := texts(meanings[row.word])
		if row.want != "" && !slices.Contains(got, row.want) || row.want == "" && len(got) > 0 {
			t.Errorf("%s: %q means %q, want %q included", row.why, row.word, got, row.want)
		}
	}
	for word, list := range meanings {
		for i, m := range list {
			if m.Weight <= 0 || m.Weight > 1 || i > 0 && m.Weight > list[i-1].Weight || m.Text == word && !m.Whole {
				t.Errorf("%q: %v", word, list)
			}
		}
	}
}

func learnt(t *testing.T, l *Lexicon, vocabulary []string) map[string][]Meaning {
	t.Helper()
	meanings, err := l.Learn(t.Context(), named(vocabulary...))
	if err != nil {
		t.Fatal(err)
	}
	return meanings
}

// named returns the names of a library that has an icon for each word.
func named(words ...string) (names Names) {
	names.Words = words
	for _, w := range words {
		names.Icons = append(names.Icons, Named{Text: w, Packs: 1})
	}
	return names
}

// texts formats meanings; "=trash can" is a whole name.
func texts(meanings []Meaning) (list []string) {
	for _, m := range meanings {
		list = append(list, strings.Repeat("=", map[bool]int{true: 1}[m.Whole])+m.Text)
	}
	return list
}

func TestLearnIsDeterministic(t *testing.T) {
	l, err := Open(folders(t), sha256.New())
	if err != nil {
		t.Fatal(err)
	}
	vocabulary := []string{"bin", "delete", "home", "house", "trash"}
	want := learnt(t, l, vocabulary)
	for range 5 {
		for word, list := range learnt(t, l, vocabulary) {
			if !slices.Equal(list, want[word]) {
				t.Fatalf("%q: %v, and %v before", word, list, want[word])
			}
		}
	}
}

func TestOpen(t *testing.T) {
	all := folders(t)
	first, second := sha256.New(), sha256.New()
	if _, err := Open(all, first); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(all[1:], second); err != nil || string(first.Sum(nil)) == string(second.Sum(nil)) {
		t.Errorf("error %v, or the same digest for other sources", err)
	}
	for why, text := range map[string]string{"not JSON": "{", "a list": "[]", "no icons": "{}"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "tags.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open([]Folder{{dir, os.DirFS(dir)}}, sha256.New()); !errors.Is(err, ErrSource) {
			t.Errorf("%s: %v, want ErrSource", why, err)
		}
	}
	if _, err := Open([]Folder{{"empty", os.DirFS(t.TempDir())}}, sha256.New()); !errors.Is(err, ErrSource) {
		t.Errorf("an empty folder: %v, want ErrSource", err)
	}
}

// TestForms checks that the tags of each project are read.
func TestForms(t *testing.T) {
	for file, text := range map[string]string{
		"tags.json":                   `{"house": ["abode"]}`,
		"icons.json":                  `{"house": {"tags": ["abode"]}}`,
		"meta.json":                   `[{"name": "house", "aliases": ["abode"]}]`,
		"metadata/icon-families.json": `{"house": {"label": "House", "search": {"terms": ["abode"]}}}`,
		"build/data.json":             `{"house": {"keywords": ["abode"], "heights": {}}}`,
		"src/template/metadata.json":  `{"house": {"tags": ["abode"], "category": "places"}}`,
		"dist/index.mjs": "const x = [\n  {\n    name: \"house\",\n    pascal_name: \"House\",\n    " +
			"tags: [\n      \"*new*\",\n      \"abode\"\n    ]\n  }, { name: \"tree\", tags: [] }\n]",
	} {
		l, err := Open([]Folder{{"a", fstest.MapFS{file: {Data: []byte(text)}}}}, sha256.New())
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if got := l.Projects[0].Icons[0]; got.Name != "house" || !slices.Equal(got.Tags, []string{"abode"}) {
			t.Errorf("%s: %v, want the tag abode of house", file, got)
		}
	}
}

// FuzzWordNet checks that no link in accepted WordNet data leads out of it.
func FuzzWordNet(f *testing.F) {
	f.Add(nouns)
	f.Add("00000001 03 n ff x 0")
	f.Add("1 1 n 01 w 0 002 @ 1 n 0000 ~ 9 n 0000 | gloss")
	f.Fuzz(func(t *testing.T, text string) {
		w := wordnet{at: map[place]int32{}}
		if err := w.read(strings.NewReader(text)); err != nil {
			return
		}
		for _, s := range w.resolved() {
			for _, list := range [][]int32{s.Broader, s.Near, s.Part, s.Topic} {
				for _, to := range list {
					if int(to) >= len(w.synsets) || to < 0 {
						t.Fatalf("%q links to synset %d of %d", text, to, len(w.synsets))
					}
				}
			}
		}
	})
}
