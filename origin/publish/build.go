package publish

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
	"github.com/iconedge/iconedge/origin/svg"
)

// builder is part of what a pack was built from: raise it when the same source would give another archive or entry, by a change
// here, in package svg or in package release, or another index, by one in package search.
const builder = "iconedge-1"

// maxHeld bounds the bytes of the sources that are read at once, however many cores there are. One that is larger is read alone.
const maxHeld = 128 << 20

// A pack is one pack on its way into the release.
type pack struct {
	source
	entry release.PackEntry
	taken bool // over from the current release
	file  string
	docs  []search.Doc // for the index; none of a hidden pack
	none  bool         // there was no drawing to begin with
}

// each calls do for every pack, the largest first, on all cores, until one fails.
func (p *publication) each(ctx context.Context, packs []*pack, do func(context.Context, *pack) error) error {
	packs = slices.SortedStableFunc(slices.Values(packs), func(a, b *pack) int { return cmp.Compare(b.size(), a.size()) })
	held := semaphore.NewWeighted(maxHeld)
	g, doing := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, k := range packs {
		n := min(k.size(), maxHeld)
		if held.Acquire(doing, n) != nil {
			break
		}
		g.Go(func() error {
			defer held.Release(n)
			return do(doing, k)
		})
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

// compare digests the sources and takes over what is as it was.
func (p *publication) compare(ctx context.Context, sources []source) ([]*pack, error) {
	packs := make([]*pack, len(sources))
	var total int64
	for i, s := range sources {
		packs[i] = &pack{source: s}
		total += s.size()
	}
	p.Progress.Step("looking for what has changed", total)
	return packs, p.each(ctx, packs, func(_ context.Context, k *pack) error {
		digest, err := digest(k)
		if err != nil {
			return fmt.Errorf("reading the pack %s: %w", k.about().key, err)
		}
		k.entry.Source = digest
		if old, ok := p.prev.pack(k.about().key); ok && old.Source == digest && p.prev.holds(release.ArchiveKey(old.Archive.Hash), old.Archive) {
			k.entry, k.taken = *old, true
		}
		p.Progress.Add(k.size(), 0)
		return nil
	})
}

func (prev *previous) pack(key string) (*release.PackEntry, bool) {
	if prev.manifest == nil {
		return nil, false
	}
	return prev.manifest.Pack(key)
}

func digest(s source) (string, error) {
	h := sha256.New()
	about, err := json.Marshal(s.about())
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s\n%s\n%s\n", builder, s.about().key, about)
	if err := s.digest(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// build makes the archives of the packs that were not taken over, and returns the packs that have drawings.
func (p *publication) build(ctx context.Context, packs []*pack) ([]*pack, error) {
	var changed []*pack
	var total int64
	for _, k := range packs {
		if !k.taken {
			changed = append(changed, k)
			total += k.size()
		}
	}
	p.Progress.Step("cleaning drawings", total)
	if err := p.each(ctx, changed, p.buildPack); err != nil {
		return nil, err
	}
	var full []*pack
	var errs []error
	for _, k := range packs {
		switch {
		case k.none:
			p.sum.Skipped = append(p.sum.Skipped, k.about().key)
		case k.entry.Icons == 0:
			errs = append(errs, fmt.Errorf("%w: %s (%s)", ErrEmptyPack, k.about().key, reasons(k.entry.LeftOut)))
		default:
			full = append(full, k)
		}
	}
	if len(full) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%w: there is not one icon in it", ErrSource))
	}
	return full, errors.Join(errs...)
}

// reasons gives the first few, with their names.
func reasons(left []release.Omission) string {
	const few = 3
	var words []string
	for _, o := range left[:min(few, len(left))] {
		words = append(words, o.Name+": "+o.Reason)
	}
	if len(left) > few {
		words = append(words, fmt.Sprintf("and %d more", len(left)-few))
	}
	return strings.Join(words, "; ")
}

func (p *publication) buildPack(ctx context.Context, k *pack) error {
	s, err := k.read(ctx)
	if err != nil {
		return fmt.Errorf("reading the pack %s: %w", k.about().key, err)
	}
	if k.none = len(s.drawings)+len(s.leftOut) == 0; k.none {
		return nil
	}
	before, err := p.openBefore(ctx, k)
	if err != nil {
		return err
	}
	defer before.Close()
	k.file = filepath.Join(p.work, k.about().key+".zip")
	f, err := os.Create(k.file)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := bufio.NewWriterSize(f, 1<<16)
	w := &packWriter{pack: k, archive: release.NewWriter(buf), before: before, seq: p.seq, tally: newTally(k)}
	if err := w.add(ctx, s, p.Progress); err != nil {
		return fmt.Errorf("building the pack %s: %w", k.about().key, err)
	}
	if k.entry.Archive, err = w.archive.Close(); err != nil {
		return err
	}
	return cmp.Or(buf.Flush(), f.Close())
}

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
		Drawing: [16]byte(sum[:16]),
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
