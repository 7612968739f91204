package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

const (
	maxCurrent  = 64 << 10 // bytes of the current object
	maxManifest = 64 << 20 // bytes of a manifest; the whole of Iconify's takes half a megabyte
)

// previous is what the store holds before a publication.
type previous struct {
	current  release.Current
	etag     string            // of the current object; "" if there is none
	manifest *release.Manifest // of the current release; nil if there is none that can be read
	kept     []*release.Manifest
	objects  map[string]int64 // sizes of the archives and indexes
	warnings []string
}

// readPrevious looks at the store. A current release that is damaged is as good as none, but for a warning: publishing anew
// is how to mend it.
func readPrevious(ctx context.Context, b objectstore.Bucket) (prev previous, err error) {
	warn := func(err error) { prev.warnings = append(prev.warnings, err.Error()) }
	if prev.current, prev.etag, err = readCurrent(ctx, b); errors.Is(err, release.ErrDamaged) {
		warn(err)
	} else if err != nil {
		return previous{}, err
	}
	kept, damaged, err := manifests(ctx, b)
	if err != nil {
		return previous{}, err
	}
	for _, err := range damaged {
		warn(err)
	}
	prev.kept = kept
	if i := slices.IndexFunc(kept, func(m *release.Manifest) bool { return m.ID == prev.current.Release }); i >= 0 {
		prev.manifest = kept[i]
	} else if prev.current.Release != "" {
		warn(fmt.Errorf("the current release %s has no manifest that can be read", prev.current.Release))
	}
	prev.objects, err = objects(ctx, b)
	return prev, err
}

// readCurrent gives no release and no error where none has been published yet.
func readCurrent(ctx context.Context, b objectstore.Bucket) (c release.Current, etag string, err error) {
	// The ETag first: if the object changes in between, the ETag is that of the old one, and PutIf says so.
	info, err := b.Stat(ctx, release.CurrentKey)
	if errors.Is(err, objectstore.ErrNotExist) {
		return c, "", nil
	}
	if err != nil {
		return c, "", err
	}
	data, err := objectstore.ReadAll(ctx, b, release.CurrentKey, maxCurrent)
	if err != nil {
		return c, "", err
	}
	if c, err = release.ParseCurrent(data); err != nil {
		return c, info.ETag, fmt.Errorf("reading %s: %w", release.CurrentKey, err)
	}
	return c, info.ETag, nil
}

// manifests reads all there are, newest first, and says which of them are damaged.
func manifests(ctx context.Context, b objectstore.Bucket) (all []*release.Manifest, damaged []error, err error) {
	for info, err := range b.List(ctx, release.ManifestPrefix) {
		if err != nil {
			return nil, nil, err
		}
		id, ok := release.ManifestID(info.Key)
		if !ok {
			continue
		}
		data, err := objectstore.ReadAll(ctx, b, info.Key, maxManifest)
		if errors.Is(err, objectstore.ErrNotExist) { // pruned just now
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		m, err := release.ParseManifest(data)
		if err == nil && m.ID != id {
			err = fmt.Errorf("%w: it is that of %s", release.ErrDamaged, m.ID)
		}
		if err != nil {
			damaged = append(damaged, fmt.Errorf("reading %s: %w", info.Key, err))
			continue
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b *release.Manifest) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	return all, damaged, nil
}

// objects lists the archives and indexes.
func objects(ctx context.Context, b objectstore.Bucket) (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, prefix := range []string{release.ArchivePrefix, release.IndexPrefix} {
		for info, err := range b.List(ctx, prefix) {
			if err != nil {
				return nil, err
			}
			sizes[info.Key] = info.Size
		}
	}
	return sizes, nil
}

// holds reports whether the store has the object whole.
func (prev *previous) holds(key string, blob release.Blob) bool {
	size, ok := prev.objects[key]
	return ok && size == blob.Size
}

// nextSeq is one more than that of any release that was current. A manifest that was written after the last switch belongs to
// a publication that did not get that far: its number is used again, so that its archives are too.
func (prev *previous) nextSeq() int {
	last := 0
	for _, m := range prev.kept {
		if prev.etag == "" || prev.current.Release != "" && m.Created.After(prev.current.Published) {
			continue
		}
		last = max(last, m.Seq)
	}
	return last + 1
}

// after is now, or just after whatever was published last: releases are told apart, and ordered, by their time.
func (prev *previous) after(now time.Time) time.Time {
	if !now.After(prev.current.Published) {
		now = prev.current.Published.Add(time.Millisecond)
	}
	return now.UTC().Round(0)
}
