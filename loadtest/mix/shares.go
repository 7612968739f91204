//go:build linux

package mix

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A Kind is what a path is asked for.
type Kind string

// The kinds of requests. All but Plain and Conditional need the path of an icon, /PACK/NAME.svg.
const (
	Plain       Kind = "cdn"    // the path as it stands
	API         Kind = "api"    // the same icon from the API, as JSON
	Search      Kind = "search" // a search for the first word of its name
	Conditional Kind = "304"    // by a client that has it
	Coloured    Kind = "color"  // in a colour, the same one for a path every time
	Miss        Kind = "miss"   // in another size each time, which no cache has yet
	Missing     Kind = "404"    // of a name that there is not
)

var kinds = []Kind{Plain, API, Search, Conditional, Coloured, Miss, Missing}

// A Share is how often a kind is asked for, against the others of its mix.
type Share struct {
	Kind   Kind
	Weight float64
}

// Shares are a mix. They are a flag's value: "cdn=70,api=10,304=15,miss=3,404=2".
type Shares []Share

// ErrShares says that a string is no mix.
var ErrShares = errors.New("a mix is KIND=SHARE,… with cdn, api, search, 304, color, miss and 404 as kinds, such as cdn=80,304=20")

// String is the form that Set reads.
func (s *Shares) String() string {
	var parts []string
	for _, share := range *s {
		parts = append(parts, string(share.Kind)+"="+strconv.FormatFloat(share.Weight, 'g', -1, 64))
	}
	return strings.Join(parts, ",")
}

// Set reads a mix. The error is ErrShares.
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

// Has reports whether any of the requests are of this kind.
func (s Shares) Has(k Kind) bool {
	return slices.ContainsFunc(s, func(share Share) bool { return share.Kind == k })
}
