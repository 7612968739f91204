package routes

import (
	"slices"
	"strings"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/internal/problem"
)

// An Endpoint is one kind of address. Its row in the table decides everything that depends on the
// kind: the route, with its class, the methods, the canonical form of the address, and whether the
// hit path may answer.
type Endpoint struct {
	Pattern string
	Route   Route
	Allow   string // methods: Reading or Posting
	parse   parser
	// cached: the responses are stored under the canonical form. So a purge uses that form, and the
	// hit path may answer with a fresh response. It may not for a list of names, because the
	// operator may reserve those for other edges.
	cached bool
	// Streamed: a response may be longer than the edge holds in memory, so it is sent and stored as
	// those of other applications are: while it arrives, and in slices if it is large.
	Streamed bool
	// foreign reports whether a path that matches Pattern does not belong to this endpoint where
	// the edge forwards other paths; nil: every path belongs.
	foreign func(path, query string) bool
	// owns reports whether a path that matches Pattern is an address of this endpoint; nil: every
	// path is.
	owns func(path string) bool
	// classify returns the route of an address whose class of limits depends on it; nil: Route.
	classify func(path, query string) Route
	iconify  bool // of Iconify's API, which the operator may turn off

	literal string // the beginning of Pattern, up to its first parameter
	params  int    // number of parameters
}

// Methods of endpoints, in the form of the field Allow. AllMethods are those of any endpoint.
const (
	Reading    = "GET, HEAD, OPTIONS"
	Posting    = "POST, OPTIONS"
	AllMethods = "GET, HEAD, OPTIONS, POST"
)

// endpoints lists all endpoints. Other paths are answered 404, or forwarded with --proxy-all. If
// two patterns match a path, the first one in the list has it.
var endpoints = prepare(slices.Concat([]Endpoint{
	{Pattern: IconPath + "{pack}/{name}", Route: Icon, Allow: Reading, parse: parseIcon, cached: true},
	{Pattern: searchPath, Route: Search, Allow: Reading, parse: parseSearch, cached: true},
	{Pattern: suggestPath, Route: Suggest, Allow: Reading, parse: parseSuggest, cached: true},
	{Pattern: packsPath, Route: Packs, Allow: Reading, parse: parsePacks, cached: true},
	{Pattern: packsPath + "/{pack}", Route: Pack, Allow: Reading, parse: parsePack, cached: true},
	{Pattern: VerifyPath, Route: Verify, Allow: Posting, parse: parsePlain},
	{Pattern: OpenAPIPath, Route: OpenAPI, Allow: Reading, parse: parsePlain, cached: true},
	{Pattern: ReleasePath, Route: Release, Allow: Reading, parse: parseRelease},
	{Pattern: NamesPath, Route: Names, Allow: Reading, parse: parseNames},
	{Pattern: HealthPath, Route: Health, Allow: Reading, parse: parsePlain},
	{Pattern: rowPath, Route: Row, Allow: Reading, parse: rowParser(icon.ParseRow), cached: true},
	{Pattern: rowPNGPath, Route: Row, Allow: Reading, parse: rowParser(icon.ParseRowPicture), cached: true},
}, pageEndpoints, iconifyEndpoints(), []Endpoint{
	{Pattern: "/{pack}/{file}", Route: CDN, Allow: Reading, parse: parseCDN, cached: true, classify: classOfPair, foreign: notAnIcon,
		owns: func(path string) bool { return !strings.HasPrefix(path, iconify.Mount+"/") }},
}))

// prepare splits the patterns, because the hit path compares a path with them for each hit.
func prepare(all []Endpoint) []Endpoint {
	for i := range all {
		e := &all[i]
		e.literal, _, _ = strings.Cut(e.Pattern, "{")
		e.params = strings.Count(e.Pattern, "{")
	}
	return all
}

// notAnIcon reports whether a path of two segments can't be that of an icon.
func notAnIcon(path, query string) bool {
	if a, ok := iconify.Find(path, false); ok {
		return foreignKind(a, path, query)
	}
	name, ok := strings.CutSuffix(path[1:], ".svg")
	if !ok {
		return true
	}
	_, err := icon.ParseRef(name)
	return err != nil
}

// Foreign reports whether a path that matches the endpoint's pattern belongs to another application
// where the edge forwards other paths (--proxy-all).
func (e *Endpoint) Foreign(path, query string) bool {
	return e.foreign != nil && e.foreign(path, query)
}

// Owns reports whether a path is an address of the endpoint.
func (e *Endpoint) Owns(path string) bool { return e.owns == nil || e.owns(path) }

// RouteOf returns the route of an address of the endpoint.
func (e *Endpoint) RouteOf(path, query string) Route {
	if e.classify == nil {
		return e.Route
	}
	return e.classify(path, query)
}

// classOfPair returns the route of a path of two segments: of an icon, as SVG or in pixels, or of
// icon data.
func classOfPair(path, query string) Route {
	if isPicture(path) {
		return Picture
	}
	if isIconify(path) {
		return iconifyRoute(path, query, false)
	}
	return CDN
}

// matches reports whether a path has the form of the endpoint's pattern. All parameters of a
// pattern stand at its end, one in each segment.
func (e *Endpoint) matches(path string) bool {
	rest, ok := strings.CutPrefix(path, e.literal)
	if e.params == 0 || !ok {
		return ok && rest == ""
	}
	return rest != "" && rest[len(rest)-1] != '/' && strings.Count(rest, "/") == e.params-1 && e.Owns(path)
}

// isPair reports what matches does for the pattern of the CDN paths, in half the time.
func isPair(path string) bool {
	if len(path) < 4 || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	slash := strings.IndexByte(path[1:], '/')
	return slash > 0 && strings.IndexByte(path[slash+2:], '/') < 0
}

// isPairOfPack reports whether a path is that of an icon, or of the icon data of a pack. It always
// belongs to the pack, even if the pack has the name of a page, such as /search/home.svg.
func isPairOfPack(path string) bool {
	return isIcon(path) || isPicture(path) || isPair(path) && !strings.HasPrefix(path, iconify.Mount+"/") && isIconify(path)
}

// isIcon reports whether a path is that of an icon, which is never one of Iconify's API. No pack
// has a key that begins with a hyphen.
func isIcon(path string) bool {
	return strings.HasSuffix(path, ".svg") && isPair(path) && path[1] != '-' && !strings.HasPrefix(path, iconify.Mount+"/")
}

// isPicture reports whether a path is that of an icon in pixels.
func isPicture(path string) bool {
	return (strings.HasSuffix(path, ".png") || strings.HasSuffix(path, ".ico")) && isPair(path) && !strings.HasPrefix(path, "/-/")
}

// pairs returns the endpoint of such paths.
func pairs() *Endpoint { return &endpoints[len(endpoints)-1] }

// find returns the endpoint of a canonical path, as the router finds it; nil, if there is none.
func find(path string) *Endpoint {
	if isPairOfPack(path) {
		return pairs() // most calls are for icons
	}
	second := byte(0)
	if len(path) > 1 {
		second = path[1]
	}
	for _, e := range candidates[second] {
		if e.matches(path) {
			return e
		}
	}
	return nil
}

// candidates holds the endpoints that a path may match, by the byte after its first slash (0: there
// is none), in the order of the table. The hit path seeks each path twice that it can't answer.
var candidates = func() (of [256][]*Endpoint) {
	for i := range endpoints {
		for second := range of {
			if literal := endpoints[i].literal; len(literal) < 2 || literal[1] == byte(second) {
				of[second] = append(of[second], &endpoints[i])
			}
		}
	}
	return of
}()

// New returns a router that calls answer with the endpoint of a path, or nothing if there is none.
// The router sees paths as the client sent them and corrects none. The endpoint checks the method
// itself, after the request is counted.
func New(answer func(*fasthttp.RequestCtx, *Endpoint), nothing fasthttp.RequestHandler, withIconify bool) *router.Router {
	r := router.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.HandleOPTIONS, r.HandleMethodNotAllowed = false, false
	r.NotFound = nothing
	for i := range endpoints {
		ep := &endpoints[i]
		if ep.Pattern == unslashed { // the router can't hold it beside the one with the slash
			r.NotFound = func(ctx *fasthttp.RequestCtx) {
				if string(ctx.URI().PathOriginal()) == unslashed {
					answer(ctx, ep)
				} else {
					nothing(ctx)
				}
			}
			continue
		}
		r.ANY(ep.Pattern, func(ctx *fasthttp.RequestCtx) {
			path := string(ctx.URI().PathOriginal())
			ep := ep
			if ep.params > 0 && isPairOfPack(path) {
				ep = pairs()
			}
			switch {
			case ep.iconify && !withIconify, ep.Route == CDN && !withIconify && isIconify(path), ep.owns != nil && !ep.owns(path):
				nothing(ctx)
			case ep.classify != nil && ep.Route == Page && !withIconify:
				answer(ctx, &onlySearchPage)
			default:
				answer(ctx, ep)
			}
		})
	}
	return r
}

// Parse returns the canonical target of a request, or a problem. It never sends a request to the
// origin.
func (e *Endpoint) Parse(ctx *fasthttp.RequestCtx) (Target, error) {
	path := string(ctx.URI().PathOriginal())
	if !WellFormedPath(path) && !e.maySpell(path) {
		return Target{}, Malformed()
	}
	allowed := ctx.IsGet() || ctx.IsHead()
	if e.Allow == Posting {
		allowed = ctx.IsPost()
	}
	if !allowed {
		return Target{}, problem.MethodNotAllowed(e.Allow)
	}
	return e.parse(path, string(ctx.URI().QueryString()))
}

// maySpell reports whether a path is that of an icon whose name is percent-encoded.
func (e *Endpoint) maySpell(path string) bool {
	return (e.Route == Icon || e.Route == CDN && (isIcon(path) || isPicture(path))) && WellFormedPath(strings.ReplaceAll(path, "%", "-"))
}

// Canonical returns the target of an address on one of the edge's own routes. It is not ok if no
// response is stored for such addresses, or if the route does not accept the address.
func Canonical(address string) (t Target, ok bool) {
	path, query, _ := strings.Cut(address, "?")
	e := find(path)
	if e == nil || !e.cached {
		return Target{}, false
	}
	t, err := e.parse(path, query)
	return t, err == nil
}

// FastRoute returns the route of a canonical path without a query. It is not ok if the hit path
// may not answer on that route.
func FastRoute(path string) (route Route, ok bool) {
	if isIcon(path) {
		return CDN, true // most hits, which need no look at the table
	}
	e := find(path)
	if e == nil || !e.cached || e.Streamed {
		return Unknown, false
	}
	return e.RouteOf(path, ""), true
}

// IsSite reports whether a canonical path is that of a page or another file of the site.
func IsSite(path string) bool {
	e := find(path)
	return e != nil && e.cached && e.RouteOf(path, "").OfSite()
}

// PatternOf returns the pattern of a path of one of the edge's own routes; empty: it has no
// endpoint.
func PatternOf(path string) string {
	if e := find(path); e != nil {
		return e.Pattern
	}
	return ""
}

// Fast reports whether the hit path may answer a GET for a target of this endpoint. It colours SVG
// alone, so coloured JSON is left to the pipeline.
func (e *Endpoint) Fast(t Target) bool {
	return e.cached && !e.Streamed && (t.Color == "" || t.Form == FormSVG)
}

// IsPlainIcon reports whether a cache key is that of an icon as it is.
func IsPlainIcon(key string) bool {
	route, ok := FastRoute(key)
	return ok && route == CDN && !strings.Contains(key, "?")
}

// Forwards reports whether an edge that forwards the paths of other applications forwards a path:
// it has no endpoint, or belongs to none. pages says whether the edge has the pages of the site.
// Where it reports false, the router has to decide.
func Forwards(path, query string, pages bool) bool {
	e := find(path)
	return e == nil || e.Foreign(path, query) || !pages && e.RouteOf(path, query).OfSite()
}
