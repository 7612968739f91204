package publish

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// builder is part of the digest of every pack. Raise its number when a change in this package, in
// svg or in release gives the same source another archive, entry or docs, and search.Form when a
// change in search gives the same docs another index.
const builder = "iconedge-6"

// maxHeld limits the total bytes of the sources that are read at the same time. A larger source is
// read alone.
const maxHeld = 128 << 20

// A pack is one pack of the release that is being made.
type pack struct {
	source
	entry     release.PackEntry
	unchanged bool         // entry is that of the current release
	file      string       // the new archive in the working folder
	docs      []search.Doc // for the index, until saveDocs; none for a hidden pack
	docsFile  string       // the new docs in the working folder
	empty     bool         // the source has no icon, not even an invalid one
	failed    bool         // it can't be published
	set       release.Set
	changes   PackChanges
	looks     Look
	removed   []Removed // parts of icons that the cleaner has removed
}

// each calls do for every pack, the largest first, on all cores, until a call fails.
func (p *publication) each(ctx context.Context, packs []*pack, do func(context.Context, *pack) error) error {
	packs = slices.SortedStableFunc(slices.Values(packs), func(a, b *pack) int { return cmp.Compare(b.size(), a.size()) })
	held := semaphore.NewWeighted(maxHeld)
	g, doing := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, k := range packs {
		n := min(k.size(), maxHeld)
		if held.Acquire(doing, n) != nil {
			break
		}
		g.Go(func() error {
			defer held.Release(n)
			return do(doing, k)
		})
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

// step reports the start of a step, unless the step has nothing to do.
func (p *publication) step(name string, total int64) {
	if total > 0 {
		p.Progress.Step(name, total)
	}
}

// compare computes the digests of the sources. A pack with the digest that it has in the current
// release keeps its entry and its archive.
func (p *publication) compare(ctx context.Context, sources []source) ([]*pack, error) {
	packs := make([]*pack, len(sources))
	var total int64
	for i, s := range sources {
		packs[i] = &pack{source: s}
		total += s.size()
	}
	p.Progress.Step("comparing with the current release", total)
	err := p.each(ctx, packs, func(ctx context.Context, k *pack) error {
		digest, err := digest(ctx, k)
		if k.failed = err != nil; k.failed {
			if err = fmt.Errorf("reading the pack %s: %w", k.about().key, err); !errors.Is(err, ErrSource) {
				err = fmt.Errorf("%w: %w", ErrSource, err)
			}
			return p.fail(k.about().key, err)
		}
		k.entry.Source = digest
		set, described := p.prev.sets[k.about().key]
		if old, ok := p.prev.pack(k.about().key); ok && described && old.Source == digest && p.prev.whole(old) {
			k.entry, k.unchanged, k.set = *old, true, set
		}
		p.Progress.Add(k.size(), 0)
		return nil
	})
	return slices.DeleteFunc(packs, func(k *pack) bool { return k.failed }), err
}

// whole reports whether the store has the objects of a pack.
func (prev *previous) whole(p *release.PackEntry) bool {
	docs := p.Hidden || prev.holds(release.DocsKey(p.Docs.Hash), p.Docs)
	return docs && prev.holds(release.ArchiveKey(p.Archive.Hash), p.Archive)
}

func (prev *previous) pack(key string) (*release.PackEntry, bool) {
	if prev.manifest == nil {
		return nil, false
	}
	return prev.manifest.Pack(key)
}

// digest returns a hash of the builder, the description and the content of a pack.
func digest(ctx context.Context, s source) (string, error) {
	h := sha256.New()
	about, err := json.Marshal(s.about())
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s\n%s\n%s\n%s\n", builder, s.about().key, about, s.about().raw)
	if err := s.digest(ctx, h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// build makes the archives of the changed packs. It returns the packs that have icons.
func (p *publication) build(ctx context.Context, packs []*pack) ([]*pack, error) {
	var changed []*pack
	var total int64
	for _, k := range packs {
		if !k.unchanged {
			changed = append(changed, k)
			total += k.size()
		}
	}
	p.step("cleaning icons", total)
	err := p.each(ctx, changed, func(ctx context.Context, k *pack) error {
		if p.takeFinished(k) {
			p.Progress.Add(k.size(), 0)
			return p.writable()
		}
		err := p.buildPack(ctx, k)
		if k.failed = err != nil; k.failed {
			return p.fail(k.about().key, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var full []*pack
	for _, k := range packs {
		switch {
		case k.failed:
		case k.empty:
			p.sum.Skipped = append(p.sum.Skipped, k.about().key)
		case k.entry.Icons == 0:
			err := fmt.Errorf("%w: %s (%s)", ErrEmptyPack, k.about().key, reasons(k.entry.LeftOut))
			if err := p.fail(k.about().key, err); err != nil {
				return nil, err
			}
		default:
			full = append(full, k)
		}
	}
	if len(full) == 0 && len(p.sum.Failed) == 0 {
		return nil, fmt.Errorf("%w: the sources have no icons", ErrSource)
	}
	return full, nil
}

// reasons lists the first few omissions with their reasons.
func reasons(left []release.Omission) string {
	const few = 3
	var words []string
	for _, o := range left[:min(few, len(left))] {
		words = append(words, o.Name+": "+o.Reason)
	}
	if len(left) > few {
		words = append(words, fmt.Sprintf("and %d more", len(left)-few))
	}
	return strings.Join(words, "; ")
}

func (p *publication) buildPack(ctx context.Context, k *pack) error {
	s, err := k.read(ctx)
	if err != nil {
		return fmt.Errorf("reading the pack %s: %w", k.about().key, err)
	}
	if k.empty = len(s.icons)+len(s.leftOut) == 0; k.empty {
		return nil
	}
	if err := p.writable(); err != nil {
		return err
	}
	old, err := p.openOldArchive(ctx, k)
	if err != nil {
		return err
	}
	defer old.Close()
	k.file = p.workFile(k, archiveSuffix)
	f, err := os.Create(k.file)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := bufio.NewWriterSize(f, 1<<16)
	w := &packWriter{pack: k, archive: release.NewWriter(buf), old: old, seq: p.seq, tally: newTally(k)}
	if err := w.add(ctx, s, p.Progress); err != nil {
		return fmt.Errorf("building the pack %s: %w", k.about().key, err)
	}
	if k.entry.Archive, err = w.archive.Close(); err != nil {
		return err
	}
	if err := cmp.Or(buf.Flush(), f.Close(), p.saveDocs(k)); err != nil {
		return err
	}
	return p.finish(k)
}
