package catalog

import (
	"context"
	"fmt"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
)

// An Icon is one drawing of a Release, and what is known of it. It is good until the release's Done.
type Icon struct {
	Ref     icon.Ref
	Pack    *Pack
	Meta    release.Meta
	Changed release.Epoch // the release in which the drawing or its Meta last changed

	archive *archive
	entry   release.Entry
}

// Icon finds a drawing by its reference, also a hidden one. The error is ErrNoPack or ErrNoIcon; in an earlier release, whose
// archives are opened when they are asked for, it may be the store's.
func (r *Release) Icon(ctx context.Context, ref icon.Ref) (Icon, error) {
	p, ok := r.packs[ref.Pack]
	if !ok {
		return Icon{}, ErrNoPack
	}
	a, err := p.open(ctx, r.mirror)
	if err != nil {
		return Icon{}, err
	}
	e, ok := a.Find(ref.Name)
	if !ok {
		return Icon{}, ErrNoIcon
	}
	m, err := a.Meta(e)
	if err != nil {
		return Icon{}, fmt.Errorf("reading %s: %w", release.ArchiveKey(a.hash), err)
	}
	return Icon{ref, p, m, r.manifest.Changed(m.Seq), a, e}, nil
}

// SVG reads the plain drawing from the archive, its checksum verified.
func (i Icon) SVG() ([]byte, error) {
	svg, err := i.archive.Read(i.entry)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", release.ArchiveKey(i.archive.hash), err)
	}
	return svg, nil
}

// Deflated is the plain drawing as it lies in the archive (RFC 1951), with the CRC-32 and the size in bytes of what it inflates to.
func (i Icon) Deflated() (data []byte, crc, size uint32, err error) {
	if data, crc, size, err = i.archive.Deflated(i.entry); err != nil {
		err = fmt.Errorf("reading %s: %w", release.ArchiveKey(i.archive.hash), err)
	}
	return data, crc, size, err
}

// Names calls yield with the name of each drawing of a pack of the current release, sorted, and whether it is hidden.
func (p *Pack) Names(yield func(name string, hidden bool) bool) {
	p.Icons(func(m release.Meta) bool { return yield(m.Name, m.Hidden) })
}

// Icons calls yield with each drawing of a pack of the current release, sorted by name: what a list says of it.
func (p *Pack) Icons(yield func(m release.Meta) bool) {
	a := p.archive.Load()
	for e := range a.All() {
		m, err := a.Meta(e)
		if err != nil { // OpenArchive has read every one of them
			panic(err)
		}
		if !yield(m) {
			return
		}
	}
}
