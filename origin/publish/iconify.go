package publish

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// A packFile is one pack in Iconify's form (IconifyJSON of @iconify/types), not yet read.
type packFile struct {
	info
	path     string
	metadata string // another file with the categories, or ""
	bytes    int64
}

// openLibrary opens the npm package of @iconify/json. A pack that its collections.json lacks is hidden.
func openLibrary(path string) ([]source, error) {
	var listed map[string]json.RawMessage
	if err := readJSON(filepath.Join(path, "collections.json"), &listed); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(globQuote(path), "json", "*.json"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	var packs []source
	for _, file := range files {
		f := &packFile{path: file}
		if raw, ok := listed[strings.TrimSuffix(filepath.Base(file), ".json")]; ok {
			err = json.Unmarshal(raw, &f.info)
		} else {
			f.info, err = ownInfo(file)
			f.Hidden = true
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrSource, file, err)
		}
		f.key, f.from = strings.TrimSuffix(filepath.Base(file), ".json"), file
		if err := f.stat(); err != nil {
			return nil, err
		}
		packs = append(packs, f)
	}
	return packs, nil
}

// openPackage opens an npm package of @iconify-json. The info that is part of icons.json counts where there is no info.json.
func openPackage(path string) ([]source, error) {
	f := &packFile{path: filepath.Join(path, "icons.json")}
	var about struct {
		info
		Prefix string `json:"prefix"`
	}
	from := filepath.Join(path, "info.json")
	err := readJSON(from, &about)
	if errors.Is(err, os.ErrNotExist) {
		from = f.path
		about.info, err = ownInfo(f.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSource, from, err)
	}
	f.info = about.info
	f.from = from
	if f.key = about.Prefix; f.key == "" {
		if f.key, err = ownPrefix(f.path); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrSource, f.path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(path, "metadata.json")); err == nil {
		f.metadata = filepath.Join(path, "metadata.json")
	}
	return []source{f}, f.stat()
}

func (f *packFile) stat() error {
	fi, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	f.bytes = fi.Size()
	return nil
}

func (f *packFile) about() *info { return &f.info }
func (f *packFile) size() int64  { return f.bytes }

func (f *packFile) digest(w io.Writer) error {
	for _, path := range []string{f.path, f.metadata} {
		if path == "" {
			continue
		}
		if err := copyFile(w, path); err != nil {
			return err
		}
	}
	return nil
}

// read decodes the file icon by icon: what is held is the bodies, and once.
func (f *packFile) read(ctx context.Context) (*set, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d := json.NewDecoder(bufio.NewReaderSize(file, 1<<16))
	c := collection{icons: map[string]*entry{}, aliases: map[string]*entry{}, defaults: bare()}
	if err := c.read(ctx, d); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSource, f.path, err)
	}
	if c.prefix != f.key {
		return nil, fmt.Errorf("%w: %s: its prefix is %s, not %s", ErrSource, f.path, printable(c.prefix), f.key)
	}
	if f.metadata != "" {
		var more struct{ Categories map[string][]string }
		if err := readJSON(f.metadata, &more); err != nil {
			return nil, err
		}
		if c.categories == nil {
			c.categories = more.Categories
		}
	}
	return c.set(), nil
}

// A collection is a pack as its file has it.
type collection struct {
	prefix     string
	icons      map[string]*entry
	aliases    map[string]*entry
	defaults   entry
	categories map[string][]string
}

// An entry is an icon (with a body) or an alias (with a parent). A side that is not given is NaN.
type entry struct {
	Body   text    `json:"body"`
	Parent string  `json:"parent"`
	Left   float64 `json:"left"`
	Top    float64 `json:"top"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	HFlip  bool    `json:"hFlip"`
	VFlip  bool    `json:"vFlip"`
	Rotate float64 `json:"rotate"` // in quarters
	Hidden *bool   `json:"hidden"`
}

func bare() entry {
	nan := math.NaN()
	return entry{Left: nan, Top: nan, Width: nan, Height: nan}
}

func (c *collection) read(ctx context.Context, d *json.Decoder) error {
	entries := func(into map[string]*entry) error {
		return object(d, func(name string) error {
			e := bare()
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

// errFound ends the reading of a file of which one member was wanted.
var errFound = errors.New("found")

func member(path, wanted string, into any) error {
	file, err := os.Open(path)
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

// ownInfo is the info that is part of a pack's file.
func ownInfo(path string) (in info, err error) {
	err = member(path, "info", &in)
	return in, err
}

func ownPrefix(path string) (prefix string, err error) {
	err = member(path, "prefix", &prefix)
	return prefix, err
}

// readJSON reads a small file. The error is ErrSource, and os.ErrNotExist where that is so.
func readJSON(path string, into any) error {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(bytes.TrimPrefix(b, []byte("\uFEFF")), into) // editors put the mark there
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrSource, path, err)
	}
	return nil
}

// globQuote makes a pattern of a path that matches itself alone.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
