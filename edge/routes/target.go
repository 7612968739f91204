package routes

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/icon/spelling"
	"github.com/iconedge/iconedge/internal/problem"
)

// A Form is the kind of body that a colour is put into.
type Form uint8

// The forms.
const (
	FormOther Form = iota // cannot be coloured
	FormSVG               // an SVG
	FormPaint             // an SVG with a translucent colour, which Iconify writes as a paint
	FormJSON              // JSON that contains an SVG
)

// A Target is the canonical form of a request's path and query. All spellings of one target have
// the same key, and different targets have different keys.
type Target struct {
	Key   string     // the cache key and the address at the origin, without the colour
	Color icon.Color // applied to the response, if the origin marks the icon as monochrome
	Form  Form
	Name  string // of the icon in the current release, or of the pack; empty: neither
	// Icons is a request of Iconify's API for the data of icons, a script or a stylesheet, which
	// the edge answers from pieces; nil: it is another one.
	Icons *iconify.Request
	// Foreign is the client's own address at an origin of other software, which knows no canonical
	// form; empty: it is Key.
	Foreign string
	Address string // at the origin; empty: Key
	// Spelling is the icon as the client spelled it, if that is no valid name. The target is that
	// of the mended name, and holds only if the list of names has the spelling.
	Spelling string
}

// AtForeign returns the target for an origin of other software: the client's own address, of which
// the cache key has every byte.
func (t Target) AtForeign() Target {
	if t.Foreign == "" {
		return t
	}
	return Target{Key: iconify.Mount + t.Foreign, Address: t.Foreign}
}

// Colored returns the address at which the origin itself colours the icon, for origins of other
// software.
func (t Target) Colored() string {
	sep := "?"
	if strings.Contains(t.Key, "?") {
		sep = "&"
	}
	return t.Key + sep + "color=%23" + string(t.Color[1:])
}

// A parser parses the path and the raw query of a route. Its errors are problems for the client.
type parser func(path, query string) (Target, error)

// WellFormedPath reports whether a path may be parsed by a route. It has no empty segments, no dot
// segments, no backslashes, and only printable ASCII bytes. It has nothing percent-encoded, because
// no name here needs it, and %2f or %2e would give one resource two names.
func WellFormedPath(path string) bool {
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
func parseCDN(path, query string) (Target, error) {
	if isPicture(path) {
		return parsePicture(path, query)
	}
	name, ok := strings.CutSuffix(path[1:], ".svg")
	if !ok {
		return parseIconify(path, query, false)
	}
	ref, spelled, err := parseName(name)
	if err != nil {
		return Target{}, err
	}
	p, err := icon.ParseQuery(query, cdnParams...)
	if err != nil {
		return Target{}, err
	}
	color, err := icon.ParamCSSColor(p)
	if err != nil {
		return Target{}, err
	}
	v, err := icon.ParseCDNVariant(p)
	if err != nil {
		return Target{}, err
	}
	t := svgTarget(ref, color, v)
	t.Spelling = spelled
	return t.ofRelease(p)
}

// ofRelease returns the target in the release that the parameter release names, if it is given.
func (t Target) ofRelease(p icon.Params) (Target, error) {
	release, given := p["release"]
	if !given {
		return t, nil
	}
	if !ValidRelease(release) {
		return Target{}, problem.NotFound("no stored release has that id; without release you get the current icon")
	}
	t.Name = "" // the list of names covers only the current release
	if strings.Contains(t.Key, "?") {
		t.Key += "&release=" + release
	} else {
		t.Key += "?release=" + release
	}
	return t, nil
}

var (
	cdnParams  = append([]string{"release"}, icon.CDNParams...)
	iconParams = append([]string{"format"}, icon.VariantParams...)
)

// ValidRelease reports whether s has the shape of a release's id, or of its state: the id, followed
// by a hyphen and 16 digits if icons are withdrawn.
func ValidRelease(s string) bool {
	id, withdrawn, some := strings.Cut(s, "-")
	return isHex(id, 32) && (!some || isHex(withdrawn, 16))
}

func isHex(s string, digits int) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return len(s) == digits
}

// parseIcon parses /api/v1/icon/{pack}/{name}. With format=svg the response is that of the CDN
// path, byte for byte, so the two share a cache entry.
func parseIcon(path, query string) (Target, error) {
	ref, spelled, err := parseName(strings.TrimPrefix(path, IconPath))
	if err != nil {
		return Target{}, err
	}
	p, err := icon.ParseQuery(query, iconParams...)
	if err != nil {
		return Target{}, err
	}
	format, err := icon.ParamFormat(p)
	if err != nil {
		return Target{}, err
	}
	if format == icon.FormatPNG {
		d, err := icon.ParsePicture(p, icon.ParamColor)
		t := pictureTarget(ref, ".png", d.Query())
		t.Spelling = spelled
		return t, err
	}
	t, err := parseSVG(ref, p)
	if err == nil && format == icon.FormatJSON {
		t.Key = IconPath + ref.String() + strings.TrimPrefix(t.Key, "/"+ref.String()+".svg")
		t.Form = FormJSON
	}
	t.Spelling = spelled
	return t, err
}

// parseName reads the pack and the name of an icon in a path. A name that is not valid, and may be
// percent-encoded, is mended; spelled is then how it was spelled, decoded.
func parseName(s string) (ref icon.Ref, spelled string, err error) {
	if ref, err = icon.ParseRef(s); err == nil {
		return ref, "", nil
	}
	pack, name, _ := strings.Cut(s, "/")
	refusal := problem.NotFound(icon.ErrRef.Error())
	if strings.Contains(s, "%") {
		refusal = Malformed()
		if name, err = url.PathUnescape(name); err != nil {
			return icon.Ref{}, "", refusal
		}
	}
	mended := spelling.Mend(name)
	if !icon.ValidKey(pack) || !icon.ValidSpelling(name) || mended == "" {
		return icon.Ref{}, "", refusal
	}
	return icon.Ref{Pack: pack, Name: mended}, pack + "/" + name, nil
}

// Misspelt returns the answer to a request for a spelling that the list of names does not have: the
// names that the client may mean, the mended one first.
func Misspelt(path string, near []string) *problem.Problem {
	if strings.Contains(path, "%") {
		return Malformed()
	}
	return problem.NotFound(icon.ErrRef.Error(), near...)
}

// parseSVG parses the parameters of an SVG. Its key is its CDN path, with the variant as the query.
func parseSVG(ref icon.Ref, p icon.Params) (Target, error) {
	color, err := icon.ParamColor(p)
	if err != nil {
		return Target{}, err
	}
	v, err := icon.ParseVariant(p)
	if err != nil {
		return Target{}, err
	}
	return svgTarget(ref, color, v), nil
}

func svgTarget(ref icon.Ref, color icon.Color, v icon.Variant) Target {
	t := Target{Key: "/" + ref.String() + ".svg", Color: color, Form: FormSVG, Name: ref.String()}
	q := v.Query()
	if v.Dark != "" { // the origin writes the rule that has both colours
		t.Color, q = "", v.ColoredQuery(color)
	}
	if q != "" {
		t.Key += "?" + q
	}
	return t
}

// IsRow reports whether a path is that of several icons in one picture.
func IsRow(path string) bool { return path == rowPath || path == rowPNGPath }

// rowParams are the parameters of several icons in one picture.
var rowParams = append([]string{"release"}, icon.RowParams...)

// rowParser returns the parser of a row, which read reads. The origin paints it, so the key has the
// colours.
func rowParser(read func(icon.Params) (icon.Row, error)) parser {
	return func(path, query string) (Target, error) {
		p, err := icon.ParseQuery(query, rowParams...)
		if err != nil {
			return Target{}, err
		}
		row, err := read(p)
		if err != nil {
			return Target{}, err
		}
		return Target{Key: path + "?" + row.Query()}.ofRelease(p)
	}
}

var (
	pictureParams = append([]string{"release"}, icon.PictureParams...)
	faviconParams = append([]string{"release"}, icon.FaviconParams...)
)

// parsePicture parses /{pack}/{name}.png and .ico. The origin draws the icon in the colour that the
// request names, so the key has the colour.
func parsePicture(path, query string) (Target, error) {
	end := path[len(path)-len(".png"):]
	ref, spelled, err := parseName(strings.TrimSuffix(path[1:], end))
	if err != nil {
		return Target{}, err
	}
	known, read := pictureParams, func(p icon.Params) (string, error) {
		d, err := icon.ParsePicture(p, icon.ParamCSSColor)
		return d.Query(), err
	}
	if end == ".ico" {
		known, read = faviconParams, func(p icon.Params) (string, error) {
			d, err := icon.ParseFavicon(p)
			return d.FaviconQuery(), err
		}
	}
	p, err := icon.ParseQuery(query, known...)
	if err != nil {
		return Target{}, err
	}
	canonical, err := read(p)
	if err != nil {
		return Target{}, err
	}
	t := pictureTarget(ref, end, canonical)
	t.Spelling = spelled
	return t.ofRelease(p)
}

func pictureTarget(ref icon.Ref, end, query string) Target {
	key := "/" + ref.String() + end
	if query != "" {
		key += "?" + query
	}
	return Target{Key: key, Name: ref.String()}
}

// IsPublished reports whether a cache key is that of an icon as it is published, without a colour
// or another form.
func IsPublished(key string) bool {
	path, query, _ := strings.Cut(key, "?")
	return strings.HasSuffix(path, ".svg") && !strings.HasPrefix(path, "/-/") &&
		(query == "" || strings.HasPrefix(query, "release=") && !strings.Contains(query, "&"))
}

// Paths of endpoints.
const (
	APIPath     = "/api/v1/"
	IconPath    = APIPath + "icon/"
	packsPath   = "/api/v1/packs"
	searchPath  = "/api/v1/search"
	suggestPath = "/api/v1/suggest"
	OpenAPIPath = "/api/v1/openapi.json"
	VerifyPath  = "/api/v1/auth/verify"
	ReleasePath = "/-/release"
	NamesPath   = "/-/names"
	HealthPath  = "/healthz"
	rowPath     = "/-/row.svg"
	rowPNGPath  = "/-/row.png"
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
func parseSuggest(_, query string) (Target, error) {
	p, err := icon.ParseQuery(query, "q")
	if err != nil {
		return Target{}, err
	}
	q, err := parseText(p)
	if err != nil {
		return Target{}, err
	}
	var b address
	b.add("q", q)
	return Target{Key: b.of(suggestPath)}, nil
}

// parseSearch parses /api/v1/search.
func parseSearch(_, query string) (Target, error) {
	p, err := icon.ParseQuery(query, "q", "limit", "offset", "pack", "style", "category", "license", "commercial", "stroke",
		"similar", "explain")
	if err != nil {
		return Target{}, err
	}
	similar, err := icon.ParamSimilar(p)
	if err != nil {
		return Target{}, err
	}
	q := ""
	if similar == (icon.Ref{}) {
		if q, err = parseText(p); err != nil {
			return Target{}, err
		}
	}
	explain, err := p.Bool("explain")
	if err != nil {
		return Target{}, err
	}
	stroked, err := p.Bool("stroke")
	if err != nil {
		return Target{}, err
	}
	var b address
	if err := b.addFilters(p); err != nil {
		return Target{}, err
	}
	limit, err := p.Int("limit", 1, icon.MaxLimit, icon.DefaultLimit)
	if err != nil {
		return Target{}, err
	}
	offset, err := p.Int("offset", 0, icon.MaxOffset, 0)
	if err != nil {
		return Target{}, err
	}
	pack, err := p.Key("pack")
	if err != nil {
		return Target{}, err
	}
	b.addInt("limit", limit, icon.DefaultLimit)
	b.addInt("offset", offset, 0)
	b.add("pack", pack)
	b.add("q", q)
	if similar != (icon.Ref{}) {
		b.add("similar", similar.String())
	}
	b.add("style", p["style"])
	if stroked {
		b.add("stroke", "true")
	}
	if explain { // the origin's response is no-store, so the edge stores nothing under this key
		b.add("explain", "true")
	}
	return Target{Key: b.of(searchPath)}, nil
}

// parsePacks parses /api/v1/packs.
func parsePacks(_, query string) (Target, error) {
	p, err := icon.ParseQuery(query, "category", "license", "commercial")
	if err != nil {
		return Target{}, err
	}
	var b address
	if err := b.addFilters(p); err != nil {
		return Target{}, err
	}
	return Target{Key: b.of(packsPath)}, nil
}

// parsePack parses /api/v1/packs/{pack}.
func parsePack(path, query string) (Target, error) {
	pack := strings.TrimPrefix(path, packsPath+"/")
	if !icon.ValidKey(pack) {
		return Target{}, problem.NotFound("there is no such pack: keys have lower-case letters, digits and single hyphens")
	}
	p, err := icon.ParseQuery(query, "page", "per_page")
	if err != nil {
		return Target{}, err
	}
	page, err := p.Int("page", 1, icon.MaxPage, icon.DefaultPage)
	if err != nil {
		return Target{}, err
	}
	perPage, err := p.Int("per_page", 1, icon.MaxOnPage, icon.DefaultOnPage)
	if err != nil {
		return Target{}, err
	}
	var b address
	b.addInt("page", page, icon.DefaultPage)
	b.addInt("per_page", perPage, icon.DefaultOnPage)
	return Target{Key: b.of(path), Name: pack}, nil
}

// parseRelease parses /-/release, from which other edges learn what a release has changed.
func parseRelease(_, query string) (Target, error) {
	p, err := icon.ParseQuery(query, "since")
	if err != nil {
		return Target{}, err
	}
	var b address
	if since := p["since"]; ValidRelease(since) { // the origin treats any other value like no value
		b.add("since", since)
	}
	return Target{Key: b.of(ReleasePath)}, nil
}

// parseNames parses /-/names, from which other edges learn which icons a release has.
func parseNames(_, query string) (Target, error) {
	p, err := icon.ParseQuery(query, "release")
	if err != nil {
		return Target{}, err
	}
	if !ValidRelease(p["release"]) {
		return Target{}, problem.BadParameter("release", "release must be an id that /-/release returned")
	}
	var b address
	b.add("release", p["release"])
	return Target{Key: b.of(NamesPath)}, nil
}

// parsePlain parses the address of a route that has no parameters.
func parsePlain(path, _ string) (Target, error) { return Target{Key: path}, nil }

// An address builds a canonical query, in which the parameters are in alphabetical order.
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
	slices.Sort(b.query)
	return path + "?" + strings.Join(b.query, "&")
}

// Malformed returns the 400 for a malformed path. No cache may store it, because the next request
// for the same address may be well-formed.
func Malformed() *problem.Problem {
	return problem.New(http.StatusBadRequest, "the address is malformed: paths here consist of lower-case letters, "+
		"digits, hyphens, dots and single slashes, without percent-encoding").
		With("Cache-Control", "no-store")
}

// NotFound returns the 404 for an address that has no endpoint.
func NotFound() *problem.Problem {
	return problem.NotFound("nothing is at this address; the page at / lists the addresses")
}
