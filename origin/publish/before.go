package publish

import (
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

// before is the archive that a pack has in the current release; the zero value is none.
type before struct {
	archive *release.Archive
	file    *os.File
}

func (b *before) Close() {
	if b.file != nil {
		b.file.Close()
		os.Remove(b.file.Name())
	}
}

// openBefore opens the archive whose drawings may still be the same. It is none where there is no such pack, where what
// every answer about an icon says of its pack has changed, or where the archive is lost or damaged.
func (p *publication) openBefore(ctx context.Context, k *pack) (*before, error) {
	old, ok := p.prev.pack(k.about().key)
	if !ok || facts(old.Pack) != facts(k.about().pack()) || !p.prev.holds(release.ArchiveKey(old.Archive.Hash), old.Archive) {
		return &before{}, nil
	}
	b, err := p.fetch(ctx, release.ArchiveKey(old.Archive.Hash), old.Archive)
	if errors.Is(err, release.ErrDamaged) || errors.Is(err, objectstore.ErrNotExist) {
		return &before{}, nil
	}
	return b, err
}

// facts are what an answer about one icon says of its pack.
func facts(p icon.Pack) [6]string {
	return [6]string{p.Name, p.License, p.LicenseTitle, p.LicenseURL, p.Attribution, fmt.Sprint(p.CommercialUse)}
}

// fetch copies an archive here, checks its hash and opens it.
func (p *publication) fetch(ctx context.Context, key string, blob release.Blob) (b *before, err error) {
	f, err := os.CreateTemp(p.work, "before-*.zip")
	if err != nil {
		return nil, err
	}
	b = &before{file: f}
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
		return nil, fmt.Errorf("reading %s: %w: its hash is another", key, release.ErrDamaged)
	}
	if b.archive, err = release.OpenArchive(f, blob.Size); err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return b, nil
}

// A reader ends with its context.
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
