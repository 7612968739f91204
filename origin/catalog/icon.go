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
// ErrWithdrawn, which an icon has in every release, whether the release has the icon or not. In
// an earlier release, which opens its archives when they are needed, it may also be an error of the
// store.
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

// Names calls yield with the name of each icon of a pack of the current release, sorted, and
// whether it is hidden.
func (p *Pack) Names(yield func(name string, hidden bool) bool) {
	a := p.archive.Load()
	for e := range a.All() {
		if name := a.Name(e); !p.withdrawn[name] && !yield(name, a.Hidden(e)) {
			return
		}
	}
}

// Spellings returns the other spellings of the names of a pack of the current release, sorted.
func (p *Pack) Spellings() []string { return p.archive.Load().Spellings() }

// Icons calls yield with the metadata of each icon of a pack of the current release, sorted by
// name, without the withdrawn ones.
func (p *Pack) Icons(yield func(m release.Meta) bool) {
	a := p.archive.Load()
	for e := range a.All() {
		m, err := a.Meta(e)
		if err != nil { // OpenArchive has read them all without an error
			panic(err)
		}
		if !p.withdrawn[m.Name] && !yield(m) {
			return
		}
	}
}
