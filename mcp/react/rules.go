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
	Elements         set                 // elements of an icon; not script, foreignObject, a, feImage or HTML
	Texts            set                 // elements whose text is shown
	RootOmits        set                 // attributes of the outermost svg that the component sets, or that have no effect
	ForbiddenTargets set                 // attributes that no animation may change
	Attributes       map[string]string   // the name in React of each attribute that is kept
	Styled           set                 // presentation attributes that React 18.3, 19 or its types do not know: written as styles
	Keywords         map[string][]string // the values that React's types allow for attributes that take only keywords
	CSSProperties    set                 // properties that can change how an icon looks
	CSSWords         map[string][]string // the values that React's types allow for properties that take only keywords
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
