package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/svg"
)

// A source is one pack before it is read.
type source interface {
	about() *info
	size() int64 // in bytes, for the order of work and the progress
	// digest writes the whole content of the pack, except its info.
	digest(ctx context.Context, w io.Writer) error
	// read returns the icons. It is called once.
	read(ctx context.Context) (*set, error)
}

// A set holds the icons and aliases of one pack, not yet cleaned.
type set struct {
	icons   []rawIcon   // sorted by name; they include the icon of each alias
	about   release.Set // without the fields that depend on the icons
	leftOut []release.Omission
}

func (s *set) omit(name, reason string) {
	s.leftOut = append(s.leftOut, release.Omission{Name: printable(name), Reason: reason})
}

// A rawIcon is one icon or alias, not yet cleaned.
type rawIcon struct {
	name       string
	of         string // the icon of an alias; empty for an icon
	same       bool   // the alias shows its icon without a change
	own        bool   // the alias is more than another name of its icon
	turn       *release.Turn
	hidden     bool
	categories []string
	tags       []string
	clean      func() (svg.Icon, error) // returns svg.ErrUnclean for an invalid icon
}

// open finds the packs of a source. It accepts these forms, each also as KEY=SOURCE, which gives
// the only pack of the source that key:
//
//   - the folder of the npm package of @iconify/json: collections.json and json/*.json,
//   - that of an npm package of @iconify-json, one pack: icons.json, info.json and metadata.json,
//   - a folder of SVG files with a pack.json or a package.json, which is one pack,
//   - a folder that has, for each pack, such a folder,
//   - npm:NAME@VERSION, a package in one of these forms (see npmPackage).
func (p *publication) open(ctx context.Context, arg string) ([]source, error) {
	key, path := splitKey(arg)
	name := ""
	if spec, ok := strings.CutPrefix(path, npmPrefix); ok {
		var err error
		if path, name, err = p.npmPackage(ctx, spec); err != nil {
			return nil, err
		}
	}
	t, err := p.openTree(ctx, path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w: %s", ErrSource, ErrNoSource, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	t.name = packageKey(name) // the folder of a package has another name
	found, err := p.openTreeAs(t, key)
	if err == nil && key != "" && !slices.ContainsFunc(found, func(s source) bool { return s.about().key == key }) {
		err = fmt.Errorf("%w: %s gives a key to the only pack of a folder of SVG files; %s has %s of another kind", ErrSource,
			arg, path, counted(len(found), "pack"))
	}
	return found, err
}

// splitKey splits KEY=SOURCE. Without a key, or if a folder has that name, all is the source.
func splitKey(arg string) (key, path string) {
	key, path, ok := strings.Cut(arg, "=")
	if !ok || !icon.ValidKey(key) {
		return "", arg
	}
	if _, err := os.Stat(arg); err == nil {
		return "", arg
	}
	return key, path
}

// openTreeAs opens the packs of a folder, by the files that it has.
func (p *publication) openTreeAs(t *tree, key string) ([]source, error) {
	for _, kind := range []struct {
		file string
		open func(*tree) ([]source, error)
	}{{"collections.json", openLibrary}, {"icons.json", openPackage}} {
		switch _, err := t.Stat(kind.file); {
		case err == nil && !isOther(t, kind.file):
			return kind.open(t)
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
	}
	return p.openFolders(t, key)
}

// isOther reports whether the file of icon data in an npm package is not Iconify's: such files of
// packages of SVG files have no prefix and no folder json beside them.
func isOther(t *tree, file string) bool {
	if !exists(t, packageFileName) || exists(t, "info.json") || exists(t, "json") {
		return false
	}
	prefix, err := ownPrefix(t, file)
	return err != nil || prefix == ""
}

// sources opens all sources. It reports packs without a licence and packs that come twice before
// any work is done on them.
func (p *publication) sources(ctx context.Context) ([]source, error) {
	if len(p.Sources) == 0 {
		return nil, fmt.Errorf("%w: name at least one folder", ErrSource)
	}
	var all []source
	var groups [][]source
	for _, arg := range p.Sources {
		failed := len(p.sum.Failed)
		found, err := p.open(ctx, arg)
		if err == nil && len(found) == 0 && len(p.sum.Failed) == failed {
			err = fmt.Errorf("%w: %s has neither a collections.json, an icons.json nor SVG files with a %s or %s; %s", ErrSource, arg,
				packFileName, packageFileName, adviseInit("FOLDER"))
		}
		if err != nil {
			if err := p.fail(arg, err); err != nil {
				return nil, err
			}
			continue
		}
		if len(found) > 0 {
			all = append(all, found...)
			groups = append(groups, found)
		}
	}
	number(groups)
	return p.checked(all)
}

// checked returns the packs that can be published, sorted by key. Of two packs with one key, none
// can: nobody knows which one is meant.
func (p *publication) checked(all []source) ([]source, error) {
	slices.SortStableFunc(all, func(a, b source) int { return cmp.Compare(a.about().key, b.about().key) })
	var good []source
	for i, s := range all {
		about, err := s.about(), s.about().check()
		same := func(j int) bool { return j >= 0 && j < len(all) && all[j].about().key == about.key }
		switch {
		case same(i - 1):
			err = fmt.Errorf("%w: %s, from %s and from %s: name one of them, or give one another key by KEY=SOURCE", ErrTwice, about.key,
				all[i-1].about().from, about.from)
		case err == nil && same(i+1):
			continue // the next one names both
		}
		if err != nil {
			if err := p.fail(about.key, err); err != nil {
				return nil, err
			}
			continue
		}
		good = append(good, s)
	}
	return good, nil
}

// reserved is the key that no pack may have.
const reserved = "iconify"

// number numbers the packs of all sources: in the order of each source, and the same if the sources
// are named in another order.
func number(groups [][]source) {
	least := func(g []source) string {
		return slices.MinFunc(g, func(a, b source) int { return cmp.Compare(a.about().key, b.about().key) }).about().key
	}
	slices.SortFunc(groups, func(a, b []source) int { return cmp.Compare(least(a), least(b)) })
	for i, s := range slices.Concat(groups...) {
		s.about().order = i
	}
}

// validKey returns an error if key is not a valid key of a pack.
func validKey(key, from string) error {
	if key == reserved {
		return fmt.Errorf("%w: %s: the key %s is reserved, because /%s/ has the addresses of Iconify's API: give the pack another one",
			ErrSource, from, key, key)
	}
	if icon.ValidKey(key) {
		return nil
	}
	return fmt.Errorf("%w: %s: a pack's key must be lower-case letters, digits and single hyphens, at most %d bytes, not %s",
		ErrSource, from, icon.MaxKey, printable(key))
}
