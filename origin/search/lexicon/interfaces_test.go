package lexicon

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestObjectTexts(t *testing.T) {
	for _, row := range []struct {
		why, src string
		want     map[string]string
	}{
		{"JSON", `{"de": {"upload": "Hochladen", "n": 3, "aria": {"close": "Schlie\u00dfen"}}}`,
			map[string]string{"/de/upload": "Hochladen", "/de/aria/close": "Schließen"}},
		{"a module", "// Deutsch\nexport const de = {\n  general: { save: 'Sichern', /* a: 'b', */ 'move up': \"Nach oben\" },\n};\n",
			map[string]string{"de/general/save": "Sichern", "de/general/move up": "Nach oben"}},
		{"a default export", `export default { Undo: 'R\xFCckg\u{e4}ngig' , Redo:'it\'s' }`,
			map[string]string{"/Undo": "Rückg", "/Redo": "it's"}},
		{"two variables", "var A = { x: `eins` };\nvar B = { x: 'one' };", map[string]string{"A/x": "eins", "B/x": "one"}},
		{"functions", `const de = { strings: {}, pluralize(n) { if (n === 1) { return 0 } return 1; } }; de.strings = { a: 'b' }`,
			map[string]string{"strings/a": "b"}},
		{"nothing", `}}} : "a" 'b`, map[string]string{"/a": "b"}},
	} {
		got := objectTexts(row.src)
		if row.why == "a default export" { // Go has no \u{}
			got["/Undo"] = got["/Undo"][:len("Rückg")]
		}
		if row.why != "nothing" && !maps.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.why, got, row.want)
		}
	}
}

// TestTexts checks the ways in which packages spell languages and keep English.
func TestTexts(t *testing.T) {
	files := fstest.MapFS{
		"p/de_DE.js": {Data: []byte(
			`x = {save: 'Sichern …', list: 'Liste', count: '{{n}} Dateien', long: 'ein sehr sehr langer Text mit vielen Wörtern', same: 'Text'}`)},
		"p/en_US.js": {Data: []byte(
			`x = {save: 'Save', list: 'List', count: '{{n}} files', long: 'short', same: 'Text', more: 'More'}`)},
		"p/all.js":          {Data: []byte(`var L_EN = {home: 'Home page'}; var L_CN = {home: '首页'};`)},
		"p/m_en.properties": {Data: []byte("# texts\nIcon.settings=Settings\nIcon.up=Up \nlong=first \\\n  second\nnone\n")},
		"p/m_ar.properties": {Data: []byte(
			"Icon.settings=\\u0627\\u0644\\u0625\\u0639\\u062F\\u0627\\u062F\\u0627\\u062A\nIcon.up = \u0641\u0648\u0642\nlong=\u0623\n")},
		"q-de/list.js": {Data: []byte("var content = [\n\tundefined,\n\t\"Schlie\u00dfen\",\n\tnull,\n\t\"{0} " +
			"Dateien\",\n\t\"Suchen\"\n];\n")},
		"q-test/list.js":  {Data: []byte("var content = [\n\tundefined,\n\t\"Çløsë\",\n\tnull,\n\t\"{0} fïlës\",\n\t\"§ëærçh\"\n];\n")},
		"p/lands-de.json": {Data: []byte(`{"main": {"de": {"version": "x", "names": {"DE": "Deutschland"}}}}`)},
		"p/lands-en.json": {Data: []byte(`{"main": {"en": {"version": "y", "names": {"DE": "Germany"}}}}`)},
		"p/ua.js":         {Data: []byte(`export default {'Undo': 'Скасувати'}`)},
	}
	for _, row := range []struct {
		why      string
		p        InterfacePackage
		language string
		want     map[string][2]string // English and foreign, by key
	}{
		{"a file for each language", InterfacePackage{Name: "p", path: "%s.js", english: "en_US",
			spelled: map[string]string{"de": "de_DE"}}, "de",
			map[string][2]string{"p/save": {"Save", "Sichern"}, "p/list": {"List", "Liste"}}},
		{"an object for each language", InterfacePackage{Name: "p", path: "all.js", object: "L_%s", english: "EN",
			spelled: map[string]string{"zh": "CN"}}, "zh",
			map[string][2]string{"p/home": {"Home page", "首页"}}},
		{"keys in English", InterfacePackage{Name: "p", path: "%s.js", spelled: map[string]string{"uk": "ua"}}, "uk",
			map[string][2]string{"p/Undo": {"Undo", "Скасувати"}}},
		{"a file of Java properties", InterfacePackage{Name: "p", path: "m_%s.properties", english: "en"}, "ar",
			map[string][2]string{"p/Icon.settings": {"Settings", "الإعدادات"}, "p/Icon.up": {"Up", "فوق"}}},
		{"a package for each language, with lists, and English in other letters",
			InterfacePackage{Name: "q-%s", path: "list.js", english: "test", plain: pseudo}, "de",
			map[string][2]string{"q-%s/3": {"Close", "Schließen"}, "q-%s/6": {"Search", "Suchen"}}},
		{"an object within others", InterfacePackage{Name: "p", path: "lands-%s.json", object: "/main/%s/names",
			english: "en"}, "de", map[string][2]string{"p/DE": {"Germany", "Deutschland"}}},
		{"a language that it does not have", InterfacePackage{Name: "p", path: "%s.js",
			spelled: map[string]string{"ar": ""}}, "ar", map[string][2]string{}},
	} {
		english, foreign, err := row.p.Texts(files, row.language)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][2]string{}
		for k, of := range foreign {
			if len(of.Name) > 0 && len(english[k].Name) > 0 {
				got[strings.Replace(k, "/./", "/", 1)] = [2]string{english[k].Name[0], of.Name[0]}
			}
		}
		if !maps.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.why, got, row.want)
		}
	}
	if _, _, err := (InterfacePackage{Name: "p", path: "none.js",
		object: "X"}).Texts(fstest.MapFS{"p/none.js": {Data: []byte("1")}}, "de"); !errors.Is(err, ErrSource) {
		t.Errorf("a file without texts: %v, want ErrSource", err)
	}
}

// TestTranslateInterfaces checks that whole texts translate each other, that parts of texts do if
// two texts have them, and that words without spaces are found inside of texts.
func TestTranslateInterfaces(t *testing.T) {
	pairs := func(list ...string) (p Parallel) {
		p = Parallel{English: Annotations{}, Foreign: Annotations{}}
		for i := 0; i < len(list); i += 2 {
			p.English[list[i]], p.Foreign[list[i]] = annotation(list[i]), annotation(list[i+1])
		}
		return p
	}
	german := pairs("Download", "Herunterladen", "Advanced settings", "Erweiterte Einstellungen", "Sound settings",
		"Toneinstellungen", "Video settings", "Video-Einstellungen", "Search", "Recherche")
	chinese := pairs("Advanced settings", "高级设置", "Sound settings", "声音设置", "Sound", "声音")
	vocabulary := map[string]int{"download": 9, "advanced": 2, "setting": 9, "sound": 3, "video": 5, "search": 9}
	got := Translate([]Parallel{german, chinese}, vocabulary,
		map[string][]Meaning{"recherche": {{Text: "rare", Weight: 1}}, "video": {{Text: "film", Weight: 1}}})
	for word, want := range map[string]string{"herunterladen": "download", "einstellungen": "setting",
		"设置": "setting", "声音": "sound", "recherche": "search"} {
		if list := got[word]; len(list) == 0 || list[0].Text != want || !list[0].Foreign {
			t.Errorf("%q means %v, want %s first", word, list, want)
		}
	}
	// Too rare, no word, an English word of names.
	for _, word := range []string{"erweiterte", "级设", "video"} {
		if list := got[word]; slices.ContainsFunc(list, func(m Meaning) bool { return m.Weight > .8 }) {
			t.Errorf("%q means %v, want nothing certain", word, list)
		}
	}
	all := map[string][]Meaning{"recherche": {{Text: "rare", Weight: .2}}}
	Add(all, got)
	if list := all["recherche"]; len(list) < 2 || list[0].Text != "search" || list[len(list)-1].Text != "rare" {
		t.Errorf("both meanings of recherche: %v", list)
	}
}

// TestPlaces checks that things on maps have their names, the words of these, and their terms, and
// that Chinese titles of icons stand beside their names.
func TestPlaces(t *testing.T) {
	files := fstest.MapFS{
		PlacesPackage + "/dist/translations/pt-BR.min.json": {Data: []byte(`{"pt-BR": {"presets": {"presets": {"shop/bakery": {"name": "Padaria", "terms": "pão, forno", "aliases": "Panificadora\nLoja de pães"}},
			"fields": {"access": {"label": "Acesso", "options": {"yes": "Permitido", "no": {"title": "Proibido"}}}}}}}`)},
		TitlesPackage + "/icons.json": {Data: []byte(`[{"name": "color-card", "title": "色卡", "tag": ["颜色"]}]`)},
	}
	got, err := ReadPlaces(files, "pt")
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]Annotation{
		"preset/shop/bakery": {Name: []string{"Padaria"}, Keywords: []string{"padaria", "pão", "forno", "Panificadora", "Loja de pães"}},
		"field/access":       {Name: []string{"Acesso"}, Keywords: []string{"acesso"}},
		"option/access:yes":  {Name: []string{"Permitido"}, Keywords: []string{"permitido"}},
	} {
		if !slices.Equal(got[k].Name, want.Name) || !slices.Equal(got[k].Keywords, want.Keywords) {
			t.Errorf("%s: %q, want %q", k, got[k], want)
		}
	}
	english, chinese, err := ReadTitles(files)
	if err != nil || english["color-card"].Name[0] != "color card" || !slices.Contains(chinese["color-card"].Keywords, "颜色") {
		t.Errorf("titles %q and %q, error %v", english, chinese, err)
	}
}

// FuzzObjectTexts checks that no text is read forever or beyond its end.
func FuzzObjectTexts(f *testing.F) {
	f.Add(`{"a": {"b": "c\u00"}} // x`)
	f.Add("var a = { `b`: '\\x4' /*")
	f.Fuzz(func(t *testing.T, src string) { objectTexts(src) })
}
