package routes

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/scheme"
)

// unslashed is the address of the documentation without the slash at its end, as people type it.
const unslashed = "/docs"

// pageEndpoints are the addresses of the site. The origin renders the pages.
var pageEndpoints = []Endpoint{
	page("/", nil),
	withIconifySearch(onlySearchPage),
	page("/-/search", searchPage, searchParams...),
	page("/packs", packsPage, "license", "category", "commercial"),
	page("/bag", bagPage, "icons"),
	page("/icon/{pack}/{name}", iconPage, icon.PageParams...),
	page("/pack/{pack}", packPage, "category", "page"),
	page(unslashed, nil),
	page(unslashed+"/", nil),
	page("/docs/search", documentsPage, "q"),
	page("/docs/sitemap.xml", nil),
	page("/docs/{folder}/{page}", nil),
	page("/docs/{folder}/{page}/{part}", nil),
	page("/-/bag/icons.zip", bagPage, "icons"),
	page("/-/bag/sprite.svg", bagPage, "icons"),
	archive("/-/pack/{pack}/{file}"),
	page("/-/card/{pack}/{file}", nil),
	page("/-/card/{file}", nil),
	page(LostPath, documentsPage, "q"),
	siteFile("/-/samples/{file}"),
	siteFile("/-/site/{file}"),
	page("/sitemap/{file}", nil),
	page("/sitemap.xml", nil),
	siteFile("/robots.txt"),
	siteFile("/manifest.webmanifest"),
	siteFile("/opensearch.xml"),
	siteFile("/sw.js"),
	siteFile("/favicon.svg"),
	siteFile("/favicon.ico"),
	siteFile("/apple-touch-icon.png"),
}

// onlySearchPage is the endpoint of /search where the addresses of Iconify's API are off.
var onlySearchPage = page("/search", searchPage, searchParams...)

// searchParams are the parameters of a search of the site.
var searchParams = []string{"q", "pack", "license", "commercial", "style", "grid", "stroke", "category", "page"}

// withIconifySearch returns the endpoint of an address that Iconify's API has too: a request with
// query and without q is Iconify's.
func withIconifySearch(e Endpoint) Endpoint {
	isIconify := func(query string) bool {
		return strings.Contains("&"+query, "&query=") && !strings.Contains("&"+query, "&q=")
	}
	ofPage := e.parse
	e.parse = func(path, query string) (Target, error) {
		if isIconify(query) {
			return parseIconify(path, query, false)
		}
		return ofPage(path, query)
	}
	e.classify = func(path, query string) Route {
		if isIconify(query) {
			return iconifyRoute(path, query, false)
		}
		return Page
	}
	return e
}

// page returns the endpoint of a kind of page. build adds the known parameters to the canonical
// address; nil: the page has none.
func page(pattern string, build func(p icon.Params, b *address) error, known ...string) Endpoint {
	parse := parsePlain
	if build != nil {
		parse = pageParser(build, known)
	}
	return Endpoint{Pattern: pattern, Route: Page, Allow: Reading, parse: parse, cached: true}
}

// siteFile returns the endpoint of a file that pages load. Such files do not count against the
// limit of pages, because a list of packs loads one for each pack.
func siteFile(pattern string) Endpoint {
	e := page(pattern, nil)
	e.Route = SiteFile
	return e
}

// archive returns the endpoint of archives that may be too large for the memory.
func archive(pattern string) Endpoint {
	e := page(pattern, nil)
	e.Streamed = true
	return e
}

// invalid is the parameter by which the edge asks the origin for the 400 page about a parameter,
// which it names. So all wrong values of a parameter share one cache entry for each path.
const invalid = "invalid"

// pageParser returns the parser of a page with parameters. An empty parameter is an absent one,
// because forms send the fields that the user leaves empty.
func pageParser(build func(p icon.Params, b *address) error, known []string) parser {
	return func(path, query string) (Target, error) {
		p, err := icon.ParseQuery(query, append([]string{invalid}, known...)...)
		maps.DeleteFunc(p, func(_, value string) bool { return value == "" })
		if name, given := p[invalid]; given && err == nil {
			err = &icon.ParamError{Parameter: name}
		}
		var b address
		if err == nil {
			err = build(p, &b)
		}
		if err == nil {
			return Target{Key: b.of(path)}, nil
		}
		name := "query"
		if wrong, ok := errors.AsType[*icon.ParamError](err); ok && slices.Contains(known, wrong.Parameter) {
			name = wrong.Parameter
		}
		return Target{Key: path + "?" + invalid + "=" + name}, nil
	}
}

func searchPage(p icon.Params, b *address) error {
	text := strings.TrimSpace(p["q"])
	if utf8.RuneCountInString(text) > icon.MaxText {
		return &icon.ParamError{Parameter: "q"}
	}
	pack, err := p.Key("pack")
	if err != nil {
		return err
	}
	if err := b.addFilters(p); err != nil {
		return err
	}
	grid, err := p.Int("grid", 1, icon.MaxGrid, 0)
	if err != nil {
		return err
	}
	b.addInt("grid", grid, 0)
	b.add("pack", pack)
	if err := b.addPage(p); err != nil {
		return err
	}
	b.add("q", icon.CanonicalQuery(text))
	stroked, err := p.Bool("stroke")
	if err != nil {
		return err
	}
	if stroked {
		b.add("stroke", "true")
	}
	b.add("style", p["style"])
	return nil
}

// LostPath is the address of the page for an address at which nothing is, with the words that the
// person may mean as q.
const LostPath = "/-/not-found"

// Lost returns the target of the page for a path at which nothing is. The words are in its search.
func Lost(path string) (t Target, words string) {
	words = scheme.OfPath(path)
	var b address
	b.add("q", words)
	return Target{Key: b.of(LostPath)}, words
}

// documentsPage adds the words of a search, of the documentation or of a page without content.
func documentsPage(p icon.Params, b *address) error {
	text := strings.TrimSpace(p["q"])
	if utf8.RuneCountInString(text) > icon.MaxText {
		return &icon.ParamError{Parameter: "q"}
	}
	b.add("q", icon.CanonicalQuery(text))
	return nil
}

func packsPage(p icon.Params, b *address) error { return b.addFilters(p) }

func packPage(p icon.Params, b *address) error {
	b.add("category", p["category"])
	return b.addPage(p)
}

// addPage adds the number of a page, unless it is the first.
func (b *address) addPage(p icon.Params) error {
	n, err := p.Int("page", 1, icon.MaxPage, icon.DefaultPage)
	if err == nil {
		b.addInt("page", n, icon.DefaultPage)
	}
	return err
}

// iconPage adds the customisation of an icon.
func iconPage(p icon.Params, b *address) error {
	color, err := icon.ParamColor(p)
	if err != nil {
		return err
	}
	v, err := icon.ParseVariant(p)
	if err != nil {
		return err
	}
	b.add("background", string(v.Background))
	b.add("color", string(color))
	switch {
	case v.HFlip:
		b.add("flip", "horizontal")
	case v.VFlip:
		b.add("flip", "vertical")
	}
	b.addInt("padding", v.Padding, 0)
	b.addInt("radius", v.Radius, 0)
	b.addInt("rotate", 90*v.Rotate, 0)
	b.add("secondary", string(v.Secondary))
	if v.Stroke != 0 {
		b.add("stroke", icon.StrokeText(v.Stroke))
	}
	b.addInt("size", v.Height, 0)
	return nil
}

// bagPage adds the icons of a bag: sorted, each once. The names need no escaping, so that a bag
// that the edge accepts is no longer at the origin.
func bagPage(p icon.Params, b *address) error {
	refs, err := icon.ParseBag(p["icons"])
	if err == nil && len(refs) > 0 {
		b.query = append(b.query, "icons="+icon.FormatBag(refs))
	}
	return err
}
