package config

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Log says which responses have a line in the access log. One with status 500 or above always has.
type Log struct {
	Sample *Fraction `json:"sample,omitempty"` // nil: that of --access-log-sample
	Skip   *Match    `json:"skip,omitempty"`   // requests without a line; nil: none
	Never  bool      `json:"-"`                // no line at all, as in the rule made of Skip
}

// A Fraction is a number from 0 to 1.
type Fraction float64

func (v *Fraction) decode(d *decoder, path string, n *yaml.Node) {
	decodeWith(d, path, n, v, func(s string) (Fraction, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f <= 1) {
			return 0, fmt.Errorf("%q is no fraction; must be a number from 0 to 1, such as 0.01", clip(s))
		}
		return Fraction(f), nil
	})
}

// Both returns a match that holds where both hold; a nil one always does.
func Both(a, b *Match) *Match {
	if a == nil {
		return b
	}
	return &Match{At: b.At, Not: &Match{At: b.At, Any: []*Match{{At: a.At, Not: a}, {At: b.At, Not: b}}}}
}
