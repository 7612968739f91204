package site

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/search"
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
	"grid":       "the grid is 16, 20, 24, 32 or 48",
	"category":   "the category is one of the pack's",
	"page":       "the page is a number from 1",
	"icons":      "a bag has at most 500 icons, each pack/name, with commas between them",
	"color":      "a colour is hexadecimal, such as #e4572e",
	"size":       "the size is a number of pixels from 1 to 4096",
	"rotate":     "rotate is 90, 180 or 270",
	"stroke":     "the stroke is a number from 0.25 to 4; in a search it is true or false",
	"secondary":  "the second colour is a CSS colour, such as #ffcc00",
	"background": "the background is a CSS colour, such as #ffffff",
	"padding":    "the padding is a number of pixels, less than half of the size",
	"radius":     "the radius of the corners is a number of pixels from 0 to 2048",
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
	Commercial, Stroked            bool
	Grid                           int // height of icons; 0: any
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
	if s.Grid, err = parseGrid(p); err != nil {
		return s, wrong("grid", err)
	}
	if s.Stroked, err = p.Bool("stroke"); err != nil {
		return s, wrong("stroke", err)
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
	b.addNumber("grid", s.Grid)
	if s.Stroked {
		b.add("stroke", "true")
	}
	b.add("category", s.Category)
	b.addPage(page)
	return "/search" + b.String()
}

// filtered reports whether a filter is set.
func (s selection) filtered() bool {
	return s != selection{Text: s.Text, Page: s.Page}
}

// parseGrid reads the height of icons.
func parseGrid(p icon.Params) (int, error) {
	size, err := p.Int("grid", 1, icon.MaxGrid, 0)
	if err == nil && size != 0 && !slices.Contains(search.Grids, size) {
		err = errors.New("not one of the sizes")
	}
	return size, err
}

// with returns the selection with another style or grid.
func (s selection) with(style string, grid int) selection {
	s.Style, s.Grid = style, grid
	return s
}
