package api

import (
	"strings"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

// parseParams reads the parameters that an endpoint knows, and ignores others.
func parseParams(query string, known []string) (icon.Params, error) {
	if len(known) == 0 {
		return nil, nil
	}
	return icon.ParseQuery(query, known...)
}

// text reads q, the text of a search, in its canonical form.
func text(p icon.Params) (string, error) {
	q, given := p["q"]
	q = strings.TrimSpace(q)
	switch {
	case !given:
		return "", problem.BadParameter("q", "q is required: the words to search for")
	case q == "" || utf8.RuneCountInString(q) > icon.MaxText:
		return "", problem.BadParameter("q", "q must have 1 to 200 characters, not counting spaces around them")
	}
	return icon.CanonicalQuery(q), nil
}

// A requestedVariant is the requested form of an icon.
type requestedVariant struct {
	color   icon.Color
	variant icon.Variant
}

// recolours reports whether the request names a colour, for all pages or for dark ones.
func (d requestedVariant) recolours() bool { return d.color != "" || d.variant.Dark != "" }

// parseCDNVariant reads the parameters of the CDN path.
func parseCDNVariant(p icon.Params) (d requestedVariant, err error) {
	if d.color, err = icon.ParamCSSColor(p); err != nil {
		return requestedVariant{}, err
	}
	d.variant, err = icon.ParseCDNVariant(p)
	return d, err
}

func parseVariant(p icon.Params) (d requestedVariant, err error) {
	if d.color, err = icon.ParamColor(p); err != nil {
		return requestedVariant{}, err
	}
	d.variant, err = icon.ParseVariant(p)
	return d, err
}
