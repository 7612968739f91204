package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// manifest returns the manifest of the release. If the release is the same as the current one, the
// manifest has the same number, time and history.
func (p *publication) manifest(packs []*pack, x index, sets blobFile) *release.Manifest {
	m := &release.Manifest{Seq: p.seq, Created: p.prev.nextTime(p.Now), Base: p.prev.current.Release,
		Index: x.blob, IndexMade: x.made, Sets: sets.blob}
	seqs := map[int]bool{}
	for _, k := range packs {
		m.Packs = append(m.Packs, k.entry)
		seqs[k.set.Seq] = true
		for _, seq := range k.entry.Seqs {
			seqs[seq] = true
		}
	}
	m.ID = m.ComputeID()
	old := p.prev.manifest
	if old != nil && old.ID == m.ID {
		m.Seq, m.Created, m.Base, m.History = old.Seq, old.Created, old.Base, old.History
		return m
	}
	if old != nil {
		m.History = slices.DeleteFunc(slices.Clone(old.History), func(e release.Epoch) bool { return !seqs[e.Seq] })
	}
	if seqs[m.Seq] {
		m.History = append(m.History, release.Epoch{Seq: m.Seq, ID: m.ID, Created: m.Created})
	}
	return m
}

// A blobFile is a file that the store must have, with a key made of its hash.
type blobFile struct {
	key, path string
	blob      release.Blob
}

// toUpload lists the objects of the release that the store does not have. Two packs can't have the
// same archive; two simultaneous uploads of one key would do no harm either.
func (p *publication) toUpload(packs []*pack, x index, sets blobFile) (files []blobFile) {
	add := func(key, path string, blob release.Blob) {
		if path != "" && !p.prev.holds(key, blob) {
			files = append(files, blobFile{key, path, blob})
		}
	}
	for _, k := range packs {
		add(release.ArchiveKey(k.entry.Archive.Hash), k.file, k.entry.Archive)
		add(release.DocsKey(k.entry.Docs.Hash), k.docsFile, k.entry.Docs)
	}
	add(release.IndexKey(x.blob.Hash), x.file, x.blob)
	add(sets.key, sets.path, sets.blob)
	return files
}

// countUploads adds the objects that an upload sends to the summary.
func (p *publication) countUploads(files []blobFile) {
	for _, f := range files {
		p.sum.Uploads++
		p.sum.UploadedBytes += f.blob.Size
	}
}

// upload writes the archives, the docs, the index and the sets, then the manifest, then the object
// that makes it current.
func (p *publication) upload(ctx context.Context, m *release.Manifest, files []blobFile) error {
	p.countUploads(files)
	p.step("uploading", p.sum.UploadedBytes)
	g, putCtx := errgroup.WithContext(ctx)
	g.SetLimit(4) // a request to a distant store waits most of the time
	for _, f := range files {
		g.Go(func() error { return p.put(putCtx, f) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := p.writeManifest(ctx, m); err != nil {
		return err
	}
	if m.ID == p.prev.current.Release {
		return nil
	}
	if len(files) > 0 || p.prev.manifest != nil {
		if err := checkComplete(ctx, p.Store, m); err != nil {
			return err
		}
	}
	return makeCurrent(ctx, p.Store, release.Current{Release: m.ID, Published: m.Created}, p.prev.etag)
}

func (p *publication) put(ctx context.Context, file blobFile) error {
	f, err := os.Open(file.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.Store.Put(ctx, file.key, io.TeeReader(f, progressWriter{p.Progress}), file.blob.Size); err != nil {
		return fmt.Errorf("uploading %s: %w", file.key, err)
	}
	return nil
}

// A progressWriter reports the bytes that are written to it, and discards them.
type progressWriter struct{ Progress }

func (s progressWriter) Write(b []byte) (int, error) {
	s.Add(int64(len(b)), 0)
	return len(b), nil
}

// writeManifest writes a manifest unless the store has the same bytes already. That is the case if
// nothing has changed, or if the sources have changed but their icons have not.
func (p *publication) writeManifest(ctx context.Context, m *release.Manifest) error {
	data := m.Encode()
	for _, old := range p.prev.stored {
		if old.ID == m.ID && bytes.Equal(old.Encode(), data) {
			return nil
		}
	}
	if err := p.Store.Put(ctx, release.ManifestKey(m.ID), bytes.NewReader(data), int64(len(data))); err != nil {
		return fmt.Errorf("uploading %s: %w", release.ManifestKey(m.ID), err)
	}
	return nil
}

// makeCurrent makes a release current. It returns ErrRaced if another process has changed the
// current release since etag was read.
func makeCurrent(ctx context.Context, b objectstore.Bucket, c release.Current, etag string) error {
	data := c.Encode()
	err := b.PutIf(ctx, release.CurrentKey, bytes.NewReader(data), int64(len(data)), etag)
	if errors.Is(err, objectstore.ErrChanged) {
		return fmt.Errorf("%w (%w)", ErrRaced, err)
	}
	if err != nil {
		return fmt.Errorf("making the release %s current: %w", c.Release, err)
	}
	return nil
}

// checkComplete returns an error unless the store has all objects that a release names.
func checkComplete(ctx context.Context, b objectstore.Bucket, m *release.Manifest) error {
	have, err := objects(ctx, b)
	if err != nil {
		return err
	}
	prev := previous{objects: have}
	for _, p := range m.Packs {
		if key := release.ArchiveKey(p.Archive.Hash); !prev.holds(key, p.Archive) {
			return fmt.Errorf("the release %s lacks %s: %w", m.ID, key, objectstore.ErrNotExist)
		}
	}
	if key := release.IndexKey(m.Index.Hash); !prev.holds(key, m.Index) {
		return fmt.Errorf("the release %s lacks %s: %w", m.ID, key, objectstore.ErrNotExist)
	}
	if key := release.SetsKey(m.Sets.Hash); m.Sets != (release.Blob{}) && !prev.holds(key, m.Sets) {
		return fmt.Errorf("the release %s lacks %s: %w", m.ID, key, objectstore.ErrNotExist)
	}
	return nil
}
