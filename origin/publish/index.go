package publish

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// collectorPercent is GOGC while the index is built, because most of its memory is in use then.
const collectorPercent = 15

// An index is the search index of the release. file is "" if the index is that of the current
// release, unchanged.
type index struct {
	blob release.Blob
	made string // see release.Manifest
	file string
}

// index reuses the index of the current release if all packs and tags are the same; otherwise it
// builds a new one.
func (p *publication) index(ctx context.Context, packs []*pack) (index, error) {
	lex, made, err := p.lexicon(ctx)
	if err != nil {
		return index{}, err
	}
	x := index{made: fmt.Sprintf("%d %s", search.Form, made)}
	if same, err := p.isSame(ctx, packs, x.made); same || err != nil {
		x.blob = p.prev.manifest.Index
		return x, err
	}
	packs = slices.DeleteFunc(slices.Clone(packs), func(k *pack) bool { return k.entry.Hidden })
	slices.SortFunc(packs, func(a, b *pack) int { return strings.Compare(a.about().key, b.about().key) })
	var visible []icon.Pack
	var total int64
	icons := 0
	for _, k := range packs {
		visible = append(visible, k.entry.Pack)
		total += k.entry.Docs.Size
		icons += k.entry.Icons + k.entry.Aliases
	}
	p.Progress.Step("building the search index", total)
	x.file = filepath.Join(p.work, "search.idx")
	f, err := os.Create(x.file)
	if err != nil {
		return index{}, err
	}
	defer f.Close()
	h := sha256.New()
	buf := bufio.NewWriterSize(f, 1<<16)
	docs, end := p.docsOf(ctx, packs)
	defer end()
	defer debug.SetGCPercent(debug.SetGCPercent(collectorPercent))
	lib := search.Library{Packs: visible, Size: icons, Lexicon: lex, Made: made, Docs: docs}
	err = search.Build(ctx, io.MultiWriter(buf, h), lib)
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

// isSame reports whether the index of the current release is also that of packs, and whole in the
// store.
func (p *publication) isSame(ctx context.Context, packs []*pack, made string) (bool, error) {
	m := p.prev.manifest
	if m == nil || m.IndexMade != made || len(packs) != len(m.Packs) ||
		slices.ContainsFunc(packs, func(k *pack) bool { return !k.unchanged }) {
		return false, nil
	}
	key := release.IndexKey(m.Index.Hash)
	h := sha256.New()
	r, err := p.Store.Open(ctx, key)
	if err == nil {
		_, err = io.Copy(h, reader{ctx, r})
		r.Close()
	}
	if err == nil && hex.EncodeToString(h.Sum(nil)) == m.Index.Hash {
		return true, nil
	}
	delete(p.prev.objects, key) // the new index replaces it
	return false, ctx.Err()
}
