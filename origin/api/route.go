package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// An endpoint is a kind of address: its parameters and its handler. Its name is one of a fixed set,
// so it can be the label of a metric.
type endpoint struct {
	name         string
	pattern      string // form of its addresses, with the variable parts in braces
	methods      []string
	params       []string
	needsRelease bool
	serve        func(*API, http.ResponseWriter, *call) (*answer, error)
}

var get = []string{http.MethodGet, http.MethodHead, http.MethodOptions}

var (
	cdnPath      = &endpoint{"cdn", "/{pack}/{file}", get, append([]string{"release"}, icon.VariantParams...), true, (*API).cdn}
	iconPath     = &endpoint{"icon", "/api/v1/icon/{pack}/{name}", get, append([]string{"format"}, icon.VariantParams...), true, (*API).icon}
	searchPath   = &endpoint{"search", "/api/v1/search", get, []string{"q", "limit", "offset", "pack", "style", "category", "license", "commercial", "similar", "explain"}, true, (*API).search}
	suggestPath  = &endpoint{"suggest", "/api/v1/suggest", get, []string{"q"}, true, (*API).suggest}
	packsPath    = &endpoint{"packs", "/api/v1/packs", get, []string{"category", "license", "commercial"}, true, (*API).packs}
	packPath     = &endpoint{"pack", "/api/v1/packs/{pack}", get, []string{"page", "per_page"}, true, (*API).pack}
	verifyPath   = &endpoint{"verify", "/api/v1/auth/verify", []string{http.MethodPost, http.MethodOptions}, nil, false, (*API).verify}
	openapiPath  = &endpoint{"openapi", "/api/v1/openapi.json", get, nil, false, (*API).describe}
	releasePath  = &endpoint{"release", "/-/release", get, []string{"since"}, true, (*API).currentRelease}
	namesPath    = &endpoint{"names", "/-/names", get, []string{"release"}, true, (*API).names}
	healthPath   = &endpoint{"health", "/healthz", get, nil, false, (*API).health}
	unknownRoute = "unknown"
)

var endpoints = []*endpoint{cdnPath, iconPath, searchPath, suggestPath, packsPath, packPath, verifyPath, openapiPath, releasePath, namesPath, healthPath}

// fixed maps an address to its endpoint, if that has only one address. Routes lists the values of
// Route.
var fixed, Routes = index(endpoints)

func index(all []*endpoint) (fixed map[string]*endpoint, routes []string) {
	fixed = map[string]*endpoint{}
	for _, e := range all {
		routes = append(routes, e.name)
		if !strings.Contains(e.pattern, "{") {
			fixed[e.pattern] = e
		}
	}
	return fixed, append(routes, unknownRoute)
}

// A route is an endpoint with the pack and the name in the path.
type route struct {
	*endpoint
	ref icon.Ref // as in the path, not validated
}

// maxURL is the longest address in bytes. RFC 9110, section 4.1 requires at least 8000.
const maxURL = 8 << 10

// Route returns the name of a request's endpoint, for metrics.
func Route(r *http.Request) string {
	rt, err := parseRoute(r)
	if err != nil {
		return unknownRoute
	}
	return rt.name
}

// Pattern returns the form of the addresses of a request's endpoint, for traces. It is empty if the
// request has no route.
func Pattern(r *http.Request) string {
	rt, err := parseRoute(r)
	if err != nil {
		return ""
	}
	return rt.pattern
}

// parseRoute finds the route of a request. Every path has one spelling: parseRoute does not clean,
// decode or redirect.
func parseRoute(r *http.Request) (route, error) {
	path := r.URL.EscapedPath() // as sent, with invalid characters escaped
	if len(path)+len(r.URL.RawQuery) >= maxURL {
		return route{}, problem.New(http.StatusRequestURITooLong, "the address must be shorter than 8192 bytes")
	}
	if malformed(path) {
		return route{}, problem.New(http.StatusBadRequest,
			"the path is malformed: it must start with a slash, without percent-escapes, empty segments, . or ..")
	}
	rt, ok := findRoute(path)
	if !ok {
		return route{}, problem.NotFound("there is nothing at this path; icons are at /{pack}/{name}.svg, and /api/v1/openapi.json describes the other addresses")
	}
	return rt, nil
}

func malformed(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "%") {
		return true
	}
	segments := strings.Split(path[1:], "/")
	return slices.ContainsFunc(segments, func(s string) bool { return s == "." || s == ".." }) ||
		slices.Contains(segments[:len(segments)-1], "")
}

// findRoute finds the route of a well-formed path.
func findRoute(path string) (route, bool) {
	if e, ok := fixed[path]; ok {
		return route{endpoint: e}, true
	}
	if call, ok := strings.CutPrefix(path, "/api/v1/"); ok {
		return findCall(call)
	}
	pack, file, _ := strings.Cut(path[1:], "/")
	name, ok := strings.CutSuffix(file, ".svg")
	if !ok || pack == "" || name == "" || strings.Contains(name, "/") {
		return route{}, false
	}
	return route{cdnPath, icon.Ref{Pack: pack, Name: name}}, true
}

// findCall finds the route of a path with variable parts, from the part after /api/v1/.
func findCall(call string) (route, bool) {
	kind, rest, _ := strings.Cut(call, "/")
	pack, name, two := strings.Cut(rest, "/")
	switch {
	case kind == "packs" && !two && pack != "":
		return route{packPath, icon.Ref{Pack: pack}}, true
	case kind == "icon" && two && pack != "" && name != "" && !strings.Contains(name, "/"):
		return route{iconPath, icon.Ref{Pack: pack, Name: name}}, true
	}
	return route{}, false
}

// checkMethod returns an error unless the endpoint has that method.
func (e *endpoint) checkMethod(method string) error {
	if slices.Contains(e.methods, method) {
		return nil
	}
	return problem.MethodNotAllowed(strings.Join(e.methods, ", "))
}
