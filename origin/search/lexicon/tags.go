package lexicon

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// open reads one folder.
func (l *Lexicon) open(from Folder, sum hash.Hash) error {
	var files []string
	for _, kind := range kinds {
		files = append(files, kind.file)
		switch _, err := fs.Stat(from.Files, kind.file); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		}
		if err := digest(sum, kind.name, from, kind.file); err != nil {
			return err
		}
		return kind.read(l, from, kind.file)
	}
	return fmt.Errorf("%w: it must have one of the files %s", ErrSource, strings.Join(files, ", "))
}

func digest(sum hash.Hash, kind string, from Folder, path string) error {
	fmt.Fprintf(sum, "%s\n", kind)
	f, err := from.Files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(sum, f)
	return err
}

// A word is a tag in a project's file. Some are numbers, and a few are null.
type word string

func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*w = word(s)
		return nil
	}
	*w = word(b)
	if *w == "null" {
		*w = ""
	}
	return nil
}

// readTags reads lucide's form: {"house": ["home", "living"]}.
func (l *Lexicon) readTags(from Folder, path string) error {
	var icons map[string][]word
	if err := readJSON(from, path, &icons); err != nil {
		return err
	}
	return l.add(from, icons)
}

// readNamed returns the reader of an object of icons by their names. tagsOf returns the tags of an
// icon.
func readNamed[A any](tagsOf func(A) []word) func(l *Lexicon, from Folder, path string) error {
	return func(l *Lexicon, from Folder, path string) error {
		var file map[string]A
		if err := readJSON(from, path, &file); err != nil {
			return err
		}
		icons := map[string][]word{}
		for name, about := range file {
			icons[name] = tagsOf(about)
		}
		return l.add(from, icons)
	}
}

var (
	// readIcons reads tabler's form: {"home": {"category": "Buildings", "tags": ["house"]}}.
	readIcons = readNamed(func(a struct{ Tags []word }) []word { return a.Tags })
	// readTerms reads the form of Font Awesome: {"house": {"search": {"terms": ["abode"]}}}.
	readTerms = readNamed(func(a struct{ Search struct{ Terms []word } }) []word { return a.Search.Terms })
	// readKeywords reads the form of Octicons: {"home": {"keywords": ["building"]}}.
	readKeywords = readNamed(func(a struct{ Keywords []word }) []word { return a.Keywords })
)

// readMeta reads the form of Material Design Icons: [{"name": "home", "aliases": ["house"]}].
func (l *Lexicon) readMeta(from Folder, path string) error {
	var file []struct {
		Name    string
		Aliases []word
	}
	if err := readJSON(from, path, &file); err != nil {
		return err
	}
	icons := map[string][]word{}
	for _, about := range file {
		icons[about.Name] = about.Aliases
	}
	return l.add(from, icons)
}

// phosphorIcon is an icon in the list of phosphor-icons: a name, and later its tags. A tag between
// asterisks is no word of the icon.
var phosphorIcon = regexp.MustCompile(`(?s)\bname: "([a-z0-9-]+)",.*?\btags: \[([^\]]*)\]`)

// readModule reads phosphor's form, a module of JavaScript.
func (l *Lexicon) readModule(from Folder, path string) error {
	data, err := fs.ReadFile(from.Files, path)
	if err != nil {
		return err
	}
	icons := map[string][]word{}
	for _, found := range phosphorIcon.FindAllSubmatch(data, -1) {
		var tags []string
		if err := json.Unmarshal(fmt.Appendf(nil, "[%s]", found[2]), &tags); err != nil {
			return fmt.Errorf("%w: the tags of %s: %w", ErrSource, found[1], err)
		}
		for _, tag := range tags {
			if !strings.HasPrefix(tag, "*") {
				icons[string(found[1])] = append(icons[string(found[1])], word(tag))
			}
		}
	}
	return l.add(from, icons)
}

// readEmoji reads CLDR's annotations: an emoji's name is that of an icon, and its keywords are
// tags.
func (l *Lexicon) readEmoji(from Folder, _ string) error {
	annotations, err := ReadAnnotations(from.Files, "en")
	if err != nil {
		return err
	}
	icons := map[string][]word{}
	for _, of := range annotations {
		for _, name := range of.Name {
			for _, k := range of.Keywords {
				icons[name] = append(icons[name], word(k))
			}
		}
	}
	return l.add(from, icons)
}

func (l *Lexicon) add(from Folder, icons map[string][]word) error {
	p := Project{Name: filepath.Base(from.Name)}
	for _, name := range slices.Sorted(maps.Keys(icons)) {
		tagged := Tagged{Name: name}
		for _, w := range icons[name] {
			tagged.Tags = append(tagged.Tags, string(w))
		}
		p.Icons = append(p.Icons, tagged)
	}
	if len(p.Icons) == 0 {
		return fmt.Errorf("%w: it has no icons", ErrSource)
	}
	l.Projects = append(l.Projects, p)
	return nil
}

func readJSON(from Folder, path string, into any) error {
	data, err := fs.ReadFile(from.Files, path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	return nil
}
