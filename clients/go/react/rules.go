package react

import (
	_ "embed"
	"encoding/json"
)

// rulesJSON is the table of both renderers: this one and that of clients/react, which has a copy.
// `make golden` writes the copy.
//
//go:embed rules.json
var rulesJSON []byte

// rules are the allow-lists of the renderer.
var rules = func() (r struct {
	// elements of an icon; not script, foreignObject, a or HTML
	Elements set
	Texts    set // elements whose text is shown
	// attributes of the outermost svg that the component sets, or that have no effect
	RootOmits        set
	ForbiddenTargets set               // attributes that no animation may change
	Attributes       map[string]string // the React name of each attribute that is kept
	// presentation attributes that React 18.3, 19 or its types do not know: written as styles
	Styled set
	// the values that React's types allow for attributes that take only keywords
	Keywords      map[string][]string
	CSSProperties set // properties that can change how an icon looks
	// the values that React's types allow for properties that take only keywords
	CSSWords map[string][]string
}) {
	if err := json.Unmarshal(rulesJSON, &r); err != nil {
		panic(err) // the file is part of the program
	}
	return r
}()

// A set is an array of strings in JSON.
type set map[string]bool

// UnmarshalJSON reads the array.
func (s *set) UnmarshalJSON(data []byte) error {
	var words []string
	if err := json.Unmarshal(data, &words); err != nil {
		return err
	}
	*s = set{}
	for _, w := range words {
		(*s)[w] = true
	}
	return nil
}
