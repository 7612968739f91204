package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

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

// open finds the packs of a folder. It accepts three forms:
//
//   - the npm package of @iconify/json: collections.json and json/*.json,
//   - an npm package of @iconify-json, one pack: icons.json, info.json and metadata.json,
//   - a folder that has, for each pack, a folder with pack.json and NAME.svg files.
func (p *publication) open(ctx context.Context, path string) ([]source, error) {
	t, err := p.openTree(ctx, path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w: %s", ErrSource, ErrNoSource, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	for _, kind := range []struct {
		file string
		open func(*tree) ([]source, error)
	}{{"collections.json", openLibrary}, {"icons.json", openPackage}} {
		switch _, err := t.Stat(kind.file); {
		case err == nil:
			return kind.open(t)
		case !errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
	}
	return p.openFolders(t)
}

// sources opens all sources. It reports packs without a licence and packs that come twice before
// any work is done on them.
func (p *publication) sources(ctx context.Context) ([]source, error) {
	if len(p.Sources) == 0 {
		return nil, fmt.Errorf("%w: name at least one folder", ErrSource)
	}
	var all []source
	var groups [][]source
	for _, path := range p.Sources {
		found, err := p.open(ctx, path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: %s has neither a collections.json, an icons.json nor a folder with a pack.json", ErrSource, path)
		}
		all = append(all, found...)
		groups = append(groups, found)
	}
	number(groups)
	slices.SortStableFunc(all, func(a, b source) int { return cmp.Compare(a.about().key, b.about().key) })
	var errs []error
	for i, s := range all {
		about := s.about()
		if i > 0 && all[i-1].about().key == about.key {
			errs = append(errs, fmt.Errorf("%w: %s, from %s and from %s", ErrTwice, about.key, all[i-1].about().from, about.from))
		}
		errs = append(errs, about.check())
	}
	return all, errors.Join(errs...)
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
		return fmt.Errorf("%w: %s: the key %s is reserved, because /%s/ has the addresses of Iconify's API: give the pack another one", ErrSource, from, key, key)
	}
	if icon.ValidKey(key) {
		return nil
	}
	return fmt.Errorf("%w: %s: a pack's key must be lower-case letters, digits and single hyphens, at most %d bytes, not %s",
		ErrSource, from, icon.MaxKey, printable(key))
}
