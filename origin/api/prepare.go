package api

import (
	"fmt"
	"sync"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/iconify"
	"github.com/iconedge/iconedge/origin/search"
)

// prepared holds the data that is derived from a release before it can be current.
type prepared struct {
	index *search.Index
	packs *entity // the list of all packs
	names *entity // icon.Names, for edges
	sum   string  // SHA-256 of names, in hex

	iconify *iconify.Library
	lists   sync.Map // *answer by canonical address: lists of Iconify's API, each made once
}

// Prepare implements catalog.Options.Prepare: it opens the search index, and encodes the list of
// packs, the most requested list. It returns an error if the index can't be read.
func Prepare(r *catalog.Release) (any, error) {
	index, err := search.Open(r.Index())
	if err != nil {
		return nil, fmt.Errorf("opening the search index: %w", err)
	}
	index.Hide(r.Withdrawn())
	p := &prepared{index: index, packs: newEntity(listed(r, func(*icon.Pack) bool { return true }))}
	p.packs.gzip() // compress it now, while no client waits
	if err := p.listNames(r); err != nil {
		return nil, fmt.Errorf("listing the names: %w", err)
	}
	if p.iconify, err = iconify.New(r, index, p.names.body); err != nil {
		return nil, fmt.Errorf("preparing Iconify's lists: %w", err)
	}
	return p, nil
}

// indexOf returns the search index of a release; nil without a release.
func indexOf(r *catalog.Release) *search.Index {
	if r == nil {
		return nil
	}
	return preparedOf(r).index
}

func preparedOf(r *catalog.Release) *prepared { return r.Prepared().(*prepared) }
