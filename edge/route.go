package edge

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// A class is a kind of calls that share a limit.
type class uint8

const (
	classNone class = iota // never limited
	classSearch
	classIcon
	classPacks
	classVerify
	classCDN
	classes // how many there are
)

var classNames = [classes]string{"none", "search", "icon", "packs", "verify", "cdn"}

func (c class) String() string { return classNames[c] }

// classNamed is the class of a name; classNone, if none that can be limited is called so.
func classNamed(name string) class {
	for c := classSearch; c < classes; c++ {
		if c.String() == name {
			return c
		}
	}
	return classNone
}

// A route is a kind of address, as metrics tell them apart.
type route uint8

const (
	routeUnknown route = iota // an address that there is not, or what could not be read so far
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
	routeForwarded // any that is none of ours (--proxy-all)
	routePreflight // an OPTIONS, wherever it is for
	routes         // how many there are
)

var routeLabels = [routes]string{"unknown", "cdn", "icon", "search", "suggest", "packs", "pack", "openapi", "verify", "release", "names",
	"page", "health", "forwarded", "preflight"}

func (r route) String() string { return routeLabels[r] }

// routeClasses are the classes of routes that have one.
var routeClasses = [routes]class{routeCDN: classCDN, routeIcon: classIcon, routeSearch: classSearch, routeSuggest: classSearch,
	routePacks: classPacks, routePack: classPacks, routeNames: classPacks, routeVerify: classVerify}

func (r route) class() class { return routeClasses[r] }

// licensed reports whether the calls of c are those that a licence token is for.
func (c class) licensed() bool { return c == classSearch || c == classIcon || c == classPacks }

// A form says what a colour is put into.
type form uint8

const (
	formOther   form = iota // nothing that could be coloured
	formDrawing             // an SVG
	formAnswer              // JSON with an SVG in it
)

// A target is what a call asks for, in canonical form: all spellings of it give the same key, and no other call does.
type target struct {
	key   string     // the address that the origin is asked for, and the name of the entry; without the colour
	color icon.Color // put in on the way out, where the origin says that it can be
	form  form
	name  string // of the icon in the current release, or of the pack; empty: neither
}

// colored is the address by which the origin itself is asked for the colour, for origins that are not ours.
func (t target) colored() string {
	sep := "?"
	if strings.Contains(t.key, "?") {
		sep = "&"
	}
	return t.key + sep + "color=%23" + string(t.color[1:])
}

// A parser reads the path and the raw query of a route. Its errors are answers.
type parser func(path, query string) (target, error)

// wellFormed reports whether a path is one that a route may look at: one slash at a time, no segments of dots, nothing
// percent-encoded (no name here needs it, and %2f or %2e would give one thing two names), no control or other odd bytes.
func wellFormed(path string) bool {
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

// wellFormedSegment looks at what a path goes on with after a slash: not at once with another one, nor with dots alone.
func wellFormedSegment(rest string) bool {
	segment, _, more := strings.Cut(rest, "/")
	return segment != "." && segment != ".." && (segment != "" || !more)
}

// parseCDN reads /{pack}/{name}.svg. release asks for the drawing of one release.
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
		return target{}, problem.NotFound("no release of that id is kept; without release you get the current drawing")
	}
	t.name = "" // the list tells of the current release alone
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

// parseIcon reads /api/v1/icon/{pack}/{name}. With format=svg it is the CDN path, byte for byte, and shares its entry.
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

// drawing is the target of an icon's SVG.
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

// parseText reads q: 1 to 200 characters in their canonical form, so that all spellings of a query share an entry.
func parseText(p icon.Params) (string, error) {
	q := strings.TrimSpace(p["q"])
	if n := utf8.RuneCountInString(q); n < 1 || n > icon.MaxText {
		return "", problem.BadParameter("q", "q must have 1 to 200 characters, not counting spaces around it")
	}
	return icon.CanonicalQuery(q), nil
}

// parseSuggest reads /api/v1/suggest.
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

// parseSearch reads /api/v1/search.
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

// parsePacks reads /api/v1/packs.
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

// parsePack reads /api/v1/packs/{pack}.
func parsePack(path, query string) (target, error) {
	pack := strings.TrimPrefix(path, packsPath+"/")
	if !icon.ValidKey(pack) {
		return target{}, problem.NotFound("no such pack: a pack's key is of lower-case letters, digits and single hyphens")
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

// parseRelease reads /-/release, by which other edges ask what has changed.
func parseRelease(_, query string) (target, error) {
	p, err := icon.ParseQuery(query, "since")
	if err != nil {
		return target{}, err
	}
	var b address
	if since := p["since"]; releaseID(since) { // of anything else the origin knows nothing, as of none
		b.add("since", since)
	}
	return target{key: b.of(releasePath)}, nil
}

// parseNames reads /-/names, by which other edges learn which icons there are in a release.
func parseNames(_, query string) (target, error) {
	p, err := icon.ParseQuery(query, "release")
	if err != nil {
		return target{}, err
	}
	if !releaseID(p["release"]) {
		return target{}, problem.BadParameter("release", "release must be the id that /-/release tells")
	}
	var b address
	b.add("release", p["release"])
	return target{key: b.of(namesPath)}, nil
}

// parsePlain reads a route without parameters.
func parsePlain(path, _ string) (target, error) { return target{key: path}, nil }

// An address collects the parameters of a canonical query, in the order in which they are added: that of the alphabet.
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

// addFilters adds those by which packs are chosen, of lists of packs and of searches.
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
	return problem.NotFound("there is nothing at this address; the page at / names what there is")
}
