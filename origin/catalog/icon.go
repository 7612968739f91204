package catalog

import (
	"context"
	"fmt"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/spelling"
	"github.com/iconedge/iconedge/origin/release"
)

// An Icon is one icon of a Release. It is valid until the release's Done.
type Icon struct {
	Ref        icon.Ref
	Pack       *Pack
	Monochrome bool
	Own        bool          // it is monochrome, in a colour that is not that of the text
	Changed    release.Epoch // the release in which the SVG or its Meta last changed

	archive *archive
	entry   release.Entry
}

// Icon finds an icon by its reference, even a hidden one. The error is ErrNoPack, ErrNoIcon or
// ErrWithdrawn, which an icon has in every release, whether the release has the icon or not. It may
// also be the error of Pack.Open.
func (r *Release) Icon(ctx context.Context, ref icon.Ref) (Icon, error) {
	if r.withdrawn.Icon(ref) {
		return Icon{}, ErrWithdrawn
	}
	p, ok := r.packs[ref.Pack]
	if !ok {
		return Icon{}, ErrNoPack
	}
	a, err := r.open(ctx, p)
	if err != nil {
		return Icon{}, err
	}
	if p.withdrawn[ref.Name] { // an alias of a withdrawn icon
		return Icon{}, ErrWithdrawn
	}
	e, ok := a.Find(ref.Name)
	if !ok && a.HasSpelling(ref.Name) {
		return r.Icon(ctx, icon.Ref{Pack: ref.Pack, Name: spelling.Mend(ref.Name)})
	}
	if !ok {
		return Icon{}, ErrNoIcon
	}
	return Icon{ref, p, a.Monochrome(e), a.Own(e), r.manifest.Changed(a.Seq(e)), a, e}, nil
}

// Meta returns the metadata of the icon. It parses them each time.
func (i Icon) Meta() release.Meta {
	m, err := i.archive.Meta(i.entry)
	if err != nil { // OpenArchive has read them all without an error
		panic(err)
	}
	return m
}

// SameSVG reports whether another icon of the same pack and release has the same SVG.
func (i Icon) SameSVG(other Icon) bool { return i.archive.SameSVG(i.entry, other.entry) }

// SVG reads the SVG from the archive and verifies its checksum.
func (i Icon) SVG() ([]byte, error) {
	svg, err := i.archive.Read(i.entry)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", release.ArchiveKey(i.archive.hash), err)
	}
	return svg, nil
}

// Member returns the SVG as compressed in the archive, unverified.
func (i Icon) Member() (release.Member, error) {
	m, err := i.archive.Member(i.entry)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", release.ArchiveKey(i.archive.hash), err)
	}
	return m, nil
}

// Contents are the icons of a pack whose archive is open. They are valid until the release's Done.
type Contents struct {
	archive   *archive
	withdrawn map[string]bool // names, aliases included
}

// Open opens the archive of a pack, unless it is open. The error is ErrNotOpen: the mirror lacks
// the archive or has a damaged one, and the store can't deliver it.
func (p *Pack) Open(ctx context.Context) (Contents, error) {
	a, err := p.release.open(ctx, p)
	return Contents{a, p.withdrawn}, err
}

// Names calls yield with the name of each icon, sorted, and whether it is hidden.
func (c Contents) Names(yield func(name string, hidden bool) bool) {
	for e := range c.archive.All() {
		if name := c.archive.Name(e); !c.withdrawn[name] && !yield(name, c.archive.Hidden(e)) {
			return
		}
	}
}

// Spellings returns the other spellings of the names, sorted.
func (c Contents) Spellings() []string { return c.archive.Spellings() }

// Icons calls yield with the metadata of each icon, sorted by name, without the withdrawn ones.
func (c Contents) Icons(yield func(m release.Meta) bool) {
	for e := range c.archive.All() {
		m, err := c.archive.Meta(e)
		if err != nil { // OpenArchive has read them all without an error
			panic(err)
		}
		if !c.withdrawn[m.Name] && !yield(m) {
			return
		}
	}
}
