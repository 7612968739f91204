package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// Errors of Rollback.
var (
	ErrNoEarlier = errors.New("the store has no earlier release to go back to")
	ErrNoRelease = errors.New("the store has no such release")
)

// Stored describes a release in the store. Packs and Icons count the visible ones, as the API does.
type Stored struct {
	ID      string
	Created time.Time
	Packs   int
	Icons   int
	Current bool
}

func storedRelease(m *release.Manifest, current string) Stored {
	k := Stored{ID: m.ID, Created: m.Created, Current: m.ID == current}
	for _, p := range m.Packs {
		if !p.Hidden {
			k.Packs++
			k.Icons += p.Count
		}
	}
	return k
}

// List returns the releases in the store, the newest first. If some are damaged, it returns the
// others together with an error that names the damaged ones and wraps release.ErrDamaged.
func List(ctx context.Context, b objectstore.Bucket) ([]Stored, error) {
	current, _, err := readCurrent(ctx, b)
	if err != nil && !errors.Is(err, release.ErrDamaged) {
		return nil, err
	}
	all, damaged, listErr := manifests(ctx, b)
	if listErr != nil {
		return nil, listErr
	}
	var list []Stored
	for _, m := range all {
		list = append(list, storedRelease(m, current.Release))
	}
	return list, errors.Join(append(damaged, err)...)
}

// Rollback makes a stored release current: the one whose id begins with id or, if id is "", the one
// that was current when the present one was published or, if the store does not have it any more,
// the newest of the older ones. A second call without an id goes further back. Rollback deletes
// nothing, and the next publication makes a new release. The error is ErrNoEarlier, ErrNoRelease,
// ErrRaced, or that of the store.
func Rollback(ctx context.Context, b objectstore.Bucket, id string, now time.Time) (Stored, error) {
	current, etag, err := readCurrent(ctx, b)
	if err != nil {
		return Stored{}, err
	}
	all, _, err := manifests(ctx, b)
	if err != nil {
		return Stored{}, err
	}
	m, err := rollbackTo(all, current, id)
	if err != nil {
		return Stored{}, err
	}
	if err := checkComplete(ctx, b, m); err != nil {
		return Stored{}, fmt.Errorf("rolling back: %w", err)
	}
	if newest := all[0].Created; !now.After(newest) { // see previous.nextSeq
		now = newest.Add(time.Millisecond)
	}
	prev := previous{current: current}
	if err := makeCurrent(ctx, b, release.Current{Release: m.ID, Published: prev.nextTime(now)}, etag); err != nil {
		return Stored{}, err
	}
	return storedRelease(m, m.ID), nil
}

// rollbackTo returns the release whose id begins with id, or the one before the current one.
func rollbackTo(all []*release.Manifest, current release.Current, id string) (*release.Manifest, error) {
	if id == "" {
		if m := earlier(all, current); m != nil {
			return m, nil
		}
		return nil, ErrNoEarlier
	}
	var found *release.Manifest
	for _, m := range all {
		switch {
		case !strings.HasPrefix(m.ID, id):
		case found != nil:
			return nil, fmt.Errorf("%w: the ids of two releases begin with %s: name more of it", ErrNoRelease, printable(id))
		default:
			found = m
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %s; iconedge publish --list lists those that --rollback can name", ErrNoRelease, printable(id))
	}
	return found, nil
}

// earlier returns the release to go back to, or nil. all is sorted, the newest first.
func earlier(all []*release.Manifest, current release.Current) *release.Manifest {
	var from *release.Manifest
	for _, m := range all {
		if m.ID == current.Release {
			from = m
		}
	}
	if from == nil { // the current release is lost or damaged: take the newest one before it
		for _, m := range all {
			if !m.Created.After(current.Published) {
				return m
			}
		}
		return nil
	}
	var newest *release.Manifest
	for _, m := range all {
		switch {
		case !m.Created.Before(from.Created):
		case m.ID == from.Base:
			return m
		case newest == nil:
			newest = m
		}
	}
	return newest
}

// Contains reports whether a stored release has a pack or, as PACK/NAME, an icon or an alias. Of an
// archive it reads only the directory.
func Contains(ctx context.Context, b objectstore.Bucket, target string) (bool, error) {
	all, _, err := manifests(ctx, b)
	if err != nil {
		return false, err
	}
	pack, name, one := strings.Cut(target, "/")
	looked := map[string]bool{} // releases share archives
	for _, m := range all {
		for _, p := range m.Packs {
			if p.Key != pack || looked[p.Archive.Hash] {
				continue
			}
			looked[p.Archive.Hash] = true
			if !one {
				return true, nil
			}
			a, err := release.OpenArchive(&storedObject{ctx, b, release.ArchiveKey(p.Archive.Hash)}, p.Archive.Size)
			if err != nil {
				return false, err
			}
			if _, ok := a.Find(name); ok {
				return true, nil
			}
		}
	}
	return false, nil
}

// A storedObject is an object of the store as an io.ReaderAt.
type storedObject struct {
	ctx   context.Context
	store objectstore.RangeReader
	key   string
}

// ReadAt reads len(p) bytes from an offset.
func (o *storedObject) ReadAt(p []byte, off int64) (int, error) {
	r, err := o.store.OpenRange(o.ctx, o.key, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.ReadFull(r, p)
}
