package icondata

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// A shape is an icon or an alias: a member of `icons` or `aliases` (IconifyJSON of @iconify/types).
type shape struct {
	Body                     string
	Left, Top, Width, Height *float64
	Rotate                   int
	HFlip, VFlip             bool
}

// Stylesheet returns the stylesheet of some of the pieces, which are sorted by name. The error is
// ErrForm, also if the response does not say whether the icons have colours of their own, or
// whether that of an icon may be replaced.
func (a *Answer) Stylesheet(prefix string, style iconify.Style, names []string) (string, error) {
	var about struct{ Palette *bool }
	if json.Unmarshal(a.Info, &about) != nil || about.Palette == nil {
		return "", fmt.Errorf("%w: nothing about the colours of the pack", ErrForm)
	}
	var head shape
	if err := json.Unmarshal(append(append([]byte{'{'}, a.Head...), '}'), &head); err != nil {
		return "", fmt.Errorf("%w: %w", ErrForm, err)
	}
	pieces := make(map[string]*Piece, len(a.Pieces))
	for _, p := range a.Pieces {
		pieces[p.Name] = p
	}
	var styled []iconify.Styled
	for _, name := range names {
		p := pieces[name]
		if p == nil {
			continue // it is not found
		}
		s, err := p.shape(pieces)
		if err != nil {
			return "", err
		}
		box := viewbox.Box{Left: or(s.Left, nil, 0), Top: or(s.Top, nil, 0),
			Width: or(s.Width, head.Width, defaultSide), Height: or(s.Height, head.Height, defaultSide)}
		if style.Recolours() && !strings.Contains(s.Body, "currentColor") {
			return "", fmt.Errorf("%w: nothing about the colour of %q", ErrForm, name)
		}
		body, box := viewbox.Turn{HFlip: s.HFlip, VFlip: s.VFlip, Rotate: s.Rotate}.Apply([]byte(s.Body), box)
		styled = append(styled, iconify.Styled{Name: name, Body: string(body), Box: box})
	}
	return style.Sheet(prefix, *about.Palette, styled, len(a.NotFound)), nil
}

// defaultSide is the width and height of an icon for which nothing else says them
// (defaultIconDimensions of @iconify/utils).
const defaultSide = 16

func or(side, ofPack *float64, unless float64) float64 {
	switch {
	case side != nil:
		return *side
	case ofPack != nil:
		return *ofPack
	}
	return unless
}

// shape returns the icon that a piece stands for, as mergeIconData of @iconify/utils merges an
// alias with its parent.
func (p *Piece) shape(pieces map[string]*Piece) (merged shape, err error) {
	for range len(pieces) {
		var s shape
		if err := json.Unmarshal(p.value(), &s); err != nil {
			return s, fmt.Errorf("%w: the piece of %q: %w", ErrForm, p.Name, err)
		}
		merged.Body = s.Body
		merged.Rotate += s.Rotate
		merged.HFlip, merged.VFlip = merged.HFlip != s.HFlip, merged.VFlip != s.VFlip
		for _, side := range [...]struct{ child, parent **float64 }{
			{&merged.Left, &s.Left}, {&merged.Top, &s.Top}, {&merged.Width, &s.Width}, {&merged.Height, &s.Height},
		} {
			if *side.child == nil {
				*side.child = *side.parent
			}
		}
		if p.Parent == "" {
			return merged, nil
		}
		if p = pieces[p.Parent]; p == nil {
			break
		}
	}
	return merged, fmt.Errorf("%w: an alias leads to no icon", ErrForm)
}

// value returns the value of a member, whose name has no escapes.
func (p *Piece) value() []byte { return p.Member[len(p.Name)+len(`"":`):] }
