package lexicon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// annotations reads annotations from JSON.
func annotations(t *testing.T, text string) Annotations {
	t.Helper()
	var a Annotations
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// namesOf returns a vocabulary in which one name has each word.
func namesOf(words ...string) map[string]int {
	names := map[string]int{}
	for _, w := range words {
		names[w]++
	}
	return names
}

func TestTranslate(t *testing.T) {
	english := annotations(t, `{"🏠":{"default":["home","building"],"tts":["house"]},"🏥":{"default":["building","doctor"],"tts":["hospital"]},"❤️":{"default":["love"],"tts":["red heart"]},
		"🥖":{"default":["bread"],"tts":["baguette"]},"🤕":{"default":["pain"],"tts":["hurt face"]}}`)
	french := annotations(t, `{"🏠":{"default":["bâtiment"],"tts":["maison"]},"🏥":{"default":["bâtiment"],"tts":["hôpital"]},"❤️":{"tts":["cœur rouge"]},"🥖":{"default":["pain","pains longs"],"tts":["baguette"]},
		"🐴":{"tts":["cheval"]}}`)
	vocabulary := namesOf("house", "home", "building", "hospital", "red", "heart", "love", "bread", "baguette", "face", "pains")
	got := Translate([]Parallel{{English: english, Foreign: french, Things: true}}, vocabulary,
		map[string][]Meaning{"garbage": {{Text: "trash", Weight: 1}}})
	for word, want := range map[string]string{
		"maison": "house", "hôpital": "hospital", "hopital": "hospital", "bâtiment": "building", "batiment": "building",
		"cœur rouge": "red heart", "🏠": "house", "❤": "red heart", "🥖": "baguette",
	} {
		if list := got[word]; len(list) == 0 || list[0].Text != want || !list[0].Whole || list[0].Weight <= 0 || list[0].Weight > 1 {
			t.Errorf("%q means %v, want %s first", word, list, want)
		}
	}
	// An English word keeps its meaning, and a word whose translation no name has gets none.
	for _, word := range []string{"pain", "baguette", "cheval", "garbage", "home", "❤️"} {
		if list := got[word]; list != nil {
			t.Errorf("%q means %v, want nothing", word, list)
		}
	}
	for word, list := range got {
		if !slices.IsSortedFunc(list, func(a, b Meaning) int { return int(1e6 * (b.Weight - a.Weight)) }) {
			t.Errorf("%q means %v, want the most certain first", word, list)
		}
	}
}

func TestPictographs(t *testing.T) {
	for r, want := range map[rune]bool{'🏠': true, '→': true, '❤': true, '⚙': true, 'a': false, '家': false, '+': false,
		'\uFFFD': false, '\uFE0F': false} {
		if IsPictograph(r) != want {
			t.Errorf("IsPictograph(%q) = %v", r, !want)
		}
	}
}

// TestLibraryLanguages prints, by language, how many keywords that were held back from learning are
// understood: one pair of an emoji and a keyword in five is left out, if the keyword stands at
// other emoji too; it is understood if its meanings include an English word of the emoji that was
// left out. The test is skipped if ICONEDGE_LIBRARY is not set to a folder of @iconify/json.
func TestLibraryLanguages(t *testing.T) {
	if os.Getenv("ICONEDGE_LIBRARY") == "" {
		t.Skip("ICONEDGE_LIBRARY is not set to a folder of @iconify/json")
	}
	files := os.DirFS(filepath.Join("..", "..", "..", "tools", "library", "lexicon", "node_modules", "cldr-annotations-full"))
	english, err := ReadAnnotations(files, "en")
	if err != nil {
		t.Fatal(err)
	}
	terms := termsOf(english)
	vocabulary := map[string]int{}
	for _, of := range terms {
		for term := range of {
			for w := range strings.FieldsSeq(term) {
				vocabulary[w]++
			}
		}
	}
	for _, language := range Languages {
		all, err := ReadAnnotations(files, language)
		if err != nil {
			t.Fatal(err)
		}
		type pair struct{ emoji, word string }
		var held []pair
		rest, n := Annotations{}, 0
		for _, emoji := range slices.Sorted(func(yield func(string) bool) {
			for emoji := range all {
				if !yield(emoji) {
					return
				}
			}
		}) {
			of := all[emoji]
			of.Keywords = slices.DeleteFunc(slices.Clone(of.Keywords), func(word string) bool {
				n++
				if n%5 != 0 || slices.Contains(of.Name, word) {
					return false
				}
				held = append(held, pair{emoji, key(word)})
				return true
			})
			rest[emoji] = of
		}
		left := inverted(termsOf(rest))
		meanings := Translate([]Parallel{{English: english, Foreign: rest, Things: true}}, vocabulary, nil)
		asked, understood := 0, 0
		for _, p := range held {
			if len(left[p.word]) == 0 || terms[p.emoji] == nil {
				continue
			}
			asked++
			if slices.ContainsFunc(meanings[p.word], func(m Meaning) bool { return terms[p.emoji][m.Text] > 0 }) {
				understood++
			}
		}
		recall := float64(understood) / float64(max(1, asked))
		t.Logf("| %s | %d | %.2f |", language, asked, recall)
		// A guard for emoji alone. docs/explain/search.md has the figures with all sources.
		if asked < 100 || recall < .45 {
			t.Errorf("%s: %d of %d keywords are understood", language, understood, asked)
		}
	}
}

// TestTranslateShare checks that a word means an English one that most of its texts have, though
// other texts have that too, and that a text never means a longer one.
func TestTranslateShare(t *testing.T) {
	p := Parallel{English: Annotations{}, Foreign: Annotations{}}
	for foreign, english := range map[string]string{
		"Benachrichtigung löschen": "Clear notification", "Benachrichtigung senden": "Send notification",
		"Benachrichtigung anzeigen": "Show notification", "Mitteilung": "Notification",
		"Mitteilungen": "Notifications", "Mitteilungen stumm": "Mute notifications",
		"Mitteilung a": "Notification sound", "Mitteilung b": "Notification area",
		"Mitteilung c": "Notification light", "Mitteilung d": "Notification tone",
	} {
		p.English[foreign], p.Foreign[foreign] = annotation(english), annotation(foreign)
	}
	got := Translate([]Parallel{p}, namesOf("clear", "send", "show", "notification"), nil)["benachrichtigung"]
	if len(got) != 2 || got[0].Text != "notification" {
		t.Errorf("benachrichtigung means %v, want notification alone", got)
	}
}

// TestTranslateDictionary checks that a foreign word is understood if only the dictionary knows it
// in English, and not if icons have it as a tag.
func TestTranslateDictionary(t *testing.T) {
	p := Parallel{Things: true, English: Annotations{"💰": {Name: []string{"money"}}, "🐈": {Name: []string{"cat"}}},
		Foreign: Annotations{"💰": {Name: []string{"geld"}}, "🐈": {Name: []string{"chat"}}}}
	got := Translate([]Parallel{p}, namesOf("money", "cat"),
		map[string][]Meaning{"geld": {{Text: "cut", Weight: .4}}, "chat": {{Text: "message", Weight: .7}}})
	if len(got["geld"]) == 0 || got["geld"][0].Text != "money" || len(got["chat"]) > 0 {
		t.Errorf("geld means %v, and chat %v", got["geld"], got["chat"])
	}
}

// TestTranslateButtons checks that a word which is a text of user interfaces means that text rather
// than the keyword of one emoji, and that Arabic words are found with and without their article.
func TestTranslateButtons(t *testing.T) {
	jar := Parallel{Things: true,
		English: Annotations{"🫙": {Name: []string{"jar"}, Keywords: []string{"container", "jar"}}},
		Foreign: Annotations{"🫙": {Name: []string{"罐子"}, Keywords: []string{"保存", "罐子"}}}}
	buttons := Parallel{
		English: Annotations{"1": annotation("Save"), "2": annotation("Save as"), "3": annotation("Save file"),
			"4": annotation("Settings")},
		Foreign: Annotations{"1": annotation("保存"), "2": annotation("另存为"), "3": annotation("保存文件"), "4": annotation("الإعدادات")}}
	got := Translate([]Parallel{jar, buttons}, namesOf("jar", "container", "save", "file", "setting"), nil)
	for word, want := range map[string]string{"保存": "save", "罐子": "jar", "إعدادات": "setting"} {
		if list := got[word]; len(list) == 0 || list[0].Text != want {
			t.Errorf("%q means %v, want %s first", word, list, want)
		}
	}
}
