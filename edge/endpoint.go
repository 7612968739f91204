package edge

import (
	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/problem"
)

// An endpoint is one kind of address.
type endpoint struct {
	pattern string
	class   class
	allow   string // methods: reading or posting
	parse   parser
	serve   func(*handler, *request) (outcome, error)
}

const (
	reading    = "GET, HEAD, OPTIONS"
	posting    = "POST, OPTIONS"
	allMethods = "GET, HEAD, OPTIONS, POST"
)

// endpoints are all there are; anything else is 404.
var endpoints = []endpoint{
	{"/{pack}/{file}", classCDN, reading, parseCDN, (*handler).cached},
	{iconPath + "{pack}/{name}", classIcon, reading, parseIcon, (*handler).cached},
	{searchPath, classSearch, reading, parseSearch, (*handler).cached},
	{packsPath, classPacks, reading, parsePacks, (*handler).cached},
	{packsPath + "/{pack}", classPacks, reading, parsePack, (*handler).cached},
	{verifyPath, classVerify, posting, parsePlain, (*handler).verify},
	{openAPIPath, classNone, reading, parsePlain, (*handler).cached},
	{releasePath, classNone, reading, parseRelease, (*handler).tellRelease},
	{healthPath, classNone, reading, parsePlain, (*handler).healthz},
	{"/", classNone, reading, parsePlain, (*handler).start},
}

// newRoutes finds the endpoint of a path. The router sees paths as they came, and mends none. Methods are ours to judge, once
// the request is counted.
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

// parse makes the canonical target of a request, or a problem; the origin is not asked for it either way.
func parse(ctx *fasthttp.RequestCtx, ep *endpoint) (target, error) {
	path := string(ctx.URI().PathOriginal())
	if !wellFormed(path) {
		return target{}, malformed()
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
