package publish

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
)

// A packFile is one pack in Iconify's form (IconifyJSON of @iconify/types), not yet read.
type packFile struct {
	info
	tree     *tree
	path     string // in the tree
	metadata string // another file with the categories, or ""
	bytes    int64
}

// openLibrary opens the npm package of @iconify/json. A pack that its collections.json lacks is
// hidden.
func openLibrary(t *tree) ([]source, error) {
	var listed map[string]json.RawMessage
	if err := readJSON(t, "collections.json", &listed); err != nil {
		return nil, err
	}
	const dir = "json"
	files, err := t.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	var packs []source
	for _, file := range files {
		key, ok := strings.CutSuffix(file.Name(), ".json")
		if !ok {
			continue
		}
		f := &packFile{tree: t, path: path.Join(dir, file.Name())}
		from := t.fullPath(f.path)
		if err := f.stat(); err != nil {
			return nil, err
		}
		if raw, ok := listed[key]; ok {
			err = json.Unmarshal(raw, &f.info)
		} else {
			f.info, err = ownInfo(t, f.path)
			f.Hidden = true
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrSource, from, err)
		}
		f.key, f.from = key, from
		packs = append(packs, f)
	}
	return packs, nil
}

// openPackage opens an npm package of @iconify-json. Without an info.json, it reads the info member
// of icons.json.
func openPackage(t *tree) ([]source, error) {
	f := &packFile{tree: t, path: "icons.json"}
	var about struct {
		info
		Prefix string `json:"prefix"`
	}
	if err := f.stat(); err != nil {
		return nil, err
	}
	from := "info.json"
	err := readJSON(t, from, &about)
	if errors.Is(err, os.ErrNotExist) {
		from = f.path
		about.info, err = ownInfo(t, f.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSource, t.fullPath(from), err)
	}
	f.info = about.info
	f.from = t.fullPath(from)
	if f.key = about.Prefix; f.key == "" {
		if f.key, err = ownPrefix(t, f.path); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrSource, t.fullPath(f.path), err)
		}
	}
	switch file, err := t.Open("metadata.json"); {
	case err == nil:
		file.Close()
		f.metadata = "metadata.json"
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	return []source{f}, nil
}

// stat sets the size of the file. It returns an error if the file can't be read.
func (f *packFile) stat() error {
	file, err := f.tree.large().Open(f.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	f.bytes = fi.Size()
	return nil
}

func (f *packFile) about() *info { return &f.info }
func (f *packFile) size() int64  { return f.bytes }

func (f *packFile) digest(_ context.Context, w io.Writer) error {
	if err := f.tree.large().copyTo(w, f.path); err != nil || f.metadata == "" {
		return err
	}
	return f.tree.copyTo(w, f.metadata)
}

// read decodes the file icon by icon, so that memory holds each icon body once and nothing else.
func (f *packFile) read(ctx context.Context) (*set, error) {
	file, err := f.tree.large().Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	from := f.tree.fullPath(f.path)
	d := json.NewDecoder(bufio.NewReaderSize(file, 1<<16))
	c := collection{icons: map[string]*entry{}, aliases: map[string]*entry{}, defaults: emptyEntry()}
	if err := c.read(ctx, d); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSource, from, err)
	}
	if c.prefix != f.key {
		return nil, fmt.Errorf("%w: %s: its prefix is %s, not %s", ErrSource, from, printable(c.prefix), f.key)
	}
	if f.metadata != "" {
		var more struct{ Categories map[string][]string }
		if err := readJSON(f.tree, f.metadata, &more); err != nil {
			return nil, err
		}
		if c.categories == nil {
			c.categories = more.Categories
		}
	}
	return c.set(ctx)
}

// A collection is the content of a packFile.
type collection struct {
	prefix     string
	icons      map[string]*entry
	aliases    map[string]*entry
	defaults   entry
	categories map[string][]string
}

// An entry is an icon (with a body) or an alias (with a parent). NaN stands for an absent number.
type entry struct {
	Body   text    `json:"body"`
	Parent string  `json:"parent"`
	Left   float64 `json:"left"`
	Top    float64 `json:"top"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	HFlip  bool    `json:"hFlip"`
	VFlip  bool    `json:"vFlip"`
	Rotate float64 `json:"rotate"` // quarter turns
	Hidden *bool   `json:"hidden"`
}

func emptyEntry() entry {
	nan := math.NaN()
	return entry{Left: nan, Top: nan, Width: nan, Height: nan}
}

func (c *collection) read(ctx context.Context, d *json.Decoder) error {
	entries := func(into map[string]*entry) error {
		return object(d, func(name string) error {
			e := emptyEntry()
			if err := d.Decode(&e); err != nil {
				return fmt.Errorf("%s: %w", printable(name), err)
			}
			into[name] = &e
			return ctx.Err()
		})
	}
	return object(d, func(name string) error {
		switch name {
		case "prefix":
			return d.Decode(&c.prefix)
		case "icons":
			return entries(c.icons)
		case "aliases":
			return entries(c.aliases)
		case "categories":
			return d.Decode(&c.categories)
		case "left":
			return d.Decode(&c.defaults.Left)
		case "top":
			return d.Decode(&c.defaults.Top)
		case "width":
			return d.Decode(&c.defaults.Width)
		case "height":
			return d.Decode(&c.defaults.Height)
		}
		return skip(d)
	})
}

// errFound ends the reading of a file once the wanted member is found.
var errFound = errors.New("found")

// member decodes one member of the object in a file. A file without it leaves into unchanged.
func member(t *tree, name, wanted string, into any) error {
	file, err := t.large().Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	d := json.NewDecoder(file)
	err = object(d, func(name string) error {
		if name != wanted {
			return skip(d)
		}
		if err := d.Decode(into); err != nil {
			return err
		}
		return errFound
	})
	if err == errFound {
		return nil
	}
	return err
}

// ownInfo returns the info member of a pack's file.
func ownInfo(t *tree, name string) (in info, err error) {
	err = member(t, name, "info", &in)
	return in, err
}

func ownPrefix(t *tree, name string) (prefix string, err error) {
	err = member(t, name, "prefix", &prefix)
	return prefix, err
}

// readJSON reads a small file. The error wraps ErrSource, and os.ErrNotExist for an absent file.
func readJSON(t *tree, name string, into any) error {
	b, err := fs.ReadFile(t, name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	// Some editors write a byte order mark.
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\uFEFF")), into); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrSource, t.fullPath(name), err)
	}
	return nil
}

// globQuote returns the pattern that matches only path.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
