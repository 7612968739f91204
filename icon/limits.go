package icon

// What the numbers of a call may be, and what they are where they are not given. Edge and origin share them: a default that is
// written out and one that is left out are one address in a cache.
const (
	MaxText       = 200 // characters of q, after trimming
	DefaultLimit  = 20
	MaxLimit      = 50
	MaxOffset     = 1000
	MaxPage       = 1_000_000
	DefaultPage   = 1
	DefaultOnPage = 100
	MaxOnPage     = 1000
)
