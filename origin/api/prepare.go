package api

import (
	"fmt"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/search"
)

// prepared is what is made of a release before it can be current.
type prepared struct {
	index *search.Index
	packs *entity // the list of all packs
	names *entity // icon.Names, for edges
	sum   string  // SHA-256 of those, in hexadecimal
}

// Prepare is catalog.Options.Prepare: it opens the search index and writes the list of packs, which is asked for most. An
// index that can't be read is an error.
func Prepare(r *catalog.Release) (any, error) {
	index, err := search.Open(r.Index())
	if err != nil {
		return nil, fmt.Errorf("opening the search index: %w", err)
	}
	p := &prepared{index: index, packs: newEntity(listed(r, func(*icon.Pack) bool { return true }))}
	p.packs.gzip() // now, while nobody waits
	p.names, p.sum = namesOf(r)
	return p, nil
}

func preparedOf(r *catalog.Release) *prepared { return r.Prepared().(*prepared) }
