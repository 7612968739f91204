package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// saveDocs moves the docs of a new pack to a file in the working folder, because those of a large
// library would take more memory than all else. The store gets the file, so that the next
// publication makes no docs of an unchanged pack.
func (p *publication) saveDocs(k *pack) error {
	if k.entry.Hidden {
		return nil
	}
	data, err := search.EncodeDocs(k.docs)
	if err != nil {
		return fmt.Errorf("the pack %s: %w", k.about().key, err)
	}
	sum := sha256.Sum256(data)
	k.docs, k.docsFile = nil, p.workFile(k, docsSuffix)
	k.entry.Docs = release.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	return os.WriteFile(k.docsFile, data, 0o600)
}

// readDocs reads the docs of a pack: those of a new one in the working folder, those of an
// unchanged one in the store.
func (p *publication) readDocs(ctx context.Context, k *pack) ([]search.Doc, error) {
	if k.docsFile != "" {
		data, err := os.ReadFile(k.docsFile)
		if err != nil {
			return nil, err
		}
		docs, err := search.DecodeDocs(data)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", k.docsFile, err)
		}
		return docs, nil
	}
	key := release.DocsKey(k.entry.Docs.Hash)
	data, err := objectstore.ReadAll(ctx, p.Store, key, k.entry.Docs.Size)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != k.entry.Docs.Hash {
		return nil, fmt.Errorf("reading %s: %w: its content does not have its hash; delete it and publish again", key, release.ErrDamaged)
	}
	docs, err := search.DecodeDocs(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; delete it and publish again", key, err)
	}
	return docs, nil
}

// docsAhead is the number of packs whose docs are read before the index takes them, because a
// request to a distant store waits most of the time.
const docsAhead = 16

// errOrder means that the docs of another pack would be next.
var errOrder = errors.New("packs are not indexed in the order of their keys")

// docsOf returns a function that returns the docs of packs in their order, and reads those of the
// next ones meanwhile. The caller calls end, which waits for these reads.
func (p *publication) docsOf(ctx context.Context, packs []*pack) (next func(key string) ([]search.Doc, error), end func()) {
	type result struct {
		docs []search.Doc
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	var reads errgroup.Group
	results := make([]chan result, len(packs))
	start := func(i int) {
		if i >= len(packs) {
			return
		}
		results[i] = make(chan result, 1)
		reads.Go(func() error {
			docs, err := p.readDocs(ctx, packs[i])
			results[i] <- result{docs, err}
			return nil
		})
	}
	for i := range docsAhead {
		start(i)
	}
	at := 0
	next = func(key string) ([]search.Doc, error) {
		if at == len(packs) || packs[at].about().key != key {
			return nil, fmt.Errorf("%w: %s", errOrder, key)
		}
		r := <-results[at]
		start(at + docsAhead)
		p.Progress.Add(packs[at].entry.Docs.Size, 0)
		if at++; at == len(packs) {
			p.Progress.Step("writing the search index", 0)
		}
		return r.docs, r.err
	}
	return next, func() {
		cancel()
		_ = reads.Wait()
	}
}
