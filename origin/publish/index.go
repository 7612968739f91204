package publish

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// An index is the search index of the release. file is "" if the index is that of the current
// release, unchanged.
type index struct {
	blob release.Blob
	file string
}

// index reuses the index of the current release if all packs and tags are the same; otherwise it
// builds a new one.
func (p *publication) index(ctx context.Context, packs []*pack) (index, error) {
	lex, made, err := p.lexicon(ctx)
	if err != nil {
		return index{}, err
	}
	old := p.oldIndex(ctx)
	if p.isSame(old, packs, made) {
		return index{blob: p.prev.manifest.Index}, nil
	}
	if err := p.readUnchanged(ctx, packs, old); err != nil {
		return index{}, err
	}
	p.Progress.Step("building the search index", 0)
	if err := ctx.Err(); err != nil {
		return index{}, err
	}
	var visible []icon.Pack
	packs = slices.DeleteFunc(slices.Clone(packs), func(k *pack) bool { return k.entry.Hidden })
	for _, k := range packs {
		visible = append(visible, k.entry.Pack)
	}
	x := index{file: filepath.Join(p.work, "search.idx")}
	f, err := os.Create(x.file)
	if err != nil {
		return index{}, err
	}
	defer f.Close()
	h := sha256.New()
	buf := bufio.NewWriterSize(f, 1<<16)
	var unread error
	err = search.Build(ctx, io.MultiWriter(buf, h),
		search.Library{Packs: visible, Lexicon: lex, Made: made, Docs: p.savedDocs(packs, &unread)})
	if err = cmp.Or(unread, err); err != nil {
		return index{}, fmt.Errorf("building the search index: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return index{}, err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	x.blob = release.Blob{Hash: hex.EncodeToString(h.Sum(nil)), Size: size}
	return x, cmp.Or(err, f.Close(), ctx.Err())
}

// oldIndex returns the index of the current release; nil if there is none, or if it can't be opened
// or has an earlier form.
func (p *publication) oldIndex(ctx context.Context) *search.Index {
	m := p.prev.manifest
	if m == nil || !p.prev.holds(release.IndexKey(m.Index.Hash), m.Index) {
		return nil
	}
	data, err := objectstore.ReadAll(ctx, p.Store, release.IndexKey(m.Index.Hash), m.Index.Size)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(data)
	x, err := search.Open(data)
	if err != nil || !x.Current() || hex.EncodeToString(sum[:]) != m.Index.Hash {
		return nil
	}
	return x
}

// isSame reports whether the index of the current release is also that of packs.
func (p *publication) isSame(old *search.Index, packs []*pack, made string) bool {
	return old != nil && old.Made() == made && len(packs) == len(p.prev.manifest.Packs) &&
		!slices.ContainsFunc(packs, func(k *pack) bool { return !k.unchanged })
}

// readUnchanged reads the documents for the index from the archives of the unchanged packs. It
// takes their shapes from the old index, if there is one, because to make them takes much longer.
func (p *publication) readUnchanged(ctx context.Context, packs []*pack, old *search.Index) error {
	var unchanged []*pack
	var total int64
	for _, k := range packs {
		if k.unchanged && !k.entry.Hidden {
			unchanged = append(unchanged, k)
			total += k.entry.Archive.Size
		}
	}
	p.step("reading unchanged packs", total)
	return p.each(ctx, unchanged, func(ctx context.Context, k *pack) error {
		defer p.Progress.Add(k.entry.Archive.Size, 0)
		b, err := p.fetch(ctx, release.ArchiveKey(k.entry.Archive.Hash), k.entry.Archive)
		if errors.Is(err, release.ErrDamaged) {
			return fmt.Errorf("%w; delete it and publish again", err)
		}
		if err != nil {
			return err
		}
		defer b.Close()
		if err := k.documents(ctx, b.archive, old); err != nil {
			return err
		}
		return p.saveDocs(k)
	})
}

// documents adds the visible icons of an archive to k.docs.
func (k *pack) documents(ctx context.Context, a *release.Archive, old *search.Index) error {
	for e := range a.All() {
		m, err := a.Meta(e)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if m.Hidden {
			continue
		}
		svg, err := a.Read(e)
		if err != nil {
			return err
		}
		d := document(k.entry.Pack.Key, m, svg)
		known := false
		if old != nil {
			ref := icon.Ref{Pack: d.Pack, Name: d.Name}
			d.Shape, known = old.Shape(ref)
			d.Look = old.Look(ref)
			known = known && d.Look != search.NoLook
		}
		if !known {
			d.Shape, d.Look = seen(m, svg)
		}
		k.docs = append(k.docs, d)
	}
	return ctx.Err()
}
