package lexicon

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// PlacesPackage is the npm package with OpenStreetMap's names of things on maps in many languages:
// shops, vehicles, sports, furniture.
const PlacesPackage = "@openstreetmap/id-tagging-schema"

// placesIn has the languages that PlacesPackage spells differently from CLDR.
var placesIn = map[string]string{"pt": "pt-BR", "zh": "zh-CN", "zh-Hant": "zh-TW"}

// ReadPlaces returns the names of things on maps, and the words by which people look for them, in
// one language. The files are those of a node_modules folder.
func ReadPlaces(files fs.FS, language string) (Annotations, error) {
	if spelled := placesIn[language]; spelled != "" {
		language = spelled
	}
	name := path.Join(PlacesPackage, "dist", "translations", language+".min.json")
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var file map[string]struct {
		Presets struct {
			Presets map[string]struct{ Name, Terms, Aliases string }
			Fields  map[string]struct {
				Label   string
				Options map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	all := Annotations{}
	for id, p := range file[language].Presets.Presets {
		all["preset/"+id] = titled(p.Name, strings.FieldsFunc(p.Terms+"\n"+p.Aliases, func(r rune) bool { return r == ',' || r == '\n' }))
	}
	for id, f := range file[language].Presets.Fields {
		all["field/"+id] = titled(f.Label, nil)
		for value, option := range f.Options {
			var text string
			if json.Unmarshal(option, &text) == nil { // others have a title and a description
				all["option/"+id+":"+value] = titled(text, nil)
			}
		}
	}
	return all, nil
}

// titled returns a name, with its words and other terms as keywords.
func titled(name string, terms []string) Annotation {
	a := annotation(name)
	for _, term := range terms {
		if term = strings.TrimSpace(term); len(words(term)) <= maxInterfaceTerm && !slices.Contains(a.Keywords, term) {
			a.Keywords = append(a.Keywords, term)
		}
	}
	return a
}

// TitlesPackage is the npm package with icons that have English names and Chinese titles.
const TitlesPackage = "@icon-park/svg"

// ReadTitles returns the titles and tags of its icons, by their names. The files are those of a
// node_modules folder.
func ReadTitles(files fs.FS) (english, chinese Annotations, err error) {
	data, err := fs.ReadFile(files, path.Join(TitlesPackage, "icons.json"))
	if err != nil {
		return nil, nil, err
	}
	var icons []struct {
		Name, Title string
		Tag         []string
	}
	if err := json.Unmarshal(data, &icons); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", TitlesPackage, err)
	}
	english, chinese = Annotations{}, Annotations{}
	for _, ic := range icons {
		english[ic.Name], chinese[ic.Name] = annotation(strings.ReplaceAll(ic.Name, "-", " ")), titled(ic.Title, ic.Tag)
	}
	return english, chinese, nil
}
