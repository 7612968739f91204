package api

import (
	"net/http"
	"strings"

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
		return &answer{entity: newContent(typeText, []byte("iconedge version "+a.Version+", with the addresses of Iconify's API\n")), cacheControl: listsCached, surrogate: icon.LibraryKey}, nil
	}
	found, err := preparedOf(c.release).iconify.Answer(c.Context(), r)
	if err != nil {
		return nil, err
	}
	return a.iconifyAnswer(found), nil
}

// iconifyAnswer adds the fields that follow from the content of an answer.
func (a *API) iconifyAnswer(found *iconify.Answer) *answer {
	ans := &answer{entity: newContent(found.MediaType, found.Body), cacheControl: listsCached, modified: found.Modified, surrogate: found.Keys}
	add := func(name, value string) { ans.header = append(ans.header, [2]string{name, value}) }
	if found.Icons && !found.Partial {
		ans.cacheControl = a.CacheControl
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
	if found.Monochrome {
		add(icon.FieldMonochrome, "?1")
	} else {
		add(icon.FieldMonochrome, "?0")
	}
	if found.Colorable && !found.Recolored {
		add("Icon-Recolored", "?0")
	}
	return ans
}
