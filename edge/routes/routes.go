// Package routes has the table of the edge's own endpoints. One row decides everything that depends
// on the kind of an address: its route and class of limits, its methods, its canonical form, which
// is the cache key, the form in which a purge names it, and whether the hit path may answer.
package routes

// A Class is a group of routes that share a rate limit.
type Class uint8

// The classes.
const (
	ClassNone Class = iota // never limited
	ClassSearch
	ClassSuggest
	ClassIcon
	ClassPacks
	ClassVerify
	ClassCDN
	ClassForwarded
	ClassPages  // the pages of the site
	ClassRaster // pictures that the origin makes for a request: icons in pixels, rows
	Classes     // the number of classes
)

var classNames = [Classes]string{"none", "search", "suggest", "icon", "packs", "verify", "cdn", "forwarded", "pages", "raster"}

// String returns the name of a class in flags, metrics and fields.
func (c Class) String() string { return classNames[c] }

// ClassNamed returns the class of that name; ClassNone if no class with a limit has it.
func ClassNamed(name string) Class {
	for c := ClassSearch; c < Classes; c++ {
		if c.String() == name {
			return c
		}
	}
	return ClassNone
}

// A Route is a kind of address. Metrics and logs use it as a label.
type Route uint8

// The routes.
const (
	Unknown Route = iota // no endpoint has the address, or the request was not parsed
	CDN
	Icon
	Search
	Suggest
	Packs
	Pack
	OpenAPI
	Verify
	Release
	Names
	Page     // a page of the site, or a file that its origin makes for each bag or card
	SiteFile // another file of the site, which pages load
	Health
	Picture       // an icon in pixels
	Row           // several icons in one picture
	Iconify       // icons at the addresses of Iconify's API
	IconifySearch // its searches
	IconifyLists  // its lists, and whole sets
	Forwarded     // an address that the edge forwards (--proxy-all)
	Preflight     // an OPTIONS request, for any address
	Routes        // the number of routes
)

// Labels are the names of the routes.
var Labels = [Routes]string{"unknown", "cdn", "icon", "search", "suggest", "packs", "pack", "openapi", "verify", "release", "names",
	"page", "site-file", "health", "picture", "row", "iconify", "iconify-search", "iconify-lists", "forwarded", "preflight"}

// String returns the name of a route in metrics and logs.
func (r Route) String() string { return Labels[r] }

// routeClasses has the classes of the routes that can be limited.
var routeClasses = [Routes]Class{CDN: ClassCDN, Icon: ClassIcon, Search: ClassSearch, Suggest: ClassSuggest,
	Packs: ClassPacks, Pack: ClassPacks, Names: ClassPacks, Verify: ClassVerify, Forwarded: ClassForwarded,
	Page: ClassPages, SiteFile: ClassCDN, Picture: ClassRaster, Row: ClassRaster,
	Iconify: ClassCDN, IconifySearch: ClassSearch, IconifyLists: ClassPacks}

// Class returns the class of a route; ClassNone if it has no limit.
func (r Route) Class() Class { return routeClasses[r] }

// OfSite reports whether the addresses of the route are off with --site off.
func (r Route) OfSite() bool { return r == Page || r == SiteFile }

// Open reports whether no address of the route ever requires a licence token, although others of
// its class do.
func (r Route) Open() bool { return r.OfIconify() }

// OfIconify reports whether the route is one of Iconify's addresses.
func (r Route) OfIconify() bool { return r == Iconify || r == IconifySearch || r == IconifyLists }

// Licensed reports whether a licence token can be required for the routes of c.
func (c Class) Licensed() bool {
	return c == ClassSearch || c == ClassSuggest || c == ClassIcon || c == ClassPacks
}
