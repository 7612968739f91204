package iconify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/svg"
)

// A record is one icon or alias of an answer.
type record struct {
	name string
	icon catalog.Icon // of an alias: the icon that it shows
	meta release.Meta // of icon
	// parent is the icon of an alias; empty: the record has a body of its own.
	parent string
	turn   *release.Turn
	hidden bool // unlike its parent
}

// A selection is the icons of a request that exist, with their parents.
type selection struct {
	icons, aliases map[string]record
	missing        []string
	modified       time.Time
}

// pick finds the icons of a request. It sorts nothing: writers do.
func (l *Library) pick(ctx context.Context, prefix string, s release.Set, names []string) (*selection, error) {
	sel := &selection{icons: map[string]record{}, aliases: map[string]record{}}
	for _, name := range names {
		if err := l.add(ctx, sel, prefix, s, name); err != nil {
			return nil, err
		}
	}
	return sel, nil
}

func (l *Library) add(ctx context.Context, sel *selection, prefix string, s release.Set, name string) error {
	rec, err := l.find(ctx, prefix, name)
	if errors.Is(err, errMissing) {
		if target, isChar := s.Chars[name]; isChar {
			return l.addCharacter(ctx, sel, prefix, name, target)
		}
		sel.missing = append(sel.missing, name)
		return nil
	}
	if err != nil {
		return err
	}
	sel.put(rec)
	if rec.parent == "" {
		return nil
	}
	parent, err := l.find(ctx, prefix, rec.parent)
	if err != nil {
		return err
	}
	sel.put(parent)
	return nil
}

// addCharacter adds a font character, as an alias of its icon. An alias that is only another name
// does not count as an icon here, as in @iconify/api.
func (l *Library) addCharacter(ctx context.Context, sel *selection, prefix, char, target string) error {
	rec, err := l.find(ctx, prefix, target)
	if errors.Is(err, errMissing) {
		sel.missing = append(sel.missing, char)
		return nil
	}
	if err != nil {
		return err
	}
	if rec.parent != "" && rec.turn == nil && !rec.hidden {
		target = rec.parent
	}
	sel.aliases[char] = record{name: char, parent: target, icon: rec.icon}
	return l.add(ctx, sel, prefix, release.Set{}, target)
}

func (s *selection) put(r record) {
	if changed := r.icon.Changed.Created; changed.After(s.modified) {
		s.modified = changed
	}
	if r.parent == "" {
		s.icons[r.name] = r
	} else {
		s.aliases[r.name] = r
	}
}

// errMissing means that the release has no such icon, or that it is withdrawn.
var errMissing = errors.New("no such icon")

// find finds an icon or alias. The error is errMissing, or a problem.
func (l *Library) find(ctx context.Context, prefix, name string) (record, error) {
	if !icon.ValidKey(name) {
		return record{}, errMissing
	}
	ic, err := l.release.Icon(ctx, icon.Ref{Pack: prefix, Name: name})
	switch {
	case errors.Is(err, catalog.ErrNoIcon), errors.Is(err, catalog.ErrNoPack), errors.Is(err, catalog.ErrWithdrawn):
		return record{}, errMissing
	case err != nil:
		return record{}, err
	}
	rec := record{name: name, icon: ic, meta: ic.Meta()}
	if rec.meta.AliasOf == "" {
		return rec, nil
	}
	parent, err := l.release.Icon(ctx, icon.Ref{Pack: prefix, Name: rec.meta.AliasOf})
	if err != nil {
		return rec, nil // it stands for itself
	}
	// An alias that differs from its icon in a way that the release does not record, as in one of
	// an earlier program, stands for itself.
	if rec.meta.Turn != nil || ic.SameSVG(parent) {
		rec.parent, rec.turn, rec.hidden = rec.meta.AliasOf, rec.meta.Turn, rec.meta.Hidden != parent.Meta().Hidden
	}
	return rec, nil
}

// A member is an icon in IconifyJSON of @iconify/types.
type member struct {
	Body   string   `json:"body"`
	Width  *float64 `json:"width,omitempty"`
	Height *float64 `json:"height,omitempty"`
	Left   float64  `json:"left,omitempty"`
	Top    float64  `json:"top,omitempty"`
	Hidden bool     `json:"hidden,omitempty"`
}

// alias is an alias there.
type alias struct {
	Parent string `json:"parent"`
	release.Turn
	Hidden *bool `json:"hidden,omitempty"`
}

// appendRecord appends the JSON of a record. It is the same in every answer, so that caches may
// store it apart.
func appendRecord(dst []byte, r record, s release.Set) ([]byte, error) {
	if r.parent != "" {
		a := alias{Parent: r.parent}
		if r.turn != nil {
			a.Turn = *r.turn
		}
		if r.hidden {
			hidden := r.meta.Hidden
			a.Hidden = &hidden
		}
		return appendJSON(dst, a), nil
	}
	plain, err := r.icon.SVG()
	if err != nil {
		return nil, err
	}
	body, box, err := svg.Body(plain)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.icon.Ref, err)
	}
	m := member{Body: string(body), Left: box.Left, Top: box.Top, Hidden: r.meta.Hidden}
	if box.Width != s.Width {
		m.Width = &box.Width
	}
	if box.Height != s.Height {
		m.Height = &box.Height
	}
	return appendJSON(dst, m), nil
}

// appendJSON appends a value without escaping <, > and &: in bodies that would double the size.
func appendJSON(dst []byte, v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // strings and finite numbers
		panic(err)
	}
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}

func noIcon() error {
	return problem.NotFound("the icon set has no icon of that name; /search finds names by words")
}
