package publish

import (
	"bytes"
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
	before  *before
	seq     int
	icons   map[string]*drawn // those that aliases show
}

// A drawn is an icon that is drawn once, when it or the first of its aliases comes.
type drawn struct {
	draw func() (svg.Drawing, error) // nil when it has been called
	svg.Drawing
	err error
}

func (d *drawn) once() (svg.Drawing, error) {
	if d.draw != nil {
		d.Drawing, d.err = d.draw()
		d.draw = nil
	}
	return d.Drawing, d.err
}

// add cleans all drawings and puts them into the archive; what can't be cleaned is left out.
func (w *packWriter) add(ctx context.Context, s *set, progress Progress) error {
	w.icons = map[string]*drawn{}
	for i := range s.drawings {
		if of := s.drawings[i].of; of != "" {
			w.icons[of] = &drawn{}
		}
	}
	for i := range s.drawings {
		if shown := w.icons[s.drawings[i].name]; shown != nil {
			shown.draw = s.drawings[i].draw
		}
	}
	for i := range s.drawings {
		if err := ctx.Err(); err != nil {
			return err
		}
		d := &s.drawings[i]
		drawing, err := w.draw(d)
		switch {
		case errors.Is(err, svg.ErrUnclean):
			s.omit(d.name, err.Error())
		case err != nil:
			return err
		default:
			if err := w.addOne(d, drawing); err != nil {
				return err
			}
		}
		const chunk = 64
		if n := len(s.drawings); (i+1)%chunk == 0 || i+1 == n {
			from := int64(i / chunk * chunk)
			progress.Add(w.size()*int64(i+1)/int64(n)-w.size()*from/int64(n), i+1-int(from))
		}
		d.draw = nil // a body that is written need not be held
	}
	slices.SortFunc(s.leftOut, func(a, b release.Omission) int { return cmp.Compare(a.Name, b.Name) })
	w.entry.LeftOut = s.leftOut
	w.tally.finish()
	return nil
}

// draw cleans a drawing. An alias is drawn only if its icon can be.
func (w *packWriter) draw(d *drawing) (svg.Drawing, error) {
	if d.of == "" {
		if shown := w.icons[d.name]; shown != nil {
			return shown.once()
		}
		return d.draw()
	}
	shown, err := w.icons[d.of].once()
	if err != nil {
		return svg.Drawing{}, fmt.Errorf("its icon %s: %w", d.of, err)
	}
	if d.same {
		return shown, nil
	}
	return d.draw()
}

func (w *packWriter) addOne(d *drawing, drawing svg.Drawing) error {
	m := release.Meta{
		Name: d.name, Width: drawing.Width, Height: drawing.Height, ViewBox: drawing.ViewBox, Hidden: d.hidden,
		Monochrome: drawing.Monochrome, AliasOf: d.of, Categories: d.categories, Tags: d.tags,
	}
	m.Seq = w.before.seq(m, drawing.SVG, w.seq)
	w.tally.count(m)
	if !m.Hidden && !w.entry.Hidden {
		w.docs = append(w.docs, document(w.entry.Pack.Pack, m, drawing.SVG))
	}
	return w.archive.Add(m, drawing.SVG)
}

func document(pack string, m release.Meta, drawing []byte) search.Doc {
	sum := sha256.Sum256(drawing)
	return search.Doc{
		Pack: pack, Name: m.Name, AliasOf: m.AliasOf, Width: m.Width, Height: m.Height, Monochrome: m.Monochrome,
		Categories: m.Categories, Drawing: [16]byte(sum[:16]),
	}
}

// seq is the Seq of a drawing: what it was if nothing of it has changed, else now.
func (b *before) seq(m release.Meta, drawing []byte, now int) int {
	if b.archive == nil {
		return now
	}
	e, ok := b.archive.Find(m.Name)
	if !ok {
		return now
	}
	old, err := b.archive.Meta(e)
	if err != nil || !old.Same(m) {
		return now
	}
	if was, err := b.archive.Read(e); err != nil || !bytes.Equal(was, drawing) {
		return now
	}
	return old.Seq
}
