package lexicon

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An InterfacePackage is an npm package with the texts of a user interface in many languages: a
// file for each, or one file with an object for each. It may also be several packages, one for each
// language.
type InterfacePackage struct {
	// Name is that of the package. In all three, %s is the language as the package spells it.
	Name string
	// path is that of the file of a language, and object the path of its object in that file; ""
	// stands for any variable.
	path, object string
	// english is how the package spells English; "" means that the keys are the English texts.
	english string
	// spelled has the languages that the package spells differently from CLDR; "" means that it
	// has none of that language.
	spelled map[string]string
	// plain, if not nil, maps letters of the English texts to those of the alphabet.
	plain *strings.Replacer
}

// InterfacePackages are those that the embedded lexicon learns words of user interfaces from. Each
// has most of Languages.
var InterfacePackages = []InterfacePackage{
	{Name: "@ag-grid-community/locale", path: "dist/package/main.esm.mjs", object: "AG_GRID_LOCALE_%s", english: "EN",
		spelled: map[string]string{
			"ar": "EG", "de": "DE", "es": "ES", "fr": "FR", "it": "IT", "ja": "JP", "ko": "KR", "nl": "NL",
			"pl": "PL", "pt": "BR", "ru": "", "tr": "TR", "uk": "UA", "zh": "CN", "zh-Hant": "TW",
		}},
	{Name: "@aws-amplify/ui", path: "dist/esm/i18n/dictionaries/authenticator/%s.mjs",
		spelled: map[string]string{"ar": "", "ko": "kr", "uk": "ua", "zh-Hant": ""}},
	{Name: "@clerk/localizations", path: "dist/%s.mjs", english: "en-US", spelled: map[string]string{
		"ar": "ar-SA", "de": "de-DE", "es": "es-ES", "fr": "fr-FR", "it": "it-IT", "ja": "ja-JP", "ko": "ko-KR",
		"nl": "nl-NL", "pl": "pl-PL", "pt": "pt-BR", "ru": "ru-RU", "tr": "tr-TR", "uk": "uk-UA",
		"zh": "zh-CN", "zh-Hant": "zh-TW",
	}},
	// Visual Studio Code's texts, as lists. The English ones are in a language for tests, which has
	// them in other letters.
	{Name: "@codingame/monaco-vscode-language-pack-%s", path: "translations/main.i18n.json.js", english: "qps-ploc",
		spelled: map[string]string{
			"ar": "", "nl": "", "pt": "pt-br", "uk": "", "zh": "zh-hans", "zh-Hant": "zh-hant",
		}, plain: pseudo},
	{Name: "cldr-localenames-full", path: "main/%s/territories.json", object: "/main/%s/localeDisplayNames/territories", english: "en"},
	{Name: "@electerm/electerm-locales", path: "dist/esm/%s.mjs", english: "en_us", spelled: map[string]string{
		"ar": "ar_ar", "de": "de_de", "es": "es_es", "fr": "fr_fr", "it": "", "ja": "ja_jp", "ko": "ko_kr", "nl": "",
		"pl": "pl_pl", "pt": "pt_br", "ru": "ru_ru", "tr": "tr_tr", "uk": "",
		"zh": "zh_cn", "zh-Hant": "zh_tw",
	}},
	{Name: "@openui5/sap.m", path: "src/sap/m/messagebundle_%s.properties", english: "en", spelled: chinese},
	{Name: "@openui5/sap.ui.core", path: "src/sap/ui/core/messagebundle_%s.properties", english: "en", spelled: chinese},
	{Name: "@openui5/sap.ui.mdc", path: "src/sap/ui/mdc/messagebundle_%s.properties", english: "en", spelled: chinese},
	{Name: "@openui5/sap.ui.unified", path: "src/sap/ui/unified/messagebundle_%s.properties", english: "en", spelled: chinese},
	{Name: "@payloadcms/translations", path: "dist/languages/%s.js", english: "en", spelled: map[string]string{"zh-Hant": "zhTw"}},
	{Name: "@uppy/locales", path: "lib/%s.js", english: "en_US", spelled: map[string]string{
		"ar": "ar_SA", "de": "de_DE", "es": "es_ES", "fr": "fr_FR", "it": "it_IT", "ja": "ja_JP", "ko": "ko_KR",
		"nl": "nl_NL", "pl": "pl_PL", "pt": "pt_BR", "ru": "ru_RU", "tr": "tr_TR", "uk": "uk_UA",
		"zh": "zh_CN", "zh-Hant": "zh_TW",
	}},
	{Name: "jodit", path: "esm/langs/%s.js", spelled: map[string]string{"pt": "pt_br", "uk": "ua", "zh": "zh_cn", "zh-Hant": "zh_tw"}},
	{Name: "keycloakify", path: "account/i18n/messages_defaultSet/%s.js", english: "en",
		spelled: map[string]string{"ko": "", "pt": "pt-BR", "uk": "", "zh": "zh-CN", "zh-Hant": ""}},
	{Name: "keycloakify", path: "login/i18n/messages_defaultSet/%s.js", english: "en",
		spelled: map[string]string{"ko": "", "pt": "pt-BR", "zh": "zh-CN", "zh-Hant": "zh-TW"}},
	{Name: "primelocale", path: "%s.json", english: "en",
		spelled: map[string]string{"ar": "", "ko": "", "pt": "pt-BR", "zh": "zh-CN", "zh-Hant": "zh-TW"}},
}

// chinese is how Java spells languages.
var chinese = map[string]string{"zh": "zh_CN", "zh-Hant": "zh_TW"}

// pseudo maps the letters of a pseudo-language, in which developers test their texts, to English
// ones.
var pseudo = strings.NewReplacer("Æ", "A", "æ", "a", "Ç", "C", "ç", "c", "Ð", "D", "ð", "d", "Ë", "E", "ë", "e", "Ï",
	"I", "ï", "i", "Ñ", "N", "ñ", "n", "Ø", "O", "ø", "o", "þ", "b", "Þ", "B", "ß", "B",
	"§", "S", "Ü", "U", "ü", "u", "µ", "u", "Ý", "Y", "ÿ", "y")

// ReadInterfaces returns the texts of a language in packages, which lie in a node_modules folder.
func ReadInterfaces(modules fs.FS, packages []InterfacePackage, language string) (all Parallel, err error) {
	all = Parallel{English: Annotations{}, Foreign: Annotations{}}
	for _, p := range packages {
		english, foreign, err := p.Texts(modules, language)
		if err != nil {
			return all, fmt.Errorf("reading texts of %s: %w", p.Name, err)
		}
		maps.Copy(all.English, english)
		maps.Copy(all.Foreign, foreign)
	}
	return all, nil
}

// Packages returns the names of the packages.
func (p InterfacePackage) Packages() (names []string) {
	for _, language := range slices.Concat([]string{"en"}, Languages) {
		spelled := p.spelling(language)
		if name := strings.ReplaceAll(p.Name, "%s", spelled); spelled != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// spelling returns a language as the package spells it, or "".
func (p InterfacePackage) spelling(language string) string {
	if language == "en" {
		return cmp.Or(p.english, "en")
	}
	if spelled, differs := p.spelled[language]; differs {
		return spelled
	}
	return language
}

// Texts returns the texts of a language and the same in English, by their keys, both as annotations
// without emoji: a short text is a name, and its words are keywords. The files are those of a
// node_modules folder.
func (p InterfacePackage) Texts(files fs.FS, language string) (english, foreign Annotations, err error) {
	spelled := p.spelling(language)
	english, foreign = Annotations{}, Annotations{}
	if spelled == "" {
		return english, foreign, nil
	}
	theirs, err := p.read(files, spelled)
	if err != nil {
		return nil, nil, err
	}
	ours := map[string]string{}
	if p.english != "" {
		if ours, err = p.read(files, p.english); err != nil {
			return nil, nil, err
		}
	}
	for k, text := range theirs {
		original := ours[k]
		if p.english == "" {
			original = k
		}
		if p.plain != nil {
			original = p.plain.Replace(original)
		}
		if a, b := annotation(original), annotation(text); original != text && len(a.Name) > 0 && len(b.Name) > 0 {
			k = p.Name + "/" + path.Dir(p.path) + "/" + k // of several folders
			english[k], foreign[k] = a, b
		}
	}
	return english, foreign, nil
}

// read returns the texts of a language by key.
func (p InterfacePackage) read(files fs.FS, spelled string) (map[string]string, error) {
	name := strings.ReplaceAll(path.Join(p.Name, p.path), "%s", spelled)
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	switch {
	case strings.HasSuffix(name, ".properties"):
		texts = propertyTexts(string(data))
	case p.plain != nil:
		texts = listTexts(string(data))
	default:
		object := strings.ReplaceAll(p.object, "%s", spelled)
		for path, text := range objectTexts(string(data)) {
			_, k, ok := strings.Cut(path, "/")
			if object != "" {
				k, ok = strings.CutPrefix(path, object+"/")
			}
			if ok {
				texts[k] = text
			}
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%w: %s has no texts", ErrSource, name)
	}
	return texts, nil
}

const (
	maxInterfaceTerm  = 3  // words of a text that is a term
	maxInterfaceText  = 6  // words of a text whose words are compared
	maxCharacters     = 12 // the same for scripts that put no spaces between words
	minPartCharacters = 2  // of a word in such a text
	maxPartCharacters = 4
)

// annotation returns a text as a name, and its words as keywords. It returns none for a long text,
// or one with places for values.
func annotation(text string) (a Annotation) {
	text = strings.TrimRight(strings.TrimSpace(text), " .…:!?。：！？")
	if strings.ContainsAny(text, "{}<>%$0123456789") || text == "" {
		return a
	}
	list := words(text)
	if len(list) == 0 || len(list) > maxInterfaceText {
		return a
	}
	if len(list) <= maxInterfaceTerm {
		a.Name = []string{text}
	}
	for _, w := range list {
		if r, _ := utf8.DecodeRuneInString(w); unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			a.Keywords = append(a.Keywords, parts(w)...)
		} else if !stop[w] {
			a.Keywords = append(a.Keywords, w)
		}
	}
	return a
}

// parts returns all pieces of a few characters of a text without spaces, because its words are
// among them.
func parts(text string) (list []string) {
	runes := []rune(text)
	if len(runes) > maxCharacters {
		return nil
	}
	for from := range runes {
		for to := from + minPartCharacters; to <= min(len(runes), from+maxPartCharacters); to++ {
			list = append(list, string(runes[from:to]))
		}
	}
	return list
}

// propertyTexts returns the texts of a file of Java properties by their keys: a line for each, with
// Unicode escapes. It leaves out texts of several lines, which are long.
func propertyTexts(src string) map[string]string {
	texts := map[string]string{}
	for line := range strings.Lines(src) {
		k, text, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(k, "#") || strings.HasSuffix(text, `\`) {
			continue
		}
		text, _ = literal(`"` + text + `"`)
		texts[strings.TrimSpace(k)] = strings.TrimSpace(text)
	}
	return texts
}

// listTexts returns the strings of a list that has one a line, by their line numbers.
func listTexts(src string) map[string]string {
	texts, n := map[string]string{}, 0
	for line := range strings.Lines(src) {
		n++
		if line = strings.TrimSpace(line); strings.HasPrefix(line, `"`) {
			texts[strconv.Itoa(n)], _ = literal(line)
		}
	}
	return texts
}

// objectTexts returns the strings in the object literals of a file of JavaScript or JSON, by the
// path of their keys, joined by slashes. The first part of a path is the name of the variable, or
// empty.
func objectTexts(src string) map[string]string {
	texts := map[string]string{}
	var path []string
	// The last name or string, the key of the next value, and the last sign.
	last, k, after := "", "", byte(0)
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case strings.HasPrefix(src[i:], "//"):
			i += skip(src[i:], "\n")
		case strings.HasPrefix(src[i:], "/*"):
			i += skip(src[i:], "*/")
		case c == '"' || c == '\'' || c == '`':
			text, size := literal(src[i:])
			i += size
			if after == ':' && k != "" {
				texts[strings.Join(append(slices.Clone(path), k), "/")] = text
				k = ""
			}
			last, after = text, 0
		case isName(c):
			from := i
			for i < len(src) && isName(src[i]) {
				i++
			}
			last, after = src[from:i], 0
		default:
			switch c {
			case ':', '=':
				k, after = last, c
			case '{':
				path, k, after = append(path, k), "", c
			case '}':
				path, k, after = path[:max(0, len(path)-1)], "", c
			case ',', ';':
				k, after = "", c
			}
			i++
		}
	}
	return texts
}

func isName(c byte) bool {
	return c == '_' || c == '$' || c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// skip returns the number of bytes up to the end of a mark.
func skip(src, mark string) int {
	if i := strings.Index(src, mark); i >= 0 {
		return i + len(mark)
	}
	return len(src)
}

// literal returns the text of a string literal, and the number of its bytes.
func literal(src string) (text string, size int) {
	quote := src[0]
	var b strings.Builder
	for i := 1; i < len(src); {
		switch {
		case src[i] == quote:
			return b.String(), i + 1
		case src[i] == '\\' && i+1 < len(src):
			if r, _, rest, err := strconv.UnquoteChar(src[i:], quote); err == nil {
				b.WriteRune(r)
				i = len(src) - len(rest)
			} else { // an escape that Go does not have, such as \/
				b.WriteByte(src[i+1])
				i += 2
			}
		default:
			b.WriteByte(src[i])
			i++
		}
	}
	return b.String(), len(src)
}
