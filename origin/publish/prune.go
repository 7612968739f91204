package publish

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// grace is the least age of an object that prune deletes because no release names it. It is longer
// than a publication takes, because another publication may be about to name the object.
const grace = time.Hour

// prune deletes all releases except the `keep` newest ones, and the archives, docs, indexes and
// sets that no release needs any more. The current release counts as one of the newest. before is
// the time when the previous release became current. A release that was made after it and is
// not current belongs to a publication that failed, so prune deletes it too. It returns the
// ids of the deleted releases. It ends with ErrRaced as soon as another release is current, because
// that may be the next release to delete; the next publication goes on.
func prune(ctx context.Context, b objectstore.Bucket, keep int, before, now time.Time) (gone []string, err error) {
	current, etag, err := readCurrent(ctx, b)
	if err != nil {
		return nil, err
	}
	remove := func(key string) error {
		if info, err := b.Stat(ctx, release.CurrentKey); err != nil {
			return err
		} else if info.ETag != etag {
			return ErrRaced
		}
		return b.Delete(ctx, key)
	}
	all, _, err := manifests(ctx, b)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	left := keep - 1 // besides the current release
	for _, m := range all {
		switch {
		case m.ID == current.Release, m.Created.After(current.Published):
			// The release is current, or another publication is about to make it so.
		case !before.IsZero() && m.Created.After(before), left == 0:
			// The release never was current, or is too old.
			if err := remove(release.ManifestKey(m.ID)); err != nil {
				return gone, err
			}
			gone = append(gone, m.ID)
			continue
		default:
			left--
		}
		for _, p := range m.Packs {
			needed[release.ArchiveKey(p.Archive.Hash)] = true
			needed[release.DocsKey(p.Docs.Hash)] = true
		}
		needed[release.IndexKey(m.Index.Hash)] = true
		needed[release.SetsKey(m.Sets.Hash)] = true
	}
	useless, err := unneeded(ctx, b, needed, now.Add(-grace))
	for _, key := range useless {
		if err == nil {
			err = remove(key)
		}
	}
	return gone, err
}

// unneeded lists the archives, docs, indexes and sets that no release needs, as modified before a
// time.
func unneeded(ctx context.Context, b objectstore.Bucket, needed map[string]bool, before time.Time) (useless []string, err error) {
	for _, prefix := range shared {
		for info, err := range b.List(ctx, prefix) {
			if err != nil {
				return nil, err
			}
			ours := slices.Contains([]string{".zip", ".docs", ".idx", ".json"}, path.Ext(info.Key))
			if ours && !needed[info.Key] && info.Modified.Before(before) {
				useless = append(useless, info.Key)
			}
		}
	}
	return useless, nil
}
