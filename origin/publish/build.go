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
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// builder is part of what a pack was built from: raise it when the same source would give another archive or entry, by a change
// here, in package svg or in package release, or another index, by one in package search.
const builder = "iconedge-2"

// maxHeld bounds the bytes of the sources that are read at once, however many cores there are. One that is larger is read alone.
const maxHeld = 128 << 20

// A pack is one pack on its way into the release.
type pack struct {
	source
	entry release.PackEntry
	taken bool // over from the current release
	file  string
	docs  []search.Doc // for the index; none of a hidden pack
	none  bool         // there was no drawing to begin with
}

// each calls do for every pack, the largest first, on all cores, until one fails.
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

// step starts a part of the work if there is any.
func (p *publication) step(what string, total int64) {
	if total > 0 {
		p.Progress.Step(what, total)
	}
}

// compare digests the sources and takes over what is as it was.
func (p *publication) compare(ctx context.Context, sources []source) ([]*pack, error) {
	packs := make([]*pack, len(sources))
	var total int64
	for i, s := range sources {
		packs[i] = &pack{source: s}
		total += s.size()
	}
	p.Progress.Step("looking for what has changed", total)
	return packs, p.each(ctx, packs, func(ctx context.Context, k *pack) error {
		digest, err := digest(ctx, k)
		if err != nil {
			return fmt.Errorf("reading the pack %s: %w", k.about().key, err)
		}
		k.entry.Source = digest
		if old, ok := p.prev.pack(k.about().key); ok && old.Source == digest && p.prev.holds(release.ArchiveKey(old.Archive.Hash), old.Archive) {
			k.entry, k.taken = *old, true
		}
		p.Progress.Add(k.size(), 0)
		return nil
	})
}

func (prev *previous) pack(key string) (*release.PackEntry, bool) {
	if prev.manifest == nil {
		return nil, false
	}
	return prev.manifest.Pack(key)
}

func digest(ctx context.Context, s source) (string, error) {
	h := sha256.New()
	about, err := json.Marshal(s.about())
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s\n%s\n%s\n", builder, s.about().key, about)
	if err := s.digest(ctx, h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// build makes the archives of the packs that were not taken over, and returns the packs that have drawings.
func (p *publication) build(ctx context.Context, packs []*pack) ([]*pack, error) {
	var changed []*pack
	var total int64
	for _, k := range packs {
		if !k.taken {
			changed = append(changed, k)
			total += k.size()
		}
	}
	p.step("cleaning drawings", total)
	if err := p.each(ctx, changed, p.buildPack); err != nil {
		return nil, err
	}
	var full []*pack
	var errs []error
	for _, k := range packs {
		switch {
		case k.none:
			p.sum.Skipped = append(p.sum.Skipped, k.about().key)
		case k.entry.Icons == 0:
			errs = append(errs, fmt.Errorf("%w: %s (%s)", ErrEmptyPack, k.about().key, reasons(k.entry.LeftOut)))
		default:
			full = append(full, k)
		}
	}
	if len(full) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%w: there is not one icon in it", ErrSource))
	}
	return full, errors.Join(errs...)
}

// reasons gives the first few, with their names.
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
	if k.none = len(s.drawings)+len(s.leftOut) == 0; k.none {
		return nil
	}
	before, err := p.openBefore(ctx, k)
	if err != nil {
		return err
	}
	defer before.Close()
	k.file = filepath.Join(p.work, k.about().key+".zip")
	f, err := os.Create(k.file)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := bufio.NewWriterSize(f, 1<<16)
	w := &packWriter{pack: k, archive: release.NewWriter(buf), before: before, seq: p.seq, tally: newTally(k)}
	if err := w.add(ctx, s, p.Progress); err != nil {
		return fmt.Errorf("building the pack %s: %w", k.about().key, err)
	}
	if k.entry.Archive, err = w.archive.Close(); err != nil {
		return err
	}
	return cmp.Or(buf.Flush(), f.Close())
}
