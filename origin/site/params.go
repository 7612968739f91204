package site

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// Invalid is the parameter by which an edge asks for the 400 page about another parameter, which it
// names. So all wrong values share few cache entries, and no wrong value reaches a page.
const Invalid = "invalid"

// invalid returns the 400 that a request for the page about a wrong parameter asks for.
func invalid(p icon.Params, known []string) error {
	name, given := p[Invalid]
	switch {
	case !given:
		return nil
	case !slices.Contains(known, name) || name == Invalid:
		return problem.New(400, "the address has a parameter that can't be read")
	}
	return wrong(name, nil)
}

// hints say which values a parameter takes.
var hints = map[string]string{
	"q":          "a search has at most 200 characters",
	"pack":       "the pack is a key such as mdi",
	"license":    "the licence is an SPDX identifier such as MIT",
	"commercial": "commercial is true or false",
	"style":      "the style is a word such as outline",
	"category":   "the category is one of the pack's",
	"page":       "the page is a number from 1",
	"icons":      "a bag has at most 200 icons, each pack/name, with commas between them",
	"color":      "a colour is hexadecimal, such as #e4572e",
	"size":       "the size is a number of pixels from 1 to 4096",
	"rotate":     "rotate is 90, 180 or 270",
	"flip":       "flip is horizontal, vertical, or both with a comma between them",
}

// wrong returns the 400 about a parameter. err, if any, is why; the page does not repeat it.
func wrong(name string, err error) error {
	return problem.BadParameter(name, hints[name]).Because(err)
}

// A selection is what a search is restricted to, as in its address.
type selection struct {
	Text                           string
	Pack, License, Style, Category string
	Commercial                     bool
	Page                           int
}

// parseSelection reads the parameters of the results and of the list of packs.
func parseSelection(p icon.Params) (s selection, err error) {
	text := strings.TrimSpace(p["q"])
	if utf8.RuneCountInString(text) > icon.MaxText {
		return s, wrong("q", nil)
	}
	s.Text = icon.CanonicalQuery(text)
	s.License, s.Style, s.Category = p["license"], p["style"], p["category"]
	if s.Pack, err = p.Key("pack"); err != nil {
		return s, wrong("pack", err)
	}
	if s.Commercial, err = p.Bool("commercial"); err != nil {
		return s, wrong("commercial", err)
	}
	if s.Page, err = p.Int("page", 1, icon.MaxPage, 1); err != nil {
		return s, wrong("page", err)
	}
	return s, nil
}

// Address returns the address of a page of the results.
func (s selection) Address(page int) string {
	var b query
	b.add("q", s.Text)
	b.add("pack", s.Pack)
	b.add("license", s.License)
	if s.Commercial {
		b.add("commercial", "true")
	}
	b.add("style", s.Style)
	b.add("category", s.Category)
	b.addPage(page)
	return "/search" + b.String()
}

// filtered reports whether a filter is set.
func (s selection) filtered() bool {
	return s.Pack != "" || s.License != "" || s.Style != "" || s.Category != "" || s.Commercial
}
