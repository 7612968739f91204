package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// ErrNoEarlier says that there is no release to go back to.
var ErrNoEarlier = errors.New("no earlier release is kept")

// Kept is a release that the store holds. Packs and Icons count what is visible, as the API does.
type Kept struct {
	ID      string
	Created time.Time
	Packs   int
	Icons   int
	Current bool
}

func keptOf(m *release.Manifest, current string) Kept {
	k := Kept{ID: m.ID, Created: m.Created, Current: m.ID == current}
	for _, p := range m.Packs {
		if !p.Hidden {
			k.Packs++
			k.Icons += p.Count
		}
	}
	return k
}

// List tells which releases the store holds, the newest first. Beside those that can be read the error, which wraps
// release.ErrDamaged, names the others.
func List(ctx context.Context, b objectstore.Bucket) ([]Kept, error) {
	current, _, err := readCurrent(ctx, b)
	if err != nil && !errors.Is(err, release.ErrDamaged) {
		return nil, err
	}
	all, damaged, listErr := manifests(ctx, b)
	if listErr != nil {
		return nil, listErr
	}
	var kept []Kept
	for _, m := range all {
		kept = append(kept, keptOf(m, current.Release))
	}
	return kept, errors.Join(append(damaged, err)...)
}

// Rollback makes the release current that was so when the current one was published or, if it is not kept, the newest of
// those that were made earlier. Called again it goes further back. Nothing is deleted; publishing goes forward again.
// The error is ErrNoEarlier, ErrRaced, or the store's.
func Rollback(ctx context.Context, b objectstore.Bucket, now time.Time) (Kept, error) {
	current, etag, err := readCurrent(ctx, b)
	if err != nil {
		return Kept{}, err
	}
	all, _, err := manifests(ctx, b)
	if err != nil {
		return Kept{}, err
	}
	m := earlier(all, current)
	if m == nil {
		return Kept{}, ErrNoEarlier
	}
	if err := complete(ctx, b, m); err != nil {
		return Kept{}, fmt.Errorf("going back: %w", err)
	}
	if newest := all[0].Created; !now.After(newest) { // see previous.nextSeq
		now = newest.Add(time.Millisecond)
	}
	prev := previous{current: current}
	if err := flip(ctx, b, release.Current{Release: m.ID, Published: prev.after(now)}, etag); err != nil {
		return Kept{}, err
	}
	return keptOf(m, m.ID), nil
}

// earlier is the release to go back to; all are sorted, the newest first.
func earlier(all []*release.Manifest, current release.Current) *release.Manifest {
	var from *release.Manifest
	for _, m := range all {
		if m.ID == current.Release {
			from = m
		}
	}
	if from == nil { // it is lost or damaged: any other will do
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
