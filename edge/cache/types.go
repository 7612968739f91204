package cache

import "github.com/iconedge/iconedge/edge/cache/invalidation"

// The names that the rooms above use.
type (
	// A Purge specifies entries.
	Purge = invalidation.Purge
	// A Generation is a moment in the order of drops and purges.
	Generation = invalidation.Generation
)
