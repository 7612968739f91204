package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/iconedge/iconedge/objectstore"
)

// Errors of Publish and Rollback, besides those of the store and the file system. Errors that wrap
// them name the pack or the folder.
var (
	ErrSource    = errors.New("not a source of icons")
	ErrNoSource  = errors.New("the folder does not exist")
	ErrNoLicense = errors.New("a valid licence is missing")
	ErrEmptyPack = errors.New("every icon of a pack was left out")
	ErrTwice     = errors.New("a pack comes from two sources")
	ErrClash     = errors.New("two files have one name")
	ErrRaced     = errors.New("another process changed the current release meanwhile; publish again")
	// ErrKept comes with another error, after which the next publication can go on.
	ErrKept = errors.New("the finished packs are kept, and the next publication within a day takes them over")
)

// DefaultKeep is the default number of releases to keep.
const DefaultKeep = 5

// Options are the arguments of Publish.
type Options struct {
	Sources []string // in the forms that the method open accepts
	Store   objectstore.Bucket
	// Tags are folders with tags for the search index (see lexicon.Open), besides the lexicon
	// of the program. NoTags leaves that out.
	Tags   []string
	Keep   int  // releases to keep, including the current one; 0: DefaultKeep
	DryRun bool // do everything but write to the store
	// AllowRemoval permits a release without a pack, or without more than 5 % of the icons, of the
	// current one.
	AllowRemoval bool
	// Folders is the rule by which folders within a pack change the names of its icons, unless its
	// pack.json has one: one of Layouts; "": FoldersSuffix.
	Folders string
	// StrictNames leaves out the icons whose names are not valid, instead of mending the names.
	StrictNames bool
	// FailFast ends the publication at the first pack that can't be published. Otherwise the
	// release has the other packs.
	FailFast bool
	Progress Progress  // may be nil
	Now      time.Time // the time of the release; zero: now
	// Work is the folder for temporary files, which need about the size of the archives that
	// change; "": that of the system. A publication that ends early, or a dry run, leaves its
	// finished packs in Work, and the next one takes them over.
	Work string
}

// Publish makes a release of the sources and makes it the current one, on all cores. The whole of
// @iconify/json takes about 300 MB of memory at the default GOGC.
//
// After an error, which wraps one of this package, of objectstore or of ctx, the current release of
// the store is the previous one, except after Failures alone: the release then has the other packs.
// With ErrRemoval, the Summary lists the changes that the release would make.
func Publish(ctx context.Context, opt Options) (Summary, error) {
	if opt.Keep < 0 {
		return Summary{}, errors.New("publishing: --keep must be at least 1")
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
	work, err := openWork(opt.Work, opt.Now)
	if err != nil {
		return Summary{}, err
	}
	keep := false
	defer func() { work.close(keep) }()
	defer opt.Progress.Done()
	p := &publication{Options: opt, work: work.path, had: work.size()}
	defer p.closeTrees()
	err = p.run(ctx)
	// After ErrRaced the next publication has another number, so that it can take over nothing.
	keep = opt.Work != "" && (err != nil || opt.DryRun) && !errors.Is(err, ErrRaced) && work.keeps()
	if keep && err != nil {
		err = fmt.Errorf("%w; %w: %s", err, ErrKept, opt.Work)
	}
	if err != nil && !errors.Is(err, ErrRemoval) {
		return Summary{}, errors.Join(err, p.failed())
	}
	return p.sum, errors.Join(err, p.failed())
}

// A publication is one call of Publish.
type publication struct {
	Options
	work  string
	had   int64      // bytes of the finished packs that work had at the start
	roots []*os.Root // of the sources; closed at the end
	prev  previous
	seq   int        // of this publication
	mu    sync.Mutex // of sum.Failed
	sum   Summary
	// writable tests the store, once, before the first icon is cleaned. An unchanged library needs
	// no write.
	writable func() error
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
	if err := p.checkDisks(packs); err != nil {
		return err
	}
	p.writable = sync.OnceValue(func() error { return p.checkStore(ctx) })
	if packs, err = p.build(ctx, packs); err != nil || len(packs) == 0 {
		return err // without a pack, each has failed
	}
	index, err := p.index(ctx, packs)
	if err != nil {
		return err
	}
	sets, err := p.sets(packs)
	if err != nil {
		return err
	}
	m := p.manifest(packs, index, sets)
	p.summarise(m, packs)
	files := p.toUpload(packs, index, sets)
	removal := p.sum.Changes.removal()
	switch {
	case p.DryRun:
		p.countUploads(files)
		if removal != nil && !p.AllowRemoval {
			p.sum.Warnings = append(p.sum.Warnings, removal.Error())
		}
		return nil
	case removal != nil && !p.AllowRemoval:
		p.sum.Refused = true
		return removal
	}
	if err := p.upload(ctx, m, files); err != nil {
		return err
	}
	// The release is current. If pruning fails, the next publication prunes.
	pruned, err := prune(ctx, p.Store, p.Keep, p.prev.current.Published, time.Now())
	p.sum.Pruned = pruned
	if err != nil && !errors.Is(err, ErrRaced) {
		p.sum.Warnings = append(p.sum.Warnings, fmt.Sprintf("pruning old releases: %v", err))
	}
	return nil
}
