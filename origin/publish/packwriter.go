package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
	"github.com/iconedge/iconedge/origin/svg"
)

// A packWriter builds one archive.
type packWriter struct {
	*pack
	tally   *tally
	archive *release.Writer
	old     *oldArchive
	seq     int
	parents map[string]*cleanOnce // the icons that have aliases
	total   int                   // see release.Set
	names   []string              // in the archive
}

// A cleanOnce cleans an icon once, for the icon itself and all of its aliases.
type cleanOnce struct {
	clean func() (svg.Icon, error) // nil after its call
	svg.Icon
	err error
}

func (c *cleanOnce) result() (svg.Icon, error) {
	if c.clean != nil {
		c.Icon, c.err = c.clean()
		c.clean = nil
	}
	return c.Icon, c.err
}

// add cleans all icons and adds them to the archive. It leaves out the icons that can't be cleaned.
func (w *packWriter) add(ctx context.Context, s *set, progress Progress) error {
	w.parents = map[string]*cleanOnce{}
	for i := range s.icons {
		if of := s.icons[i].of; of != "" {
			w.parents[of] = &cleanOnce{}
		}
	}
	for i := range s.icons {
		if parent := w.parents[s.icons[i].name]; parent != nil {
			parent.clean = s.icons[i].clean
		}
	}
	for i := range s.icons {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw := &s.icons[i]
		cleaned, err := w.clean(raw)
		switch {
		case errors.Is(err, svg.ErrUnclean):
			s.omit(raw.name, err.Error())
		case err != nil:
			return err
		case cleaned.Emptied:
			s.omit(raw.name, "cleaning removed everything that it draws: only shapes, lines, text, and pictures and "+
				"references within the file are kept")
		default:
			if err := w.addOne(raw, cleaned); err != nil {
				return err
			}
		}
		const chunk = 64
		if n := len(s.icons); (i+1)%chunk == 0 || i+1 == n {
			from := int64(i / chunk * chunk)
			progress.Add(w.size()*int64(i+1)/int64(n)-w.size()*from/int64(n), i+1-int(from))
		}
		raw.clean = nil // releases the body, which is not needed any more
	}
	slices.SortFunc(s.leftOut, func(a, b release.Omission) int { return cmp.Compare(a.Name, b.Name) })
	w.entry.LeftOut = s.leftOut
	w.compareRemoved()
	w.tally.finish()
	w.describe(s)
	return nil
}

// clean returns the clean form of an icon or alias. An alias can be cleaned only if its icon can.
func (w *packWriter) clean(raw *rawIcon) (svg.Icon, error) {
	if raw.of == "" {
		if parent := w.parents[raw.name]; parent != nil {
			return parent.result()
		}
		return raw.clean()
	}
	parent, err := w.parents[raw.of].result()
	if err != nil {
		return svg.Icon{}, fmt.Errorf("its icon %s: %w", raw.of, err)
	}
	if raw.same {
		return parent, nil
	}
	return raw.clean()
}

// addOne adds a clean icon to the archive, the tally and the documents of the index.
func (w *packWriter) addOne(raw *rawIcon, cleaned svg.Icon) error {
	if len(cleaned.Removed) > 0 && raw.of == "" {
		w.removed = append(w.removed, Removed{Pack: w.entry.Pack.Key, Name: raw.name, Parts: cleaned.Removed})
	}
	m := release.Meta{
		Name: raw.name, Width: cleaned.Width, Height: cleaned.Height, ViewBox: cleaned.ViewBox, Hidden: raw.hidden,
		Monochrome: cleaned.Monochrome, Color: cleaned.Color, Stroke: cleaned.Stroke, TwoTone: cleaned.TwoTone,
		AliasOf: raw.of, Turn: raw.turn, Categories: raw.categories, Tags: raw.tags,
	}
	known, same, seq := w.old.find(m, cleaned.SVG)
	if m.Seq = w.seq; same && w.old.facts {
		m.Seq = seq // the response for the icon is the same
	}
	w.compareIcon(m.Name, known, same)
	w.tally.count(m)
	if m.AliasOf == "" {
		w.count(m, cleaned)
	}
	if !m.Hidden && (m.AliasOf == "" || raw.own) {
		w.total++
	}
	if !m.Hidden && !w.entry.Hidden {
		d := document(w.entry.Pack.Key, m, cleaned.SVG)
		d.Shape, d.Look = seen(m, cleaned.SVG)
		w.docs = append(w.docs, d)
	}
	return w.archive.Add(m, cleaned.SVG)
}

// document returns the document of an icon for the index, without its shape.
func document(pack string, m release.Meta, data []byte) search.Doc {
	sum := sha256.Sum256(data)
	return search.Doc{
		Pack: pack, Name: m.Name, AliasOf: m.AliasOf, Width: m.Width, Height: m.Height, Monochrome: m.Monochrome,
		Own: m.Color != "", Stroked: m.Stroke != 0, Categories: m.Categories, Spellings: m.Spellings(), Image: [16]byte(sum[:16]),
	}
}
