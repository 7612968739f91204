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
	"slices"
)

// open reads one folder.
func (l *Lexicon) open(from Folder, sum hash.Hash) error {
	for _, kind := range kinds {
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
	return fmt.Errorf("%w: it must have a tags.json, icons.json, meta.json, dict/data.noun or %s", ErrSource, annotationsOf("en"))
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

// readIcons reads tabler's form: {"home": {"category": "Buildings", "tags": ["house"]}}.
func (l *Lexicon) readIcons(from Folder, path string) error {
	var file map[string]struct{ Tags []word }
	if err := readJSON(from, path, &file); err != nil {
		return err
	}
	icons := map[string][]word{}
	for name, about := range file {
		icons[name] = about.Tags
	}
	return l.add(from, icons)
}

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
