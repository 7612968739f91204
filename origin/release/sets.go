package release

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/iconedge/iconedge/icon"
)

// A Set holds what the source of a pack says about the pack as a whole and what no Pack has: the
// data that Iconify's addresses answer with.
type Set struct {
	Key string `json:"pack"`
	// Info is the description of the pack as in its source, except that its total is the field Total.
	Info json.RawMessage `json:"info,omitempty"`
	// Total counts the visible icons, and the visible aliases that are more than another name.
	Total        int     `json:"total"`
	LastModified int64   `json:"last_modified,omitempty"` // seconds since 1970; 0: the source has none
	Width        float64 `json:"width,omitempty"`         // of most icons; 0: the source has none
	Height       float64 `json:"height,omitempty"`
	// Chars maps the characters of an icon font, in hex, to the names of icons or aliases.
	Chars map[string]string `json:"chars,omitempty"`
	// Objects that map prefixes and suffixes of names to titles, as in the source.
	Prefixes json.RawMessage `json:"prefixes,omitempty"`
	Suffixes json.RawMessage `json:"suffixes,omitempty"`
	Themes   json.RawMessage `json:"themes,omitempty"`
	// Seq is the number of the publication that last changed this Set.
	Seq int `json:"seq"`
}

// Same reports whether two sets are equal except for Seq.
func (s Set) Same(other Set) bool {
	s.Seq, other.Seq = 0, 0
	a, errA := json.Marshal(s) // encoding escapes characters of Info, so the bytes may differ
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// EncodeSets returns the form that ParseSets reads. The order of the sets is that of their sources.
func EncodeSets(sets []Set) ([]byte, error) {
	b, err := json.Marshal(sets)
	if err != nil {
		return nil, fmt.Errorf("describing the sets: %w", err) // a size that is not a number
	}
	return append(b, '\n'), nil
}

// ParseSets reads the sets of a release. The error is ErrDamaged.
func ParseSets(data []byte) ([]Set, error) {
	var sets []Set
	if err := json.Unmarshal(data, &sets); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	for _, s := range sets {
		if !icon.ValidKey(s.Key) {
			return nil, damaged("a set has no valid key")
		}
	}
	return sets, nil
}
