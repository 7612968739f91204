package publish

import (
	"context"
	"strings"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// grace is how old an object must be before it is deleted because no release names it: somebody may be publishing one that
// will. It is longer than a publication takes.
const grace = time.Hour

// prune deletes all but the keep newest releases and the current one, and the archives and indexes that no release needs any
// more. Before is when the release was published that was current until now: what was made after it and is not current was
// never made so, and never will be. It returns the ids of the releases that are gone.
func prune(ctx context.Context, b objectstore.Bucket, keep int, before, now time.Time) (gone []string, err error) {
	current, _, err := readCurrent(ctx, b)
	if err != nil {
		return nil, err
	}
	all, _, err := manifests(ctx, b)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	left := keep - 1 // one is the current's
	for _, m := range all {
		switch {
		case m.ID == current.Release, m.Created.After(current.Published): // of a publication under way
		case !before.IsZero() && m.Created.After(before), left == 0: // never current, or too old
			if err := b.Delete(ctx, release.ManifestKey(m.ID)); err != nil {
				return gone, err
			}
			gone = append(gone, m.ID)
			continue
		default:
			left--
		}
		for _, p := range m.Packs {
			needed[release.ArchiveKey(p.Archive.Hash)] = true
		}
		needed[release.IndexKey(m.Index.Hash)] = true
	}
	return gone, sweep(ctx, b, needed, now.Add(-grace))
}

// sweep deletes the archives and indexes that are not needed, and older than a time.
func sweep(ctx context.Context, b objectstore.Bucket, needed map[string]bool, before time.Time) error {
	var useless []string
	for _, prefix := range []string{release.ArchivePrefix, release.IndexPrefix} {
		for info, err := range b.List(ctx, prefix) {
			if err != nil {
				return err
			}
			ours := strings.HasSuffix(info.Key, ".zip") || strings.HasSuffix(info.Key, ".idx")
			if ours && !needed[info.Key] && info.Modified.Before(before) {
				useless = append(useless, info.Key)
			}
		}
	}
	for _, key := range useless {
		if err := b.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
