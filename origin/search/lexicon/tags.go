package lexicon

import (
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// open reads one folder.
func (l *Lexicon) open(folder string, sum hash.Hash) error {
	for _, kind := range kinds {
		path := filepath.Join(folder, kind.file)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := digest(sum, kind.name, path); err != nil {
			return err
		}
		return kind.read(l, path)
	}
	return fmt.Errorf("%w: it must have a tags.json, icons.json, meta.json or dict/data.noun", ErrSource)
}

func digest(sum hash.Hash, kind, path string) error {
	fmt.Fprintf(sum, "%s\n", kind)
	f, err := os.Open(path)
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
func (l *Lexicon) readTags(path string) error {
	var icons map[string][]word
	if err := readJSON(path, &icons); err != nil {
		return err
	}
	return l.add(path, icons)
}

// readIcons reads tabler's form: {"home": {"category": "Buildings", "tags": ["house"]}}.
func (l *Lexicon) readIcons(path string) error {
	var file map[string]struct{ Tags []word }
	if err := readJSON(path, &file); err != nil {
		return err
	}
	icons := map[string][]word{}
	for name, about := range file {
		icons[name] = about.Tags
	}
	return l.add(path, icons)
}

// readMeta reads the form of Material Design Icons: [{"name": "home", "aliases": ["house"]}].
func (l *Lexicon) readMeta(path string) error {
	var file []struct {
		Name    string
		Aliases []word
	}
	if err := readJSON(path, &file); err != nil {
		return err
	}
	icons := map[string][]word{}
	for _, about := range file {
		icons[about.Name] = about.Aliases
	}
	return l.add(path, icons)
}

func (l *Lexicon) add(path string, icons map[string][]word) error {
	p := Project{Name: filepath.Base(filepath.Dir(path))}
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

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	return nil
}
