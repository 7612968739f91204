package routes

import (
	"strings"

	"github.com/iconedge/iconedge/icon/iconify"
)

// Mounted is the endpoint of every path on a host that is the mount of Iconify's API. No pattern of
// the table leads to it.
var Mounted = &Endpoint{
	Pattern: iconify.Mount + "/{address}", Route: Iconify, Allow: Reading, cached: true,
	parse:    func(path, query string) (Target, error) { return parseIconify(path, query, true) },
	owns:     func(path string) bool { _, ok := iconify.Find(path, true); return ok },
	classify: func(path, query string) Route { return iconifyRoute(path, query, true) },
}

// iconifyEndpoints returns the rows of Iconify's addresses: below the mount, and at the root.
func iconifyEndpoints() []Endpoint {
	row := func(pattern string) Endpoint {
		return Endpoint{
			Pattern: pattern, Route: Iconify, Allow: Reading, cached: true, iconify: true, owns: isIconify, foreign: iconifyForeign,
			parse:    func(path, query string) (Target, error) { return parseIconify(path, query, false) },
			classify: func(path, query string) Route { return iconifyRoute(path, query, false) },
		}
	}
	var all []Endpoint
	for _, pattern := range []string{
		iconify.Mount + "/{address}", iconify.Mount + "/{set}/{file}", iconify.Mount + "/@iconify-json/{set}/{file}", iconify.Mount + "/npm/@iconify-json/{set}/{file}",
		"/@iconify-json/{set}/{file}", "/npm/@iconify-json/{set}/{file}",
	} {
		all = append(all, row(pattern))
	}
	for _, path := range iconify.Lists {
		if path != onlySearchPage.Pattern { // see withIconifySearch
			all = append(all, row(path))
		}
	}
	return append(all, row("/{address}"))
}

func isIconify(path string) bool {
	_, ok := iconify.Find(path, false)
	return ok
}

// iconifyForeign reports whether an address at the root may be one of another application, which has
// style sheets and scripts too.
func iconifyForeign(path, query string) bool {
	a, ok := iconify.Find(path, false)
	switch {
	case !ok:
		return true
	case strings.HasPrefix(path, iconify.Mount+"/"):
		return false
	case a.Kind == iconify.SVG:
		return !strings.Contains(path, ":")
	case a.Kind == iconify.Data, a.Kind == iconify.Script, a.Kind == iconify.Stylesheet:
		return !strings.Contains("&"+query, "&icons=")
	}
	return true
}

// parseIconify parses an address of Iconify's API. All spellings of a request share the key below
// the mount.
func parseIconify(path, query string, mounted bool) (Target, error) {
	a, ok := iconify.Find(path, mounted)
	if !ok || path == "/search" && !mounted && !strings.Contains("&"+query, "&query=") {
		return Target{}, NotFound()
	}
	r, err := iconify.Parse(a, query)
	if err != nil {
		return Target{}, err
	}
	// The list of names does not decide: it lacks font characters, and a withdrawn icon is a 404 here.
	t := Target{Key: r.Key()}
	if a.Kind == iconify.SVG {
		t.Form, t.Color = FormSVG, r.Color
	}
	return t, nil
}

// iconifyRoute returns the route of an address, which decides about its class of limits.
func iconifyRoute(path, query string, mounted bool) Route {
	a, _ := iconify.Find(path, mounted)
	switch a.Kind {
	case iconify.Search, iconify.Keywords:
		return IconifySearch
	case iconify.Script, iconify.Stylesheet, iconify.SVG:
		return Iconify
	case iconify.Data:
		if strings.Contains("&"+query, "&icons=") {
			return Iconify
		}
	}
	return IconifyLists
}

// IconData returns the pack and the names of a canonical request for the data of icons, which
// the edge joins from cached pieces; ok is false for any other address.
func IconData(key string) (pack string, names []string, ok bool) {
	path, query, _ := strings.Cut(key, "?")
	a, ok := iconify.Find(path, false)
	if !ok || a.Kind != iconify.Data {
		return "", nil, false
	}
	r, err := iconify.Parse(a, query)
	if err != nil || r.Kind != iconify.Data || r.Info || r.Pretty {
		return "", nil, false
	}
	return r.Prefix, r.Names, true
}

// PieceKey returns the cache key of a piece of icon data; the piece without a name is the head of
// the pack. It is no address, so that no response has it.
func PieceKey(pack, name string) string { return iconify.Mount + "/" + pack + ".json#" + name }

// PieceKeys returns the keys of the pieces of a canonical request for icon data; nil for any other
// address.
func PieceKeys(key string) (keys []string) {
	pack, names, _ := IconData(key)
	for _, name := range names {
		keys = append(keys, PieceKey(pack, name))
	}
	return keys
}
