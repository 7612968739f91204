package routes

import (
	"fmt"
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
		iconify.Mount + "/{address}", iconify.Mount + "/{set}/{file}", iconify.Mount + "/@iconify-json/{set}/{file}",
		iconify.Mount + "/npm/@iconify-json/{set}/{file}",
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

// iconifyForeign reports whether an address at the root may be one of another application, which
// has style sheets and scripts too.
func iconifyForeign(path, query string) bool {
	a, ok := iconify.Find(path, false)
	return !ok || foreignKind(a, path, query)
}

// foreignKind is iconifyForeign for an address that is known.
func foreignKind(a iconify.Address, path, query string) bool {
	switch {
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
	// The list of names does not decide: it lacks font characters, and a withdrawn icon is a 404
	// here.
	t := Target{Key: r.Key(), Foreign: foreignAddress(path, query)}
	switch r.Kind {
	case iconify.SVG:
		if t.Form, t.Color = FormSVG, r.Color; len(t.Color) > len("#rrggbb") {
			t.Form = FormPaint
		}
	case iconify.Data, iconify.Script, iconify.Stylesheet:
		if r.Names != nil {
			t.Icons = &r
		}
	}
	return t, nil
}

// foreignAddress returns an address at an origin of other software, where Iconify's API is at the
// root. It has visible ASCII characters only.
func foreignAddress(path, query string) string {
	if rest, below := strings.CutPrefix(path, iconify.Mount); below && strings.HasPrefix(rest, "/") {
		path = rest
	}
	if query == "" {
		return path
	}
	var b strings.Builder
	b.WriteString(path + "?")
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || c == '#' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
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

// PieceKey returns the cache key of a piece of icon data; the piece without a name is the head of
// the pack. It is no address, so that no response has it.
func PieceKey(pack, name string) string { return iconify.Mount + "/" + pack + ".json#" + name }

// Keys returns all cache keys under which there may be a response for a target, or a part of it:
// for an origin of ours, in pieces, and for one of other software.
func (t Target) Keys() []string {
	keys := []string{t.Key}
	if t.Foreign != "" {
		keys = append(keys, t.AtForeign().Key)
	}
	if t.Icons != nil {
		for _, name := range t.Icons.Names {
			keys = append(keys, PieceKey(t.Icons.Prefix, name))
		}
	}
	return keys
}
