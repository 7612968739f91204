package catalogtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// A Publisher publishes successive libraries to a store. It remembers the last one, so that an icon
// keeps its Seq while it does not change.
type Publisher struct {
	Store objectstore.Bucket

	last    map[icon.Ref]Icon // with Seq
	history []release.Epoch
}

// Dir returns a Publisher to a folder.
func Dir(folder string) *Publisher { return &Publisher{Store: objectstore.Dir(folder)} }

// Publish builds a release of l and makes it current. It writes all objects, even if the store has
// them already.
func (p *Publisher) Publish(ctx context.Context, l Library, now time.Time) (*release.Manifest, error) {
	m := &release.Manifest{Seq: len(p.history) + 1, Created: now.UTC(), History: slices.Clone(p.history)}
	icons := map[icon.Ref]Icon{}
	var packs []icon.Pack
	for _, key := range slices.Sorted(maps.Keys(l)) {
		pack := l[key]
		var archive bytes.Buffer
		w := release.NewWriter(&archive)
		for _, name := range pack.names() {
			ref := icon.Ref{Pack: key, Name: name}
			d := pack.Icons[name]
			d.Meta.Seq = m.Seq
			if old, was := p.last[ref]; was && old.SVG == d.SVG && old.Meta.Same(d.Meta) {
				d = old
			}
			icons[ref] = d
			if err := w.Add(d.Meta, []byte(d.SVG)); err != nil {
				return nil, err
			}
		}
		blob, err := w.Close()
		if err != nil {
			return nil, err
		}
		if err := p.put(ctx, release.ArchiveKey(blob.Hash), archive.Bytes()); err != nil {
			return nil, err
		}
		described := pack.described()
		packs = append(packs, described)
		m.Packs = append(m.Packs, release.PackEntry{Pack: described, Hidden: pack.Hidden, Archive: blob, Source: "test"})
	}
	var err error
	if m.Index, err = p.index(ctx, l, packs); err != nil {
		return nil, err
	}
	m.ID = m.ComputeID()
	m.History = append(m.History, release.Epoch{Seq: m.Seq, ID: m.ID, Created: m.Created})
	p.last, p.history = icons, m.History
	if err := p.put(ctx, release.ManifestKey(m.ID), m.Encode()); err != nil {
		return nil, err
	}
	return m, p.Switch(ctx, m.ID, now)
}

// Switch makes an earlier published release current.
func (p *Publisher) Switch(ctx context.Context, id string, now time.Time) error {
	return p.put(ctx, release.CurrentKey, release.Current{Release: id, Published: now.UTC()}.Encode())
}

func (p *Publisher) put(ctx context.Context, key string, data []byte) error {
	return p.Store.Put(ctx, key, bytes.NewReader(data), int64(len(data)))
}

func (p *Publisher) index(ctx context.Context, l Library, packs []icon.Pack) (release.Blob, error) {
	packs = slices.DeleteFunc(slices.Clone(packs), func(p icon.Pack) bool { return l[p.Key].Hidden })
	var b bytes.Buffer
	if err := search.Build(ctx, &b, search.Library{Packs: packs, Docs: docs(l)}); err != nil {
		return release.Blob{}, err
	}
	sum := sha256.Sum256(b.Bytes())
	blob := release.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(b.Len())}
	return blob, p.put(ctx, release.IndexKey(blob.Hash), b.Bytes())
}

func docs(l Library) func(pack string) ([]search.Doc, error) {
	return func(pack string) (docs []search.Doc, err error) {
		for _, name := range l[pack].names() {
			d := l[pack].Icons[name]
			if d.Meta.Hidden {
				continue
			}
			sum := sha256.Sum256([]byte(d.SVG))
			docs = append(docs, search.Doc{
				Pack: pack, Name: name, AliasOf: d.Meta.AliasOf, Width: d.Meta.Width, Height: d.Meta.Height,
				Monochrome: d.Meta.Monochrome, Own: d.Meta.Color != "", Stroked: d.Meta.Stroke != 0, Image: [16]byte(sum[:16]),
			})
		}
		return docs, nil
	}
}
