package edge

import (
	"strings"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// An endpoint is one kind of address.
type endpoint struct {
	pattern string
	route   route
	allow   string // methods: reading or posting
	parse   parser
	serve   func(*handler, *request) (outcome, error)
	// With --proxy-all, notOurs reports whether a path that matches the pattern does not belong to
	// this endpoint; nil: every one belongs.
	notOurs func(path string) bool
}

const (
	reading    = "GET, HEAD, OPTIONS"
	posting    = "POST, OPTIONS"
	allMethods = "GET, HEAD, OPTIONS, POST"
)

// endpoints lists all endpoints. Other paths are answered 404, or forwarded with --proxy-all.
var endpoints = []endpoint{
	{"/{pack}/{file}", routeCDN, reading, parseCDN, (*handler).serveCached, notDrawing},
	{iconPath + "{pack}/{name}", routeIcon, reading, parseIcon, (*handler).serveCached, nil},
	{searchPath, routeSearch, reading, parseSearch, (*handler).serveCached, nil},
	{suggestPath, routeSuggest, reading, parseSuggest, (*handler).serveCached, nil},
	{packsPath, routePacks, reading, parsePacks, (*handler).serveCached, nil},
	{packsPath + "/{pack}", routePack, reading, parsePack, (*handler).serveCached, nil},
	{verifyPath, routeVerify, posting, parsePlain, (*handler).serveVerify, nil},
	{openAPIPath, routeOpenAPI, reading, parsePlain, (*handler).serveCached, nil},
	{releasePath, routeRelease, reading, parseRelease, (*handler).serveRelease, nil},
	{namesPath, routeNames, reading, parseNames, (*handler).serveCached, nil},
	{healthPath, routeHealth, reading, parsePlain, (*handler).serveHealth, nil},
	{"/", routePage, reading, parsePlain, (*handler).servePage, func(string) bool { return true }},
}

// notDrawing reports whether a path of two segments can't be that of an icon.
func notDrawing(path string) bool {
	name, ok := strings.CutSuffix(path[1:], ".svg")
	if !ok {
		return true
	}
	_, err := icon.ParseRef(name)
	return err != nil
}

// newRoutes returns a router that finds the endpoint of a path. The router sees paths as the client
// sent them and corrects none. The endpoint checks the method itself, after the request is counted.
func newRoutes(answer func(*fasthttp.RequestCtx, *endpoint), nothing fasthttp.RequestHandler) *router.Router {
	r := router.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.HandleOPTIONS, r.HandleMethodNotAllowed = false, false
	r.NotFound = nothing
	for i := range endpoints {
		ep := &endpoints[i]
		r.ANY(ep.pattern, func(ctx *fasthttp.RequestCtx) { answer(ctx, ep) })
	}
	return r
}

// parse returns the canonical target of a request, or a problem. It never sends a request to the
// origin.
func parse(ctx *fasthttp.RequestCtx, ep *endpoint) (target, error) {
	path := string(ctx.URI().PathOriginal())
	if !wellFormedPath(path) {
		return target{}, malformedAddress()
	}
	allowed := ctx.IsGet() || ctx.IsHead()
	if ep.allow == posting {
		allowed = ctx.IsPost()
	}
	if !allowed {
		return target{}, problem.MethodNotAllowed(ep.allow)
	}
	return ep.parse(path, string(ctx.URI().QueryString()))
}
