package cache

import (
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// These types are the cache's for every package that uses it.
type (
	// An Entry is one complete response.
	Entry = entry.Entry
	// A Field is one header field of a response.
	Field = entry.Field
	// A Head is the header fields of an entry in serialised form.
	Head = entry.Head
	// A Purge specifies entries.
	Purge = invalidation.Purge
	// A Generation is a moment in the order of drops and purges.
	Generation = invalidation.Generation
)
