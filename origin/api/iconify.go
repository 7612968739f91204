package api

import (
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/icon"
	addresses "github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/origin/iconify"
)

// iconify answers the addresses of Iconify's API.
func (a *API) iconify(_ http.ResponseWriter, c *call) (*answer, error) {
	if c.URL.Path == "/search" && !strings.Contains(c.URL.RawQuery, "query=") {
		return nil, nothingHere()
	}
	r, err := addresses.Parse(c.route.iconify, c.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	if r.Kind == addresses.Version {
		return &answer{entity: newContent(typeText,
			[]byte("iconedge version "+a.Version+", with the addresses of Iconify's API\n")),
			cacheControl: listsCached, surrogate: icon.LibraryKey}, nil
	}
	ready, kept := preparedOf(c.release), isKept(r)
	if kept {
		if known, ok := ready.lists.Load(r.Key()); ok {
			return known.(*answer), nil
		}
	}
	found, err := ready.iconify.Answer(c.Context(), r)
	if err != nil {
		return nil, err
	}
	ans := a.iconifyAnswer(found)
	if kept && r.Kind == addresses.Collections {
		ans.header = append(ans.header, dictionaryOfSearches)
	}
	if kept {
		ready.lists.Store(r.Key(), ans)
	}
	return ans, nil
}

// dictionaryOfSearches makes the list of all packs a dictionary for the results of searches, most
// of which is the description of their packs (RFC 9842). Pickers of icons get the list before they
// search. The pattern is relative to the list, whose address has a prefix on some servers.
var dictionaryOfSearches = [2]string{"Use-As-Dictionary", `match="search?*query=*"`}

// isKept reports whether the answer to a request is made once for each release: the list of all
// packs, and the lists of each pack's names. There are only so many of them, because an unknown
// pack has no answer.
func isKept(r addresses.Request) bool {
	for name, value := range r.Fields {
		switch {
		case value == "", name == "prefix" && r.Kind == addresses.Collection:
		case (name == "info" || name == "chars") && (value == "1" || value == "true"):
		default:
			return false
		}
	}
	return r.Kind == addresses.Collections || r.Kind == addresses.Collection
}

// iconifyAnswer adds the fields that follow from the content of an answer.
func (a *API) iconifyAnswer(found *iconify.Answer) *answer {
	ans := &answer{entity: newContent(found.MediaType, found.Body), cacheControl: listsCached,
		modified: found.Modified, surrogate: found.Keys}
	add := func(name, value string) { ans.header = append(ans.header, [2]string{name, value}) }
	switch {
	case found.Icons && !found.Partial:
		ans.cacheControl = a.CacheControl
	case found.Icons:
		add(cachepolicy.OurField, a.CacheControl) // of the icons that are found, for edges
	}
	if linkable(found.License) {
		add("Link", "<"+found.License+`>; rel="license"`)
	}
	if found.Download != "" {
		add("Content-Disposition", `attachment; filename="`+found.Download+`"`)
	}
	if found.MediaType != typeSVG {
		return ans
	}
	add("Content-Security-Policy", policy)
	add(icon.FieldMonochrome, icon.MonochromeField(found.Monochrome, found.Own))
	if found.Colorable && !found.Recolored {
		add("Icon-Recolored", "?0")
	}
	return ans
}
