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
	// digest writes all that the pack is made of, but for its info.
	digest(ctx context.Context, w io.Writer) error
	// read gives the drawings. It is called once.
	read(ctx context.Context) (*set, error)
}

// A set is the drawings of one pack, not yet cleaned.
type set struct {
	drawings []drawing // sorted by name; of an alias, the icon is among them
	leftOut  []release.Omission
}

func (s *set) omit(name, reason string) {
	s.leftOut = append(s.leftOut, release.Omission{Name: printable(name), Reason: reason})
}

// A drawing is one icon or alias, not yet cleaned.
type drawing struct {
	name       string
	of         string // of an alias, the icon
	same       bool   // an alias that shows the icon as it is
	hidden     bool
	categories []string
	tags       []string
	draw       func() (svg.Drawing, error) // the error is svg.ErrUnclean where the drawing is at fault
}

// open finds the packs of a folder, which is one of:
//
//   - the npm package of @iconify/json: collections.json and json/*.json,
//   - an npm package of @iconify-json, one pack: icons.json, info.json and metadata.json,
//   - a folder with a folder for each pack, with its pack.json and NAME.svg files.
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
	return openFolders(t)
}

// sources opens all of them, and looks at once for what would make the publication fail: a pack that comes twice, or one
// without a licence.
func (p *publication) sources(ctx context.Context) ([]source, error) {
	if len(p.Sources) == 0 {
		return nil, fmt.Errorf("%w: none is given", ErrSource)
	}
	var all []source
	for _, path := range p.Sources {
		found, err := p.open(ctx, path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: %s has neither a collections.json, an icons.json nor a folder with a pack.json", ErrSource, path)
		}
		all = append(all, found...)
	}
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

// validKey is an error for what can't be a pack's key.
func validKey(key, from string) error {
	if icon.ValidKey(key) {
		return nil
	}
	return fmt.Errorf("%w: %s: a pack's key is lower-case letters, digits and single hyphens, at most %d bytes, not %s",
		ErrSource, from, icon.MaxKey, printable(key))
}
