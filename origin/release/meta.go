package release

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/iconedge/iconedge/icon"
)

// Meta is the metadata of an icon in an archive. Its JSON is the comment of the icon's entry. The
// keys are short, because a library has hundreds of thousands of them.
type Meta struct {
	Name       string  `json:"-"` // name of the entry, without .svg
	Width      float64 `json:"w"` // in pixels, of the icon as published
	Height     float64 `json:"h"`
	ViewBox    string  `json:"box"`
	Hidden     bool    `json:"hidden,omitempty"`
	Monochrome bool    `json:"mono,omitempty"`
	// Color is that of a monochrome icon; empty: the colour of the text.
	Color icon.Color `json:"color,omitempty"`
	// Stroke is the width of all strokes of the icon shown 24 pixels high; 0: they have not one.
	Stroke float64 `json:"stroke,omitempty"`
	// TwoTone says that a monochrome icon has opaque and translucent parts.
	TwoTone bool `json:"tones,omitempty"`
	// AliasOf is the icon that it is an alias of, never an alias itself.
	AliasOf string `json:"of,omitempty"`
	// Turn is the way in which an alias shows its icon. It is nil if the alias is only another
	// name, and if its icon is itself turned: the SVG of that alias stands for itself.
	Turn       *Turn    `json:"turn,omitempty"`
	Categories []string `json:"in,omitempty"`
	Tags       []string `json:"tags,omitempty"` // names of its aliases, and its spellings
	// Seq is the number of the publication that last changed the icon or this Meta.
	Seq int `json:"seq"`
}

// A Turn says how an alias differs from its icon: it is flipped, then rotated clockwise by quarter
// turns, and may show another box. Its fields are those of IconifyAlias in @iconify/types.
type Turn struct {
	Rotate int      `json:"rotate,omitempty"`
	HFlip  bool     `json:"hFlip,omitempty"`
	VFlip  bool     `json:"vFlip,omitempty"`
	Left   *float64 `json:"left,omitempty"`
	Top    *float64 `json:"top,omitempty"`
	Width  *float64 `json:"width,omitempty"`
	Height *float64 `json:"height,omitempty"`
}

// Spellings returns the tags that are no valid names: the name as its author spelled it. Each is
// another address of the icon.
func (m Meta) Spellings() (spellings []string) {
	for _, tag := range m.Tags {
		if icon.ValidSpelling(tag) {
			spellings = append(spellings, tag)
		}
	}
	return spellings
}

// Same reports whether two are equal except for Seq.
func (m Meta) Same(other Meta) bool {
	m.Seq, other.Seq = 0, 0
	if len(m.Categories)+len(other.Categories) == 0 {
		m.Categories, other.Categories = nil, nil
	}
	if len(m.Tags)+len(other.Tags) == 0 {
		m.Tags, other.Tags = nil, nil
	}
	return reflect.DeepEqual(m, other)
}

func (m Meta) comment() (string, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("describing %s: %w", m.Name, err) // a width that is not a number
	}
	if len(b) > maxComment {
		return "", fmt.Errorf("describing %s: its categories and tags take more than %d bytes", m.Name, maxComment)
	}
	return string(b), nil
}

// flags returns the flags of a record.
func (m Meta) flags() (flags uint8) {
	if m.Monochrome {
		flags |= isMonochrome
	}
	if m.Color != "" {
		flags |= hasColor
	}
	if m.Hidden {
		flags |= isHidden
	}
	return flags
}

// parseMeta reads the comment of an entry.
func parseMeta(name string, comment []byte) (Meta, error) {
	m := Meta{}
	if err := json.Unmarshal(comment, &m); err != nil {
		return Meta{}, fmt.Errorf("%w: the entry of %s has no description", ErrDamaged, name)
	}
	if m.Seq < 0 || m.Seq > math.MaxInt32 {
		return Meta{}, damaged("an entry has an impossible number of its publication")
	}
	m.Name = name
	return m, nil
}
