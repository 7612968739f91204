// Package site renders the pages of the site from a release: home, results, packs, icons, the bag,
// errors, and the small files beside them (robots.txt, sitemaps, the manifest). Each kind of page
// has a file and a template. A page works without a script; the script in the folder site/ of this
// repository, which this package embeds, fetches the same pages and replaces their main element.
//
// The package decides the content of pages and their surrogate keys. Package api finds the address
// of a request, sends the page, and writes the fields that all responses have. All addresses in
// pages come from Options, never from a request.
package site

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/bundle"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/search"
)

// Options configures a Site.
type Options struct {
	CDNURL  string // base address of the CDN in pages
	SiteURL string // base address of the site's own addresses; empty: CDNURL
	Version string // of the program
	// TempFile creates a file for an archive of a pack.
	TempFile func() (*os.File, error)
}

// A Site renders pages.
type Site struct {
	cdn, site string // without a slash at the end
	version   string
	bundles   *bundle.Store
	assets    *assets
	templates map[string]*template.Template
	lists     lists
}

// Cache-Control values of the site's files.
const (
	pagesCached = "public, max-age=60, stale-while-revalidate=3600, stale-if-error=86400"
	errorCached = "public, max-age=5"
	forever     = "public, max-age=31536000, immutable"
	brief       = "public, max-age=60"
	listsCached = "public, max-age=3600, stale-while-revalidate=86400"
)

// pagesKey is the surrogate key of every page.
const pagesKey = "pages"

const typeHTML = "text/html; charset=utf-8"

//go:embed templates
var templates embed.FS

// kinds lists the templates of pages. Each defines "main", and base.html the rest of the page.
var kinds = []string{"home", "search", "icon", "packs", "pack", "bag", "document", "documents", "error"}

// New returns a Site.
func New(o Options) *Site {
	s := &Site{cdn: strings.TrimRight(o.CDNURL, "/"), site: strings.TrimRight(o.SiteURL, "/"), assets: theAssets,
		version: o.Version, bundles: bundle.New(o.TempFile), templates: map[string]*template.Template{}}
	if s.site == "" {
		s.site = s.cdn
	}
	base := template.Must(template.New("base.html").Funcs(functions).ParseFS(templates, "templates/base.html", "templates/parts.html"))
	for _, kind := range kinds {
		s.templates[kind] = template.Must(template.Must(base.Clone()).ParseFS(templates, "templates/"+kind+".html"))
	}
	return s
}

// A Request is a request for a page, with the release that the page is made from.
type Request struct {
	Params  icon.Params
	Ref     icon.Ref // the pack, and the name, in the path; not validated
	File    string   // the last segment of the path, for files
	Path    string   // the whole path
	Release *catalog.Release
	Index   *search.Index
}

// A Page is a page or another file of the site.
type Page struct {
	Status       int
	MediaType    string
	Body         []byte
	Stream       *Stream // instead of Body; nil: none
	CacheControl string
	Keys         string      // surrogate keys, separated by spaces
	Modified     time.Time   // zero: unknown
	HTML         bool        // it is a document, so it carries the fields of Fields
	Header       [][2]string // further header fields
}

// Fields are the header fields of every HTML page. Pages contain no inline scripts and styles, and
// load nothing from other hosts.
var Fields = [][2]string{
	{"Content-Security-Policy", icon.PagePolicy + "; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
		"manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
	{"Referrer-Policy", "strict-origin-when-cross-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
}

// A frame is the part of a page around its main element.
type frame struct {
	Title       string
	Description string
	Canonical   string // empty: the page has none, and is not indexed
	Query       string // in the search box
	Site        string
	CDN         string
	Assets      *assets
}

// frame returns the frame of a page. path is the path of its canonical address; empty: none.
func (s *Site) frame(title, description, path string) frame {
	f := frame{Title: title, Description: description, Site: s.site, CDN: s.cdn, Assets: s.assets}
	if path != "" {
		f.Canonical = s.site + path
	}
	return f
}

// render makes a page of a kind from its view. keys are its surrogate keys besides that of all
// pages.
func (s *Site) render(kind string, view any, keys ...string) (*Page, error) {
	var b bytes.Buffer
	if err := s.templates[kind].ExecuteTemplate(&b, "base.html", view); err != nil {
		return nil, err
	}
	return &Page{
		Status: http.StatusOK, MediaType: typeHTML, Body: b.Bytes(), CacheControl: pagesCached,
		Keys: strings.Join(append([]string{pagesKey}, keys...), " "), HTML: true,
	}, nil
}

// A renderer makes the page of an address.
type renderer func(*Site, context.Context, *Request) (*Page, error)

// An Address is a kind of address of the site.
type Address struct {
	Pattern string   // with the variable parts in braces
	Params  []string // the parameters that it knows
	Always  bool     // it needs no release
	render  renderer
}

// Render makes the page of a request for an address. Its errors are problems for the client.
func (a *Address) Render(ctx context.Context, s *Site, q *Request) (*Page, error) {
	for name, value := range q.Params { // a form sends fields that are empty
		if value == "" {
			delete(q.Params, name)
		}
	}
	if err := invalid(q.Params, a.Params); err != nil {
		return nil, err
	}
	return a.render(s, ctx, q)
}

// searchParams are the parameters of a search.
var searchParams = []string{"q", "pack", "license", "commercial", "style", "grid", "stroke", "category", "page", Invalid}

// Addresses lists all addresses of the site. No address that is an icon's on the CDN is among them,
// because those end in .svg.
var Addresses = []*Address{
	{"/", nil, false, (*Site).home},
	{"/search", searchParams, false, (*Site).search},
	{"/-/search", searchParams, false, (*Site).found},
	{"/packs", []string{"license", "category", "commercial", Invalid}, false, (*Site).packs},
	{"/bag", []string{"icons", Invalid}, false, (*Site).bag},
	{"/icon/{pack}/{name}", append(slices.Clone(icon.PageParams), Invalid), false, (*Site).icon},
	{"/pack/{pack}", []string{"category", "page", Invalid}, false, (*Site).pack},
	{"/docs", nil, true, (*Site).document},
	{"/docs/", nil, true, (*Site).document},
	{"/docs/search", []string{"q", Invalid}, true, (*Site).searchDocuments},
	{"/docs/sitemap.xml", nil, true, (*Site).documentsSitemap},
	{"/docs/{folder}/{page}", nil, true, (*Site).document},
	{"/docs/{folder}/{page}/{part}", nil, true, (*Site).document},
	{"/-/bag/icons.zip", []string{"icons", Invalid}, false, (*Site).bagArchive},
	{"/-/bag/sprite.svg", []string{"icons", Invalid}, false, (*Site).bagSprite},
	{"/-/pack/{pack}/{file}", nil, false, (*Site).packArchive},
	{"/-/card/{pack}/{file}", nil, false, (*Site).iconCard},
	{"/-/card/{file}", nil, false, (*Site).packCard},
	{LostPath, []string{"q", Invalid}, false, (*Site).lost},
	{"/-/samples/{file}", nil, false, (*Site).samples},
	{"/-/site/{file}", nil, false, (*Site).asset},
	{"/sitemap/{file}", nil, false, (*Site).packSitemap},
	{"/sitemap.xml", nil, false, (*Site).sitemap},
	{"/robots.txt", nil, false, (*Site).robots},
	{"/manifest.webmanifest", nil, false, (*Site).manifest},
	{"/opensearch.xml", nil, false, (*Site).opensearch},
	{"/sw.js", nil, false, (*Site).worker},
	{"/favicon.svg", nil, true, (*Site).favicon},
	{"/favicon.ico", nil, true, (*Site).faviconFile},
	{"/apple-touch-icon.png", nil, true, (*Site).touchIcon},
}

// Find finds the address of a well-formed path, and its variable parts.
func Find(path string) (a *Address, ref icon.Ref, file string) {
	segments := strings.Split(path[1:], "/")
	for _, a := range Addresses {
		pattern := strings.Split(a.Pattern[1:], "/")
		if len(pattern) != len(segments) || !matches(pattern, segments) {
			continue
		}
		for i, p := range pattern {
			switch p {
			case "{pack}":
				ref.Pack = segments[i]
			case "{name}":
				ref.Name = segments[i]
			case "{file}":
				file = segments[i]
			}
		}
		return a, ref, file
	}
	return nil, icon.Ref{}, ""
}

// matches reports whether the segments of a path have the form of a pattern. A variable segment is
// not empty.
func matches(pattern, segments []string) bool {
	for i, p := range pattern {
		if p != segments[i] && (!strings.HasPrefix(p, "{") || segments[i] == "") {
			return false
		}
	}
	return true
}
