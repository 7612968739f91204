package publish

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/origin/release"
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
	order, err := positionsIn(t, "collections.json")
	if err != nil {
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
			f.raw = compactObject(raw)
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
	// The order of collections.json; hidden packs, which it lacks, follow.
	slices.SortStableFunc(packs, func(a, b source) int { return cmp.Compare(order.of(a), order.of(b)) })
	return packs, nil
}

// positions maps the keys of packs to their positions in a list.
type positions map[string]int

func (p positions) of(s source) int {
	if at, listed := p[s.about().key]; listed {
		return at
	}
	return len(p)
}

// positionsIn returns the positions of the members of the object in a small file.
func positionsIn(t *tree, name string) (positions, error) {
	b, err := fs.ReadFile(t, name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	at := positions{}
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte("\uFEFF"))))
	return at, object(d, func(name string) error {
		at[name] = len(at)
		return skip(d)
	})
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
	if own, err := ownInfo(t, f.path); err == nil && own.raw != nil {
		f.raw = own.raw
	} else if raw, err := fs.ReadFile(t, from); err == nil {
		f.raw = compactObject(raw)
	}
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

	lastModified               int64
	chars                      map[string]string
	prefixes, suffixes, themes json.RawMessage
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
		case "lastModified":
			return decodeOr(d, &c.lastModified)
		case "chars":
			return decodeOr(d, &c.chars)
		case "prefixes":
			return decodeObject(d, &c.prefixes)
		case "suffixes":
			return decodeObject(d, &c.suffixes)
		case "themes":
			return decodeObject(d, &c.themes)
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

// decodeOr decodes a member that no icon needs. A value of another type counts as absent, because
// it must not prevent a publication.
func decodeOr[T any](d *json.Decoder, into *T) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	var v T
	if json.Unmarshal(raw, &v) == nil {
		*into = v
	}
	return nil
}

// decodeObject stores a member that must be an object, without white space.
func decodeObject(d *json.Decoder, into *json.RawMessage) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	*into = compactObject(raw)
	return nil
}

// compactObject returns a JSON object without white space, or nil if raw is none.
func compactObject(raw []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || !bytes.HasPrefix(b.Bytes(), []byte{'{'}) {
		return nil
	}
	return b.Bytes()
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
	var raw json.RawMessage
	if err = member(t, name, "info", &raw); err != nil || raw == nil {
		return in, err
	}
	err = json.Unmarshal(raw, &in)
	in.raw = compactObject(raw)
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

// about returns what the file says about the pack as a whole.
func (c *collection) about() release.Set {
	return release.Set{
		LastModified: c.lastModified, Width: numberOr(c.defaults.Width, 0), Height: numberOr(c.defaults.Height, 0),
		Chars: c.chars, Prefixes: c.prefixes, Suffixes: c.suffixes, Themes: c.themes,
	}
}
