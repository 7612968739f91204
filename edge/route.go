package edge

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// A class is a group of routes that share a rate limit.
type class uint8

const (
	classNone class = iota // never limited
	classSearch
	classIcon
	classPacks
	classVerify
	classCDN
	classes // the number of classes
)

var classNames = [classes]string{"none", "search", "icon", "packs", "verify", "cdn"}

func (c class) String() string { return classNames[c] }

// classNamed returns the class of that name; classNone if no class with a limit has it.
func classNamed(name string) class {
	for c := classSearch; c < classes; c++ {
		if c.String() == name {
			return c
		}
	}
	return classNone
}

// A route is a kind of address. Metrics and logs use it as a label.
type route uint8

const (
	routeUnknown route = iota // no endpoint has the address, or the request was not parsed
	routeCDN
	routeIcon
	routeSearch
	routeSuggest
	routePacks
	routePack
	routeOpenAPI
	routeVerify
	routeRelease
	routeNames
	routePage
	routeHealth
	routeForwarded // an address that the edge forwards (--proxy-all)
	routePreflight // an OPTIONS request, for any address
	routes         // the number of routes
)

var routeLabels = [routes]string{"unknown", "cdn", "icon", "search", "suggest", "packs", "pack", "openapi", "verify", "release", "names",
	"page", "health", "forwarded", "preflight"}

func (r route) String() string { return routeLabels[r] }

// routeClasses has the classes of the routes that can be limited.
var routeClasses = [routes]class{routeCDN: classCDN, routeIcon: classIcon, routeSearch: classSearch, routeSuggest: classSearch,
	routePacks: classPacks, routePack: classPacks, routeNames: classPacks, routeVerify: classVerify}

func (r route) class() class { return routeClasses[r] }

// licensed reports whether a licence token can be required for the routes of c.
func (c class) licensed() bool { return c == classSearch || c == classIcon || c == classPacks }

// A form is the kind of body that a colour is put into.
type form uint8

const (
	formOther   form = iota // cannot be coloured
	formDrawing             // an SVG
	formAnswer              // JSON that contains an SVG
)

// A target is the canonical form of a request's path and query. All spellings of one target have
// the same key, and different targets have different keys.
type target struct {
	key   string     // the cache key and the address at the origin, without the colour
	color icon.Color // applied to the response, if the origin marks the icon as monochrome
	form  form
	name  string // of the icon in the current release, or of the pack; empty: neither
}

// colored returns the address at which the origin itself colours the icon, for origins of other
// software.
func (t target) colored() string {
	sep := "?"
	if strings.Contains(t.key, "?") {
		sep = "&"
	}
	return t.key + sep + "color=%23" + string(t.color[1:])
}

// A parser parses the path and the raw query of a route. Its errors are problems for the client.
type parser func(path, query string) (target, error)

// wellFormedPath reports whether a path may be parsed by a route. It has no empty segments, no dot
// segments, no backslashes, and only printable ASCII bytes. It has nothing percent-encoded, because
// no name here needs it, and %2f or %2e would give one resource two names.
func wellFormedPath(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c <= ' ', c >= 0x7f, c == '%', c == '\\':
			return false
		case c == '/' && !wellFormedSegment(path[i+1:]):
			return false
		}
	}
	return true
}

// wellFormedSegment reports whether the segment at the start of rest, which follows a slash, is
// neither a dot segment nor empty. The last segment may be empty.
func wellFormedSegment(rest string) bool {
	segment, _, more := strings.Cut(rest, "/")
	return segment != "." && segment != ".." && (segment != "" || !more)
}

// parseCDN parses /{pack}/{name}.svg. The parameter release selects the SVG of one release.
func parseCDN(path, query string) (target, error) {
	name, ok := strings.CutSuffix(path[1:], ".svg")
	if !ok {
		return target{}, notHere()
	}
	ref, err := icon.ParseRef(name)
	if err != nil {
		return target{}, problem.NotFound(icon.ErrRef.Error())
	}
	p, err := icon.ParseQuery(query, cdnParams...)
	if err != nil {
		return target{}, err
	}
	t, err := drawing(ref, p)
	if err != nil {
		return target{}, err
	}
	release, given := p["release"]
	if !given {
		return t, nil
	}
	if !releaseID(release) {
		return target{}, problem.NotFound("no stored release has that id; without release you get the current SVG")
	}
	t.name = "" // the list of names covers only the current release
	if strings.Contains(t.key, "?") {
		t.key += "&release=" + release
	} else {
		t.key += "?release=" + release
	}
	return t, nil
}

var (
	cdnParams  = append([]string{"release"}, icon.VariantParams...)
	iconParams = append([]string{"format"}, icon.VariantParams...)
)

// releaseID reports whether s has the shape of a release's id.
func releaseID(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return len(s) == 32
}

// parseIcon parses /api/v1/icon/{pack}/{name}. With format=svg the response is that of the CDN
// path, byte for byte, so the two share a cache entry.
func parseIcon(path, query string) (target, error) {
	ref, err := icon.ParseRef(strings.TrimPrefix(path, iconPath))
	if err != nil {
		return target{}, problem.NotFound(icon.ErrRef.Error())
	}
	p, err := icon.ParseQuery(query, iconParams...)
	if err != nil {
		return target{}, err
	}
	format, given := p["format"]
	if given && format != "json" && format != "svg" {
		return target{}, problem.BadParameter("format", "format must be json or svg")
	}
	t, err := drawing(ref, p)
	if err == nil && format != "svg" {
		t.key = iconPath + ref.String() + strings.TrimPrefix(t.key, "/"+ref.String()+".svg")
		t.form = formAnswer
	}
	return t, err
}

// The key of an icon's SVG is its CDN path, with the variant as the query.
func drawing(ref icon.Ref, p icon.Params) (target, error) {
	color, err := icon.ParamColor(p)
	if err != nil {
		return target{}, err
	}
	v, err := icon.ParseVariant(p)
	if err != nil {
		return target{}, err
	}
	key := "/" + ref.String() + ".svg"
	if q := v.Query(); q != "" {
		key += "?" + q
	}
	return target{key: key, color: color, form: formDrawing, name: ref.String()}, nil
}

const (
	apiPath       = "/api/v1/"
	iconPath      = apiPath + "icon/"
	packsPath     = "/api/v1/packs"
	searchPath    = "/api/v1/search"
	suggestPath   = "/api/v1/suggest"
	openAPIPath   = "/api/v1/openapi.json"
	verifyPath    = "/api/v1/auth/verify"
	releasePath   = "/-/release"
	namesPath     = "/-/names"
	healthPath    = "/healthz"
	maxVerifyBody = 4 << 10 // bytes
)

// parseText returns the text q in canonical form, so that all spellings of a query share an entry.
// It must have 1 to 200 characters.
func parseText(p icon.Params) (string, error) {
	q := strings.TrimSpace(p["q"])
	if n := utf8.RuneCountInString(q); n < 1 || n > icon.MaxText {
		return "", problem.BadParameter("q", "q must have 1 to 200 characters, not counting spaces around them")
	}
	return icon.CanonicalQuery(q), nil
}

// parseSuggest parses /api/v1/suggest.
func parseSuggest(_, query string) (target, error) {
	p, err := icon.ParseQuery(query, "q")
	if err != nil {
		return target{}, err
	}
	q, err := parseText(p)
	if err != nil {
		return target{}, err
	}
	var b address
	b.add("q", q)
	return target{key: b.of(suggestPath)}, nil
}

// parseSearch parses /api/v1/search.
func parseSearch(_, query string) (target, error) {
	p, err := icon.ParseQuery(query, "q", "limit", "offset", "pack", "style", "category", "license", "commercial")
	if err != nil {
		return target{}, err
	}
	q, err := parseText(p)
	if err != nil {
		return target{}, err
	}
	var b address
	if err := b.addFilters(p); err != nil {
		return target{}, err
	}
	limit, err := p.Int("limit", 1, icon.MaxLimit, icon.DefaultLimit)
	if err != nil {
		return target{}, err
	}
	offset, err := p.Int("offset", 0, icon.MaxOffset, 0)
	if err != nil {
		return target{}, err
	}
	pack, err := p.Key("pack")
	if err != nil {
		return target{}, err
	}
	b.addInt("limit", limit, icon.DefaultLimit)
	b.addInt("offset", offset, 0)
	b.add("pack", pack)
	b.add("q", q)
	b.add("style", p["style"])
	return target{key: b.of(searchPath)}, nil
}

// parsePacks parses /api/v1/packs.
func parsePacks(_, query string) (target, error) {
	p, err := icon.ParseQuery(query, "category", "license", "commercial")
	if err != nil {
		return target{}, err
	}
	var b address
	if err := b.addFilters(p); err != nil {
		return target{}, err
	}
	return target{key: b.of(packsPath)}, nil
}

// parsePack parses /api/v1/packs/{pack}.
func parsePack(path, query string) (target, error) {
	pack := strings.TrimPrefix(path, packsPath+"/")
	if !icon.ValidKey(pack) {
		return target{}, problem.NotFound("there is no such pack: keys have lower-case letters, digits and single hyphens")
	}
	p, err := icon.ParseQuery(query, "page", "per_page")
	if err != nil {
		return target{}, err
	}
	page, err := p.Int("page", 1, icon.MaxPage, icon.DefaultPage)
	if err != nil {
		return target{}, err
	}
	perPage, err := p.Int("per_page", 1, icon.MaxOnPage, icon.DefaultOnPage)
	if err != nil {
		return target{}, err
	}
	var b address
	b.addInt("page", page, icon.DefaultPage)
	b.addInt("per_page", perPage, icon.DefaultOnPage)
	return target{key: b.of(path), name: pack}, nil
}

// parseRelease parses /-/release, from which other edges learn what a release has changed.
func parseRelease(_, query string) (target, error) {
	p, err := icon.ParseQuery(query, "since")
	if err != nil {
		return target{}, err
	}
	var b address
	if since := p["since"]; releaseID(since) { // the origin treats any other value like no value
		b.add("since", since)
	}
	return target{key: b.of(releasePath)}, nil
}

// parseNames parses /-/names, from which other edges learn which icons a release has.
func parseNames(_, query string) (target, error) {
	p, err := icon.ParseQuery(query, "release")
	if err != nil {
		return target{}, err
	}
	if !releaseID(p["release"]) {
		return target{}, problem.BadParameter("release", "release must be an id that /-/release returned")
	}
	var b address
	b.add("release", p["release"])
	return target{key: b.of(namesPath)}, nil
}

// parsePlain parses the address of a route that has no parameters.
func parsePlain(path, _ string) (target, error) { return target{key: path}, nil }

// An address builds a canonical query. The caller adds the parameters in alphabetical order.
type address struct{ query []string }

func (b *address) add(name, value string) {
	if value != "" {
		b.query = append(b.query, name+"="+url.QueryEscape(value))
	}
}

func (b *address) addInt(name string, value, unless int) {
	if value != unless {
		b.query = append(b.query, name+"="+strconv.Itoa(value))
	}
}

// addFilters adds the parameters that filter packs, in lists of packs and in searches.
func (b *address) addFilters(p icon.Params) error {
	commercial, err := p.Bool("commercial")
	if err != nil {
		return err
	}
	b.add("category", p["category"])
	if commercial {
		b.add("commercial", "true")
	}
	b.add("license", p["license"])
	return nil
}

func (b *address) of(path string) string {
	if len(b.query) == 0 {
		return path
	}
	return path + "?" + strings.Join(b.query, "&")
}

func notHere() *problem.Problem {
	return problem.NotFound("nothing is at this address; the page at / lists the addresses")
}
