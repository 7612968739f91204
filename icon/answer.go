package icon

// LicenseEach and LicenseNone are the license field of answers that are not one icon. In a search,
// each result has a licence of its own; lists of words need none.
const (
	LicenseEach = "see each result"
	LicenseNone = "none needed"
)

// A Result is one hit of a search.
type Result struct {
	Pack          string  `json:"pack"`
	Name          string  `json:"name"`
	URL           string  `json:"url"` // on the CDN
	License       string  `json:"license"`
	CommercialUse bool    `json:"commercial_use"`
	Attribution   string  `json:"attribution"`
	Width         float64 `json:"width"`
	Height        float64 `json:"height"`
	Monochrome    bool    `json:"monochrome"`
	AliasOf       *string `json:"alias_of"`
	PackName      string  `json:"pack_name"`
	Also          []Also  `json:"also"`            // the same icon in other packs
	Color         *Color  `json:"color,omitempty"` // of a monochrome icon; nil: that of the text
	// Matched is a part of an answer with explain=true alone.
	Matched []Match `json:"matched,omitzero"`
}

// A Match says by which word of the query a result was found, how, and through which word.
type Match struct {
	Word    string `json:"word"`
	By      string `json:"by"`
	Through string `json:"through"`
}

// Also is another icon with the same SVG as a result.
type Also struct {
	Pack    string `json:"pack"`
	Name    string `json:"name"`
	URL     string `json:"url"`
	License string `json:"license"`
}

// SearchAnswer answers GET /api/v1/search.
type SearchAnswer struct {
	Query       string   `json:"query"`             // empty in a search for similar icons
	Similar     string   `json:"similar,omitempty"` // the icon that the results are similar to
	Pack        *string  `json:"pack"`
	Limit       int      `json:"limit"`
	Offset      int      `json:"offset"`
	Total       int      `json:"total"`
	Results     []Result `json:"results"`
	Suggestions []string `json:"suggestions"`
	License     string   `json:"license"`
}

// SuggestAnswer answers GET /api/v1/suggest. License is LicenseNone: words need none.
type SuggestAnswer struct {
	Query       string   `json:"query"`
	Suggestions []string `json:"suggestions"`
	License     string   `json:"license"`
}

// Answer answers GET /api/v1/icon/{pack}/{name} in JSON. RecolourAnswer relies on "svg" coming
// before "metadata", and on "recolored" being present.
type Answer struct {
	Pack     string   `json:"pack"`
	Name     string   `json:"name"`
	SVG      string   `json:"svg"`
	License  string   `json:"license"`
	Metadata Metadata `json:"metadata"`
}

// Metadata describes one icon. Width and Height are those of the requested variant, in pixels.
type Metadata struct {
	Width         float64  `json:"width"`
	Height        float64  `json:"height"`
	ViewBox       string   `json:"view_box"`
	Monochrome    bool     `json:"monochrome"`
	AliasOf       *string  `json:"alias_of"`
	Categories    []string `json:"categories"`
	Tags          []string `json:"tags"`
	Color         *Color   `json:"color"`  // of a monochrome icon; nil: that of the text
	Stroke        *float64 `json:"stroke"` // see Style; nil: its strokes have not one width
	TwoTone       bool     `json:"two_tone"`
	PackName      string   `json:"pack_name"`
	License       License  `json:"license"`
	CommercialUse bool     `json:"commercial_use"`
	Attribution   string   `json:"attribution"`
	URL           string   `json:"url"`
	Recolored     bool     `json:"recolored"`
	// Release is the one in which the icon or its metadata last changed.
	Release string `json:"release"`
}

// PacksAnswer answers GET /api/v1/packs. License is LicenseEach: each pack names its own.
type PacksAnswer struct {
	Total   int    `json:"total"`
	Packs   []Pack `json:"packs"`
	License string `json:"license"`
}

// PackAnswer answers GET /api/v1/packs/{pack}: the pack, and one page of its icons.
type PackAnswer struct {
	Pack
	Page    int               `json:"page"`
	PerPage int               `json:"per_page"`
	Pages   int               `json:"pages"`
	Icons   []PackIcon        `json:"icons"`
	Aliases map[string]string `json:"aliases"` // from alias to icon
}

// PackIcon is one icon in the list of its pack.
type PackIcon struct {
	Name       string   `json:"name"`
	Categories []string `json:"categories"`
}

// VerifyAnswer answers POST /api/v1/auth/verify. An invalid token gives {"valid":false} and nothing
// else.
type VerifyAnswer struct {
	Valid bool   `json:"valid"`
	Plan  string `json:"plan,omitempty"`
	Since string `json:"since,omitempty"` // RFC 3339, UTC
}

// ReleaseAnswer answers GET /-/release?since=ID, from which an edge learns which answers to
// invalidate. If the request has no since, or one that the origin no longer stores, All is set:
// everything that the caller caches may have changed.
type ReleaseAnswer struct {
	Release string `json:"release"`
	// State names the release and the set of withdrawn icons; empty, if none is withdrawn: then the
	// release is the state. Edges compare states, and send theirs as since.
	State   string   `json:"state,omitempty"`
	Created string   `json:"created"` // RFC 3339, UTC
	Since   string   `json:"since,omitempty"`
	All     bool     `json:"all"`
	Changed []string `json:"changed"` // surrogate keys: icon/PACK/NAME, pack/PACK, library
	Names   string   `json:"names"`   // SHA-256 of /-/names?release=STATE, in hex; empty: no list
	// Withdrawn lists what the operator has withdrawn, PACK or PACK/NAME, aliases included.
	Withdrawn []string `json:"withdrawn,omitempty"`
}

// LibraryKey is the surrogate key of the answers that any new release may change: searches and
// lists.
const LibraryKey = "library"

// PagePolicy is the beginning of the Content-Security-Policy of every page of the site.
const PagePolicy = "default-src 'none'; script-src 'self'"

// Fields between our own origin and an edge, which passes them on only to an edge behind it.
const (
	// FieldRelease names, on every answer of an origin, the state that it was made from: see
	// ReleaseAnswer.
	FieldRelease = "Iconedge-Release"
	// FieldMonochrome is ?1 or ?0 (RFC 9651) on a plain icon: whether an edge may recolour it. An
	// icon of one colour that is not that of the text has ?1;own, because earlier edges, which know
	// only ?1, replace currentColor alone.
	FieldMonochrome = "Iconedge-Monochrome"
	// FieldReady is ?0 on every answer of an origin that has no release to answer from yet.
	FieldReady = "Iconedge-Ready"
)

// The values of FieldMonochrome.
const (
	monochromeNo  = "?0"
	monochromeYes = "?1"
	monochromeOwn = "?1;own"
)

// MonochromeField returns the value of FieldMonochrome of an icon. Own says that it has a colour of
// its own.
func MonochromeField(monochrome, own bool) string {
	switch {
	case !monochrome:
		return monochromeNo
	case own:
		return monochromeOwn
	}
	return monochromeYes
}

// IsMonochrome reports whether a value of FieldMonochrome says that an edge may recolour the icon.
func IsMonochrome(field string) bool { return field == monochromeYes || field == monochromeOwn }
