package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// oldPrefix begins the names of the copies of old archives in the working folder.
const oldPrefix = ".old-"

// An oldArchive is a copy of the archive that a pack has in the current release. The zero value
// means that there is none to compare with.
type oldArchive struct {
	archive *release.Archive
	file    *os.File
	facts   bool // the pack has the same facts in both releases
}

func (b *oldArchive) Close() {
	if b.file != nil {
		b.file.Close()
		os.Remove(b.file.Name())
	}
}

// openOldArchive opens the archive of a pack in the current release. The result is empty if the
// release has no such pack, or if the archive is lost or damaged.
func (p *publication) openOldArchive(ctx context.Context, k *pack) (*oldArchive, error) {
	old, ok := p.prev.pack(k.about().key)
	if !ok || !p.prev.holds(release.ArchiveKey(old.Archive.Hash), old.Archive) {
		return &oldArchive{}, nil
	}
	b, err := p.fetch(ctx, release.ArchiveKey(old.Archive.Hash), old.Archive)
	if errors.Is(err, release.ErrDamaged) || errors.Is(err, objectstore.ErrNotExist) {
		return &oldArchive{}, nil
	}
	if err != nil {
		return nil, err
	}
	b.facts = facts(old.Pack) == facts(k.about().pack())
	return b, nil
}

// find returns whether the archive has an icon of that name, and whether it is the same icon with
// the same metadata, which last changed in the release seq.
func (b *oldArchive) find(m release.Meta, data []byte) (known, same bool, seq int) {
	if b.archive == nil {
		return false, false, 0
	}
	e, ok := b.archive.Find(m.Name)
	if !ok {
		return false, false, 0
	}
	old, err := b.archive.Meta(e)
	if err != nil || !old.Same(m) {
		return true, false, 0
	}
	if was, err := b.archive.Read(e); err != nil || !bytes.Equal(was, data) {
		return true, false, 0
	}
	return true, true, old.Seq
}

// facts returns the properties of a pack that the response for each of its icons contains.
func facts(p icon.Pack) [6]string {
	return [6]string{p.Name, p.License, p.LicenseTitle, p.LicenseURL, p.Attribution, fmt.Sprint(p.CommercialUse)}
}

// fetch copies an archive into the working folder, checks its hash and opens it.
func (p *publication) fetch(ctx context.Context, key string, blob release.Blob) (b *oldArchive, err error) {
	f, err := os.CreateTemp(p.work, oldPrefix+"*"+archiveSuffix)
	if err != nil {
		return nil, err
	}
	b = &oldArchive{file: f}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	r, err := p.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, h), reader{ctx, r}); err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != blob.Hash {
		return nil, fmt.Errorf("reading %s: %w: its content does not have the hash %s", key, release.ErrDamaged, blob.Hash)
	}
	if b.archive, err = release.OpenArchive(f, blob.Size); err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return b, nil
}

// A reader returns the error of its context once that has ended.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
