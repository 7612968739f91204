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

// An index is the search index on its way into the release; file is "" for one that was taken over.
type index struct {
	blob release.Blob
	file string
}

// index takes over the index of the current release if every pack was, and it learned from the same tags, else builds one.
func (p *publication) index(ctx context.Context, packs []*pack) (index, error) {
	lex, made, err := p.lexicon(ctx)
	if err != nil {
		return index{}, err
	}
	if old, ok := p.sameIndex(ctx, packs, made); ok {
		return index{blob: old}, nil
	}
	if err := p.readTaken(ctx, packs); err != nil {
		return index{}, err
	}
	p.Progress.Step("building the search index", 0)
	if err := ctx.Err(); err != nil {
		return index{}, err
	}
	var visible []icon.Pack
	for _, k := range packs {
		if !k.entry.Hidden {
			visible = append(visible, k.entry.Pack)
		}
	}
	x := index{file: filepath.Join(p.work, "search.idx")}
	f, err := os.Create(x.file)
	if err != nil {
		return index{}, err
	}
	defer f.Close()
	h := sha256.New()
	buf := bufio.NewWriterSize(f, 1<<16)
	err = search.Build(ctx, io.MultiWriter(buf, h), search.Library{Packs: visible, Lexicon: lex, Made: made, Docs: func(yield func(search.Doc) bool) {
		for _, k := range packs {
			for _, d := range k.docs {
				if !yield(d) {
					return
				}
			}
		}
	}})
	if err != nil {
		return index{}, fmt.Errorf("building the search index: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return index{}, err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	x.blob = release.Blob{Hash: hex.EncodeToString(h.Sum(nil)), Size: size}
	return x, cmp.Or(err, f.Close(), ctx.Err())
}

// sameIndex gives the current release's index if it is what building it again would give, and can be opened.
func (p *publication) sameIndex(ctx context.Context, packs []*pack, made string) (release.Blob, bool) {
	m := p.prev.manifest
	if m == nil || len(packs) != len(m.Packs) || slices.ContainsFunc(packs, func(k *pack) bool { return !k.taken }) ||
		!p.prev.holds(release.IndexKey(m.Index.Hash), m.Index) {
		return release.Blob{}, false
	}
	data, err := objectstore.ReadAll(ctx, p.Store, release.IndexKey(m.Index.Hash), m.Index.Size)
	if err != nil {
		return release.Blob{}, false
	}
	sum := sha256.Sum256(data)
	x, err := search.Open(data)
	return m.Index, err == nil && x.Made() == made && hex.EncodeToString(sum[:]) == m.Index.Hash
}

// readTaken reads from the archives of the packs that were taken over what the index needs of them.
func (p *publication) readTaken(ctx context.Context, packs []*pack) error {
	var taken []*pack
	var total int64
	for _, k := range packs {
		if k.taken && !k.entry.Hidden {
			taken = append(taken, k)
			total += k.entry.Archive.Size
		}
	}
	p.step("reading what has not changed", total)
	return p.each(ctx, taken, func(ctx context.Context, k *pack) error {
		defer p.Progress.Add(k.entry.Archive.Size, 0)
		b, err := p.fetch(ctx, release.ArchiveKey(k.entry.Archive.Hash), k.entry.Archive)
		if errors.Is(err, release.ErrDamaged) {
			return fmt.Errorf("%w; delete it and publish again", err)
		}
		if err != nil {
			return err
		}
		defer b.Close()
		return k.documents(ctx, b.archive)
	})
}

func (k *pack) documents(ctx context.Context, a *release.Archive) error {
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
		drawing, err := a.Read(e)
		if err != nil {
			return err
		}
		k.docs = append(k.docs, document(k.entry.Pack.Pack, m, drawing))
	}
	return ctx.Err()
}
