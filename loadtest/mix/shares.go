//go:build linux

package mix

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A Kind is a kind of request for a path.
type Kind string

// The kinds of requests. All except Plain and Conditional need the path of an icon, /PACK/NAME.svg.
const (
	Plain       Kind = "cdn"    // the path as it is
	API         Kind = "api"    // the same icon from the API, as JSON
	Search      Kind = "search" // a search for the first word of the icon's name
	Conditional Kind = "304"    // from a client with a cached copy
	Coloured    Kind = "color"  // in a colour, always the same for one path
	Miss        Kind = "miss"   // in a new size each time, which no cache has
	Missing     Kind = "404"    // for a name that does not exist
)

var kinds = []Kind{Plain, API, Search, Conditional, Coloured, Miss, Missing}

// A Share is the weight of a kind in its mix.
type Share struct {
	Kind   Kind
	Weight float64
}

// Shares are a mix, and the value of a flag: "cdn=70,api=10,304=15,miss=3,404=2".
type Shares []Share

// ErrShares means that a string is not a mix.
var ErrShares = errors.New("a mix is KIND=SHARE,… with the kinds cdn, api, search, 304, color, miss and 404, such as cdn=80,304=20")

// String returns the form that Set parses.
func (s *Shares) String() string {
	var parts []string
	for _, share := range *s {
		parts = append(parts, string(share.Kind)+"="+strconv.FormatFloat(share.Weight, 'g', -1, 64))
	}
	return strings.Join(parts, ",")
}

// Set parses a mix. Its error is ErrShares.
func (s *Shares) Set(value string) error {
	var read Shares
	for part := range strings.SplitSeq(value, ",") {
		name, weight, _ := strings.Cut(part, "=")
		w, err := strconv.ParseFloat(weight, 64)
		if !slices.Contains(kinds, Kind(name)) || err != nil || !(0 < w && w < 1e9) || read.Has(Kind(name)) {
			return ErrShares
		}
		read = append(read, Share{Kind(name), w})
	}
	*s = read
	return nil
}

// Has reports whether the mix contains a kind.
func (s Shares) Has(k Kind) bool {
	return slices.ContainsFunc(s, func(share Share) bool { return share.Kind == k })
}
