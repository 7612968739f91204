package icon

// Limits and defaults of request parameters. Edge and origin share them, so that a request with a
// default written out and one without it have the same cache key.
const (
	MaxText       = 200 // characters of q, after trimming
	DefaultLimit  = 20
	MaxLimit      = 50
	MaxOffset     = 1000
	MaxPage       = 1_000_000
	DefaultPage   = 1
	DefaultOnPage = 100
	MaxOnPage     = 1000
	MaxGrid       = 48 // pixels: the largest height by which the site filters icons
)
