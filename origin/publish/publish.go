// Package publish makes a release of an icon library and makes it the current one. It reads the sources, cleans every
// drawing, writes an archive for each pack that has changed and a search index, uploads what the store does not have yet,
// and replaces the object `current` last: whatever happens before leaves the current release as it was, and what has been
// uploaded is found by its hash the next time.
//
// A pack whose source is what it was is taken over unread. A second publication of the same sources writes nothing.
//
// It imports objectstore, and release, search and svg, which hide how archives, indexes and drawings look.
package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/iconedge/iconedge/objectstore"
)

// What can be wrong besides what the store and the file system say. The errors name the pack or the folder.
var (
	ErrSource    = errors.New("not a source of icons")
	ErrNoSource  = errors.New("there is no such folder")
	ErrNoLicense = errors.New("a licence is missing")
	ErrEmptyPack = errors.New("nothing is left of a pack that had drawings")
	ErrTwice     = errors.New("a pack comes from two sources")
	ErrRaced     = errors.New("the current release was changed by somebody else meanwhile; publish again")
)

// DefaultKeep is how many releases are kept where nothing else is said.
const DefaultKeep = 5

// Options say what to publish, and where.
type Options struct {
	Sources  []string // folders: see Open
	Store    objectstore.Bucket
	Tags     []string  // folders that the search index learns from: see lexicon.Open; empty: those beside a source, NoTags: none
	Keep     int       // releases to keep, the current one among them; 0: DefaultKeep
	DryRun   bool      // do everything but write to the store
	Progress Progress  // may be nil
	Now      time.Time // when the release is made; zero: now
	Work     string    // folder for temporary files, about as large as the archives that change; "": the system's
}

// Publish makes a release of the sources and makes it the current one, on all cores. The whole of @iconify/json takes about
// 300 MB of memory at the default GOGC.
//
// The error wraps one of this package's, of objectstore's, or ctx's; the store's current release is then what it was.
func Publish(ctx context.Context, opt Options) (Summary, error) {
	if opt.Keep < 0 {
		return Summary{}, errors.New("publishing: fewer than one release can't be kept")
	}
	if opt.Keep == 0 {
		opt.Keep = DefaultKeep
	}
	if opt.Progress == nil {
		opt.Progress = silent{}
	}
	if opt.Now.IsZero() {
		opt.Now = time.Now()
	}
	work, err := workFolder(opt.Work, opt.Now)
	if err != nil {
		return Summary{}, err
	}
	defer os.RemoveAll(work)
	defer opt.Progress.Done()
	p := &publication{Options: opt, work: work}
	defer p.closeTrees()
	if err := p.run(ctx); err != nil {
		return Summary{}, err
	}
	return p.sum, nil
}

// A publication is one call of Publish.
type publication struct {
	Options
	work  string
	roots []*os.Root // of the sources; closed at the end
	prev  previous
	seq   int // of this publication
	sum   Summary
}

func (p *publication) run(ctx context.Context) (err error) {
	sources, err := p.sources(ctx)
	if err != nil {
		return err
	}
	if p.prev, err = readPrevious(ctx, p.Store); err != nil {
		return err
	}
	p.seq = p.prev.nextSeq()
	p.sum.Warnings = append(p.sum.Warnings, p.prev.warnings...)
	packs, err := p.compare(ctx, sources)
	if err != nil {
		return err
	}
	if packs, err = p.build(ctx, packs); err != nil {
		return err
	}
	index, err := p.index(ctx, packs)
	if err != nil {
		return err
	}
	m := p.manifest(packs, index)
	p.summarise(m, packs)
	if p.DryRun {
		return p.pending(packs, index)
	}
	if err := p.upload(ctx, m, packs, index); err != nil {
		return err
	}
	// The release is current. What can't be tidied up now can be the next time.
	pruned, err := prune(ctx, p.Store, p.Keep, p.prev.current.Published, time.Now())
	p.sum.Pruned = pruned
	if err != nil {
		p.sum.Warnings = append(p.sum.Warnings, fmt.Sprintf("pruning old releases: %v", err))
	}
	return nil
}
