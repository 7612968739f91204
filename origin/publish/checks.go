package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/iconedge/iconedge/objectstore"
)

// checkKey is the key of the object with which checkStore tests whether the store can be written.
const checkKey = "publish-check"

// checkDisks returns an error if a disk has no room for the release, because a full disk would
// otherwise show after minutes of work. Archives and indexes take about half of their sources, in
// the working folder and in the store.
func (p *publication) checkDisks(packs []*pack) error {
	var need int64
	for _, k := range packs {
		if !k.unchanged {
			need += k.size() / 2
		}
	}
	if dir, ok := p.Store.(*objectstore.DirStore); ok && !p.DryRun {
		if err := checkFree(dir.Path(), need); err != nil {
			return err
		}
	}
	return checkFree(p.work, need-p.had)
}

// checkFree returns an error if the disk of a folder has less than need bytes free.
func checkFree(folder string, need int64) error {
	free, ok := freeBytes(folder)
	if ok && free < need {
		return fmt.Errorf("the disk of %s has %s free, and the release needs about %s: free space, or choose another --store or --work",
			folder, megabytes(free), megabytes(need))
	}
	return nil
}

// checkStore returns an error if objects of the store can't be written or deleted.
func (p *publication) checkStore(ctx context.Context) error {
	if p.DryRun {
		return nil
	}
	const text = "iconedge publish tests whether it may write here\n"
	if err := p.Store.Put(ctx, checkKey, strings.NewReader(text), int64(len(text))); err != nil {
		return fmt.Errorf("testing whether the store can be written: %w", err)
	}
	if err := p.Store.Delete(ctx, checkKey); err != nil {
		return fmt.Errorf("testing whether objects of the store can be deleted: %w", err)
	}
	return nil
}
