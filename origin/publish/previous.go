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
	maxManifest = 64 << 20 // bytes of a manifest; that of the whole @iconify/json has 0.5 MB
)

// previous describes the content of the store before a publication.
type previous struct {
	current  release.Current
	etag     string              // of the current object; "" if there is none
	manifest *release.Manifest   // of the current release; nil if it is absent or damaged
	stored   []*release.Manifest // all readable manifests, the newest first
	objects  map[string]int64    // sizes of the archives, docs, indexes and sets
	sets     map[string]release.Set
	warnings []string
}

// readPrevious reads the state of the store. It reports a damaged current release only as a
// warning, because a new publication repairs it.
func readPrevious(ctx context.Context, b objectstore.Bucket) (prev previous, err error) {
	warn := func(err error) { prev.warnings = append(prev.warnings, err.Error()) }
	if prev.current, prev.etag, err = readCurrent(ctx, b); errors.Is(err, release.ErrDamaged) {
		warn(err)
	} else if err != nil {
		return previous{}, err
	}
	stored, damaged, err := manifests(ctx, b)
	if err != nil {
		return previous{}, err
	}
	for _, err := range damaged {
		warn(err)
	}
	prev.stored = stored
	if i := slices.IndexFunc(stored, func(m *release.Manifest) bool { return m.ID == prev.current.Release }); i >= 0 {
		prev.manifest = stored[i]
	} else if prev.current.Release != "" {
		warn(fmt.Errorf("the manifest of the current release %s is missing or damaged", prev.current.Release))
	}
	if prev.objects, err = objects(ctx, b); err != nil {
		return previous{}, err
	}
	prev.sets, err = readSets(ctx, b, prev.manifest)
	if errors.Is(err, release.ErrDamaged) || errors.Is(err, objectstore.ErrNotExist) {
		warn(err)
		err = nil
	}
	return prev, err
}

// readCurrent reads the object that names the current release. The result is empty, without an
// error, if no release has been published yet.
func readCurrent(ctx context.Context, b objectstore.Bucket) (c release.Current, etag string, err error) {
	// Read the ETag first: if the object changes before the next read, PutIf with the old ETag
	// fails.
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

// manifests reads all manifests, the newest first. damaged has an error for each damaged one.
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
			err = fmt.Errorf("%w: it has the manifest of the release %s", release.ErrDamaged, m.ID)
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

// shared has the prefixes of the objects that several releases may name.
var shared = []string{release.ArchivePrefix, release.DocsPrefix, release.IndexPrefix, release.SetsPrefix}

// objects returns the sizes of the archives, docs, indexes and sets in the store.
func objects(ctx context.Context, b objectstore.Bucket) (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, prefix := range shared {
		for info, err := range b.List(ctx, prefix) {
			if err != nil {
				return nil, err
			}
			sizes[info.Key] = info.Size
		}
	}
	return sizes, nil
}

// holds reports whether the store has an object with the size of blob.
func (prev *previous) holds(key string, blob release.Blob) bool {
	size, ok := prev.objects[key]
	return ok && size == blob.Size
}

// nextSeq returns the number after the highest number of any release that was current. A manifest
// that was written after the last change of the current release belongs to a publication that did
// not finish. Its number is used again, so that its archives can be used again too.
func (prev *previous) nextSeq() int {
	last := 0
	for _, m := range prev.stored {
		if prev.etag == "" || prev.current.Release != "" && m.Created.After(prev.current.Published) {
			continue
		}
		last = max(last, m.Seq)
	}
	return last + 1
}

// nextTime returns now, or a moment after the last publication if now is not later than that:
// releases are ordered by their times, so no two may have the same.
func (prev *previous) nextTime(now time.Time) time.Time {
	if !now.After(prev.current.Published) {
		now = prev.current.Published.Add(time.Millisecond)
	}
	return now.UTC().Round(0)
}
