package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	addresses "github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/site"
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
	page         *site.Address // it is a page of the site; nil: it is not
}

var get = []string{http.MethodGet, http.MethodHead, http.MethodOptions}

var (
	cdnPath    = &endpoint{"cdn", "/{pack}/{file}", get, append([]string{"release"}, icon.CDNParams...), true, (*API).cdn, nil}
	pngPath    = &endpoint{"png", "/{pack}/{name}.png", get, append([]string{"release"}, icon.PictureParams...), true, (*API).png, nil}
	icoPath    = &endpoint{"ico", "/{pack}/{name}.ico", get, append([]string{"release"}, icon.FaviconParams...), true, (*API).ico, nil}
	rowPath    = &endpoint{"row", "/-/row.svg", get, append([]string{"release"}, icon.RowParams...), true, (*API).row, nil}
	rowPNGPath = &endpoint{"row", "/-/row.png", get, append([]string{"release"}, icon.RowParams...), true, (*API).rowPNG, nil}
	iconPath   = &endpoint{"icon", "/api/v1/icon/{pack}/{name}", get,
		append([]string{"format"}, icon.VariantParams...), true, (*API).icon, nil}
	searchPath = &endpoint{"search", "/api/v1/search", get,
		[]string{"q", "limit", "offset", "pack", "style", "category", "license", "commercial", "stroke", "similar", "explain"},
		true, (*API).search, nil}
	suggestPath  = &endpoint{"suggest", "/api/v1/suggest", get, []string{"q"}, true, (*API).suggest, nil}
	packsPath    = &endpoint{"packs", "/api/v1/packs", get, []string{"category", "license", "commercial"}, true, (*API).packs, nil}
	packPath     = &endpoint{"pack", "/api/v1/packs/{pack}", get, []string{"page", "per_page"}, true, (*API).pack, nil}
	verifyPath   = &endpoint{"verify", "/api/v1/auth/verify", []string{http.MethodPost, http.MethodOptions}, nil, false, (*API).verify, nil}
	openapiPath  = &endpoint{"openapi", "/api/v1/openapi.json", get, nil, false, (*API).describe, nil}
	releasePath  = &endpoint{"release", "/-/release", get, []string{"since"}, true, (*API).currentRelease, nil}
	namesPath    = &endpoint{"names", "/-/names", get, []string{"release"}, true, (*API).names, nil}
	iconifyPath  = &endpoint{"iconify", addresses.Mount + "/{address}", get, nil, true, (*API).iconify, nil}
	healthPath   = &endpoint{"health", "/healthz", get, nil, false, (*API).health, nil}
	unknownRoute = "unknown"
)

var endpoints = append([]*endpoint{cdnPath, pngPath, icoPath, rowPath, rowPNGPath,
	iconPath, searchPath, suggestPath, packsPath, packPath, verifyPath,
	openapiPath, releasePath, namesPath, iconifyPath, healthPath},
	slices.Collect(maps.Values(pages))...)

// fixed maps an address to its endpoint, if that has only one address. Routes lists the values of
// Route.
var fixed, Routes = index(endpoints)

func index(all []*endpoint) (fixed map[string]*endpoint, routes []string) {
	fixed = map[string]*endpoint{}
	for _, e := range all {
		if !slices.Contains(routes, e.name) {
			routes = append(routes, e.name)
		}
		if !strings.Contains(e.pattern, "{") {
			fixed[e.pattern] = e
		}
	}
	return fixed, append(routes, unknownRoute)
}

// A route is an endpoint with the variable parts of the path.
type route struct {
	*endpoint
	ref     icon.Ref          // as in the path, not validated
	iconify addresses.Address // with iconifyPath
	file    string            // of a page of the site: the last segment of the path
}

// maxURL is the longest address in bytes. RFC 9110, section 4.1 requires at least 8000. An edge
// escapes the malformed names of icon data, so that those addresses may be three times as long.
const (
	maxURL     = 8 << 10
	maxIconify = 4 * maxURL
)

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
	if n := len(path) + len(r.URL.RawQuery); n > maxURL && (n > maxIconify || !strings.HasPrefix(path, addresses.Mount+"/")) {
		return route{}, problem.New(http.StatusRequestURITooLong, "the address may have at most 8192 bytes")
	}
	if malformed(path) {
		return route{}, problem.New(http.StatusBadRequest,
			"the path is malformed: it must start with a slash, without percent-escapes, empty segments, . or ..")
	}
	rt, ok := findRoute(path)
	if !ok {
		return route{}, nothingHere()
	}
	return rt, nil
}

func nothingHere() error {
	return problem.NotFound("there is nothing at this path; icons are at /{pack}/{name}.svg, and /api/v1/openapi.json " +
		"describes the other addresses")
}

func malformed(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "%") {
		return true
	}
	for rest, more := path[1:], true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		if segment == "." || segment == ".." || segment == "" && more {
			return true
		}
	}
	return false
}

// findRoute finds the route of a well-formed path.
func findRoute(path string) (route, bool) {
	if e, ok := fixed[path]; ok {
		return route{endpoint: e}, true
	}
	if a, ok := addresses.Find(path, false); ok {
		return route{endpoint: iconifyPath, ref: icon.Ref{Pack: a.Prefix, Name: a.Name}, iconify: a}, true
	}
	if strings.HasPrefix(path, addresses.Mount+"/") {
		return route{}, false
	}
	if call, ok := strings.CutPrefix(path, "/api/v1/"); ok {
		return findCall(call)
	}
	pack, file, _ := strings.Cut(path[1:], "/")
	dot := strings.LastIndexByte(file, '.')
	if pack == "" || dot < 1 || strings.Contains(file, "/") || files[file[dot:]] == nil {
		return findPage(path)
	}
	return route{endpoint: files[file[dot:]], ref: icon.Ref{Pack: pack, Name: file[:dot]}}, true
}

// files has the endpoints of the files of an icon, by the end of their names.
var files = map[string]*endpoint{".svg": cdnPath, ".png": pngPath, ".ico": icoPath}

// findCall finds the route of a path with variable parts, from the part after /api/v1/.
func findCall(call string) (route, bool) {
	kind, rest, _ := strings.Cut(call, "/")
	pack, name, two := strings.Cut(rest, "/")
	switch {
	case kind == "packs" && !two && pack != "":
		return route{endpoint: packPath, ref: icon.Ref{Pack: pack}}, true
	case kind == "icon" && two && pack != "" && name != "" && !strings.Contains(name, "/"):
		return route{endpoint: iconPath, ref: icon.Ref{Pack: pack, Name: name}}, true
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
