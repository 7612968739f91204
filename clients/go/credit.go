package client

import (
	"strings"
	"unicode"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
)

// A Credit is the licence and attribution that users must keep with the icons of one pack.
type Credit struct {
	License       string `json:"license"`
	Attribution   string `json:"attribution"`
	CommercialUse bool   `json:"commercial_use"`
}

// CreditOf returns the credit with texts of the API, which become single lines. An icon may be used
// commercially only if both the API and the licence say so.
func CreditOf(spdx, attribution string, commercial bool) Credit {
	return Credit{Line(spdx), Line(attribution), commercial && icon.License{SPDX: spdx}.CommercialUse()}
}

// String returns the credit as a phrase.
func (c Credit) String() string {
	s := "license " + c.License + "; attribution: " + c.Attribution
	if !c.CommercialUse {
		s += "; non-commercial use only"
	}
	return s
}

// Required reports whether the credit must be shown with the icon. That of a licence that is not in
// the table of licences must be.
func (c Credit) Required() bool {
	o, known := license.Of(c.License)
	return !known || o.Has(license.Attribution)
}

// Line returns a text from the API as one line, without control characters. It also removes those
// that turn the direction of writing, because they can make a comment look like code.
func Line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}
