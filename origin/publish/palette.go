package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/glob"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
	"github.com/iconedge/iconedge/origin/shape"
	"github.com/iconedge/iconedge/origin/svg"
)

// A palette says which icons of a folder are written as they are drawn, and take no other colour:
// true or false for all of them, or for each pattern of names. The last pattern that a name matches
// counts.
type palette []namedPalette

type namedPalette struct {
	names *glob.Glob
	keeps bool
}

// errPalette means that the palette of a pack.json has another form.
var errPalette = errors.New(`"palette" must be true, false, or an object of patterns of names, such as {"logo-*": true}`)

func (p *palette) UnmarshalJSON(b []byte) error {
	var all bool
	if json.Unmarshal(b, &all) == nil {
		*p = nil
		if all {
			*p = palette{{glob.New("*", true), true}}
		}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errPalette
	}
	*p = nil
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return errPalette
		}
		keeps, err := d.Token()
		value, ok := keeps.(bool)
		if err != nil || !ok {
			return errPalette
		}
		*p = append(*p, namedPalette{glob.New(name.(string), true), value})
	}
	return nil
}

// keeps reports whether an icon is written as it is drawn.
func (p palette) keeps(name string) (keeps bool) {
	for _, n := range p {
		left := glob.Budget(math.MaxInt)
		if n.names.Match(name, &left) {
			keeps = n.keeps
		}
	}
	return keeps
}

// count counts an icon by its colours, and lists it if its look changes or can't be changed.
func (w *packWriter) count(m release.Meta, cleaned svg.Icon) {
	c := &w.entry.Colors
	switch {
	case !m.Monochrome:
		c.Many++
		w.looks.Many = append(w.looks.Many, m.Name)
	case m.Color != "":
		c.Own++
	default:
		c.Text++
		if cleaned.Recolored {
			c.Recolored++
			w.looks.Recolored = append(w.looks.Recolored, m.Name)
		}
	}
	if len(cleaned.Removed) > 0 {
		c.Cleaned++
		w.looks.Cleaned = append(w.looks.Cleaned, m.Name)
	}
}

// seen returns the shape and the look of an icon. Icons that differ by their colour alone have one
// shape.
func seen(m release.Meta, data []byte) (shape.Hash, search.Look) {
	if m.Color != "" {
		data = icon.Replace(data, "currentColor")
	}
	hash, solid := shape.Describe(data)
	switch {
	case !m.Monochrome:
		return hash, search.Multicolour
	case bytes.Contains(data, []byte(`opacity="0.`)), bytes.Contains(data, []byte(`opacity=".`)):
		return hash, search.TwoTone
	case solid:
		return hash, search.Filled
	}
	return hash, search.Outline
}
