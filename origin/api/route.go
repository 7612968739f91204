package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// An endpoint is a kind of address: what it takes, and what answers it. Its name is one of a fixed few, fit for a metric's label.
type endpoint struct {
	name         string
	methods      []string
	params       []string
	needsRelease bool
	serve        func(*API, http.ResponseWriter, *call) (*answer, error)
}

var get = []string{http.MethodGet, http.MethodHead, http.MethodOptions}

var (
	cdnPath      = &endpoint{"cdn", get, append([]string{"release"}, icon.VariantParams...), true, (*API).cdn}
	iconPath     = &endpoint{"icon", get, append([]string{"format"}, icon.VariantParams...), true, (*API).icon}
	searchPath   = &endpoint{"search", get, []string{"q", "limit", "offset", "pack", "style", "category", "license", "commercial"}, true, (*API).search}
	suggestPath  = &endpoint{"suggest", get, []string{"q"}, true, (*API).suggest}
	packsPath    = &endpoint{"packs", get, []string{"category", "license", "commercial"}, true, (*API).packs}
	packPath     = &endpoint{"pack", get, []string{"page", "per_page"}, true, (*API).pack}
	verifyPath   = &endpoint{"verify", []string{http.MethodPost, http.MethodOptions}, nil, false, (*API).verify}
	openapiPath  = &endpoint{"openapi", get, nil, false, (*API).describe}
	releasePath  = &endpoint{"release", get, []string{"since"}, true, (*API).tellRelease}
	namesPath    = &endpoint{"names", get, []string{"release"}, true, (*API).names}
	healthPath   = &endpoint{"health", get, nil, false, (*API).health}
	unknownRoute = "unknown"
)

// Routes are the values of Route.
var Routes = []string{"cdn", "icon", "search", "suggest", "packs", "pack", "verify", "openapi", "release", "names", "health", unknownRoute}

// A route is where a path leads: an endpoint, and the pack and the name in it.
type route struct {
	*endpoint
	ref icon.Ref // as it was given: not checked
}

// maxURL is the longest address in bytes: RFC 9110, section 4.1 asks for 8000 at least.
const maxURL = 8 << 10

// Route tells what kind of address a request has, for metrics.
func Route(r *http.Request) string {
	rt, err := parseRoute(r)
	if err != nil {
		return unknownRoute
	}
	return rt.name
}

// parseRoute finds the route of a request. There is one spelling of every path: nothing is cleaned, decoded or redirected.
func parseRoute(r *http.Request) (route, error) {
	path := r.URL.EscapedPath() // as it was sent, but that what may not stand in a path is escaped
	if len(path)+len(r.URL.RawQuery) >= maxURL {
		return route{}, problem.New(http.StatusRequestURITooLong, "an address may have 8192 bytes")
	}
	if malformed(path) {
		return route{}, problem.New(http.StatusBadRequest,
			"the path is malformed: it starts with a slash, and has no percent-escapes, no empty segments and no dots between slashes")
	}
	rt, ok := findRoute(path)
	if !ok {
		return route{}, problem.NotFound("nothing is at this path; icons are at /{pack}/{name}.svg, and /api/v1/openapi.json describes the rest")
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

// findRoute reads a well-formed path.
func findRoute(path string) (route, bool) {
	switch path {
	case "/healthz":
		return route{endpoint: healthPath}, true
	case "/-/release":
		return route{endpoint: releasePath}, true
	case "/-/names":
		return route{endpoint: namesPath}, true
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

func findCall(call string) (route, bool) {
	switch call {
	case "search":
		return route{endpoint: searchPath}, true
	case "suggest":
		return route{endpoint: suggestPath}, true
	case "packs":
		return route{endpoint: packsPath}, true
	case "auth/verify":
		return route{endpoint: verifyPath}, true
	case "openapi.json":
		return route{endpoint: openapiPath}, true
	}
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

// takes reports whether the endpoint has that method.
func (e *endpoint) takes(method string) error {
	if slices.Contains(e.methods, method) {
		return nil
	}
	return problem.MethodNotAllowed(strings.Join(e.methods, ", "))
}
