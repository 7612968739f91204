package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
	"github.com/iconedge/iconedge/internal/problem"
)

// apiVersion is the version of the description. It must change with every change that a client
// could notice.
const apiVersion = "1.7.0"

// The parts of an OpenAPI 3.1 document that Document uses.
type (
	document struct {
		OpenAPI    string              `json:"openapi"`
		Info       info                `json:"info"`
		Servers    []server            `json:"servers"`
		Security   []security          `json:"security"` // none
		Tags       []tag               `json:"tags"`
		Paths      map[string]pathItem `json:"paths"`
		Components components          `json:"components"`
	}
	info struct {
		Title       string            `json:"title"`
		Version     string            `json:"version"`
		Description string            `json:"description"`
		License     map[string]string `json:"license"`
	}
	server struct {
		URL         string `json:"url"`
		Description string `json:"description"`
	}
	security map[string][]string // scopes by scheme; this service has none
	tag      struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	pathItem struct {
		Get  *operation `json:"get,omitempty"`
		Post *operation `json:"post,omitempty"`
	}
	operation struct {
		OperationID string              `json:"operationId"`
		Summary     string              `json:"summary"`
		Description string              `json:"description,omitempty"`
		Tags        []string            `json:"tags"`
		Security    []security          `json:"security,omitempty"`
		Parameters  []parameter         `json:"parameters,omitempty"`
		Body        *content            `json:"requestBody,omitempty"`
		Responses   map[string]response `json:"responses"`
	}
	parameter struct {
		Name        string  `json:"name"`
		In          string  `json:"in"`
		Description string  `json:"description"`
		Required    bool    `json:"required,omitempty"`
		Schema      *schema `json:"schema"`
	}
	response struct {
		Ref string `json:"$ref,omitempty"`
		*content
	}
	content struct {
		Description string           `json:"description"`
		Required    bool             `json:"required,omitempty"`
		Content     map[string]media `json:"content,omitempty"`
	}
	media struct {
		Schema *schema `json:"schema"`
	}
	components struct {
		Schemas         map[string]*schema        `json:"schemas"`
		Responses       map[string]response       `json:"responses"`
		SecuritySchemes map[string]securityScheme `json:"securitySchemes"`
	}
	securityScheme struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
)

// VerifyCall is the body of POST /api/v1/auth/verify.
type VerifyCall struct {
	Token string `json:"token"`
}

// Document describes every address in OpenAPI 3.1, from the Go types of the answers. address is the
// server's address.
func Document(address string) any {
	d := document{
		OpenAPI: "3.1.1",
		Info: info{
			Title: "Iconedge", Version: apiVersion,
			Description: "Open-source icon sets: search them, read the metadata of each icon, and use it in a page from one address.",
			License:     map[string]string{"name": "Apache 2.0", "identifier": "Apache-2.0"},
		},
		Servers:  []server{{address, "This service"}},
		Security: []security{},
		Tags: []tag{
			{"icons", "Icons and their metadata."}, {"packs", "Sets of icons with one licence."},
			{"licences", "Licence tokens."}, {"service", "The service itself."},
		},
		Paths: map[string]pathItem{
			"/{pack}/{name}.svg": {Get: &operation{
				OperationID: "drawing", Summary: "An icon as SVG", Tags: []string{"icons"},
				Parameters: append(append(refParams(), cdnParams()...), releaseParam()),
				Responses:  answers("The icon.", typeSVG, &schema{Type: "string"}, "404", "410"),
			}},
			pngPath.pattern: {Get: &operation{
				OperationID: "picture", Summary: "An icon in pixels", Tags: []string{"icons"},
				Description: "For e-mail, office documents, messengers and others that take no SVG.",
				Parameters:  append(append(refParams(), pictureParams()...), releaseParam()),
				Responses:   answers("The icon as PNG.", typePNG, &schema{Type: "string", Format: "binary"}, "404", "410", "422"),
			}},
			icoPath.pattern: {Get: &operation{
				OperationID: "favicon", Summary: "An icon as a file for favicons, with 16, 32 and 48 pixels", Tags: []string{"icons"},
				Parameters: append(append(refParams(), faviconParams()...), releaseParam()),
				Responses:  answers("The icon file.", typeICO, &schema{Type: "string", Format: "binary"}, "404", "410", "422"),
			}},
			rowPath.pattern: {Get: &operation{
				OperationID: "row", Summary: "Several icons in one SVG, beside each other", Tags: []string{"icons"},
				Description: "Each icon is as at its own address with the same parameters. A comment and the field Link have the " +
					"licences. An unknown icon makes the row a 404 that names its position.",
				Parameters: append(rowParams(), darkParam(), releaseParam()),
				Responses:  answers("The row.", typeSVG, &schema{Type: "string"}, "404", "410"),
			}},
			rowPNGPath.pattern: {Get: &operation{
				OperationID: "rowPicture", Summary: "Several icons in one PNG, beside each other", Tags: []string{"icons"},
				Description: fmt.Sprintf("The row has at most %d pixels in a line, and %d in all.", icon.MaxRowSide, icon.MaxRowPixels),
				Parameters:  append(rowPictureParams(), releaseParam()),
				Responses:   answers("The row as PNG.", typePNG, &schema{Type: "string", Format: "binary"}, "404", "410", "422"),
			}},
			iconPath.pattern: {Get: &operation{
				OperationID: "icon", Summary: "An icon and its metadata", Tags: []string{"icons"},
				Parameters: append(append(refParams(), query("format", "json, or svg or png for the answer of the CDN path.",
					&schema{Type: "string", Enum: []any{icon.FormatJSON, icon.FormatSVG, icon.FormatPNG}, Default: json.RawMessage(`"json"`)})), variantParams()...),
				Responses: iconAnswers(refTo(icon.Answer{})),
			}},
			searchPath.pattern: {Get: &operation{
				OperationID: "search", Summary: "Icons by words, or similar to an icon", Tags: []string{"icons"},
				Parameters: searchParams(),
				Responses:  answers("The results.", typeJSON, refTo(icon.SearchAnswer{}), "404"),
			}},
			suggestPath.pattern: {Get: &operation{
				OperationID: "suggest", Summary: "Completions while typing", Tags: []string{"icons"}, Parameters: []parameter{queryText()},
				Responses: answers("At most 10 completions.", typeJSON, refTo(icon.SuggestAnswer{})),
			}},
			packsPath.pattern: {Get: &operation{
				OperationID: "packs", Summary: "All packs", Tags: []string{"packs"},
				Parameters: []parameter{
					query("category", "Packs of that kind.", &schema{Type: "string"}),
					query("license", "Packs with that licence: its SPDX identifier, or its heaviest obligation: "+
						obligationNames+".", &schema{Type: "string"}),
					query("commercial", "Packs whose licence allows commercial use.",
						&schema{Type: "boolean", Default: json.RawMessage("false")}),
				},
				Responses: answers("The packs, sorted by key.", typeJSON, refTo(icon.PacksAnswer{})),
			}},
			packPath.pattern: {Get: &operation{
				OperationID: "pack", Summary: "One pack and its icons", Tags: []string{"packs"},
				Parameters: []parameter{
					refParams()[0], query("page", "From 1.", number(1, icon.MaxPage, icon.DefaultPage)),
					query("per_page", "Icons on a page.", number(1, icon.MaxOnPage, icon.DefaultOnPage)),
				},
				Responses: answers("The pack.", typeJSON, refTo(icon.PackAnswer{}), "404", "410"),
			}},
			verifyPath.pattern: {Post: &operation{
				OperationID: "verify", Summary: "Whether a licence token is valid", Tags: []string{"licences"},
				Body: &content{Description: "At most 4 KiB.", Required: true,
					Content: map[string]media{typeJSON: {refTo(VerifyCall{})}}},
				Responses: answers("An invalid token gives valid: false and nothing else.", typeJSON, refTo(icon.VerifyAnswer{}), "415"),
			}},
			openapiPath.pattern: {Get: &operation{
				OperationID: "openapi", Summary: "This document", Tags: []string{"service"},
				Responses: answers("This document.", typeJSON, &schema{Type: "object"}),
			}},
			releasePath.pattern: {Get: &operation{
				OperationID: "release", Summary: "The current release, and the changes since another one", Tags: []string{"service"},
				Description: "For caches in front of this service.",
				Parameters:  []parameter{query("since", "The `state` to compare with.", &schema{Type: "string"})},
				Responses:   answers("The release.", typeJSON, refTo(icon.ReleaseAnswer{})),
			}},
			namesPath.pattern: {Get: &operation{
				OperationID: "names", Summary: "Which packs and icons a release has", Tags: []string{"service"},
				Description: "For caches in front of this service, in a form of its own.",
				Parameters:  []parameter{query("release", "The current `state`; another is a 404.", &schema{Type: "string"})},
				Responses:   answers("The names.", typeNames, &schema{Type: "string", Format: "binary"}, "404"),
			}},
			healthPath.pattern: {Get: &operation{
				OperationID: "health", Summary: "Whether the service is running", Tags: []string{"service"},
				Responses: answers("It is running.", "text/plain", &schema{Type: "string"}),
			}},
			archivePattern: {Get: &operation{
				OperationID: "bagArchive", Summary: "A ZIP archive of icons with LICENSES.md",
				Tags: []string{"icons"}, Parameters: []parameter{bagIcons()},
				Description: "The same icons give the same bytes, in any order. Errors are pages in HTML.",
				Responses:   answers("The archive.", "application/zip", &schema{Type: "string", Format: "binary"}, "404", "410"),
			}},
			spritePattern: {Get: &operation{
				OperationID: "bagSprite", Summary: "An SVG file with a symbol for each icon", Tags: []string{"icons"},
				Parameters: []parameter{bagIcons()},
				Description: "The id of a symbol is PACK-NAME. A comment has the licences. The same icons give the " +
					"same bytes, in any order. Errors are pages in HTML.",
				Responses: answers("The sprite.", typeSVG, &schema{Type: "string"}, "404", "410"),
			}},
			"/-/pack/{pack}/{kind}.zip": {Get: &operation{
				OperationID: "packArchive", Summary: "A ZIP archive of all icons of a pack, with LICENSES.md and AUTHORS.txt",
				Tags: []string{"packs"}, Parameters: append(refParams()[:1], parameter{Name: "kind", In: "path", Required: true,
					Description: "svg has PACK/NAME.svg; react has PACK/NAME.tsx, a component each, and PACK/index.ts, which exports " +
						"them; sprite has sprite.svg, with a symbol PACK-NAME for each icon.",
					Schema: &schema{Type: "string", Enum: []any{"svg", "react", "sprite"}}}),
				Description: "The icons of the pack's page: without aliases and hidden icons. Errors are pages in HTML.",
				Responses:   answers("The archive.", "application/zip", &schema{Type: "string", Format: "binary"}, "404", "410"),
			}},
			"/-/card/{pack}/{name}.png": {Get: &operation{
				OperationID: "iconCard", Summary: "A preview of an icon's page, 1200 by 630 pixels",
				Tags: []string{"icons"}, Parameters: refParams(),
				Responses: answers("The image.", typePNG, &schema{Type: "string", Format: "binary"}, "404", "410"),
			}},
			"/-/card/{pack}.png": {Get: &operation{
				OperationID: "packCard", Summary: "A preview of a pack's page, 1200 by 630 pixels",
				Tags: []string{"packs"}, Parameters: refParams()[:1],
				Responses: answers("The image.", typePNG, &schema{Type: "string", Format: "binary"}, "404", "410"),
			}},
			"/-/samples/{pack}.svg": {Get: &operation{
				OperationID: "packSamples", Summary: "The samples of a pack in a row, 32 pixels high",
				Tags: []string{"packs"}, Parameters: refParams()[:1],
				Responses: answers("The image.", typeSVG, &schema{Type: "string"}, "404", "410"),
			}},
			"/": {Get: &operation{
				OperationID: "page", Summary: "The site's home page", Tags: []string{"service"},
				Responses: answers("The page.", "text/html", &schema{Type: "string"}),
			}},
		},
	}
	for path, item := range d.Paths {
		item.addStatuses(path)
	}
	for _, e := range []*endpoint{iconPath, searchPath, suggestPath, packsPath, packPath} {
		d.Paths[e.pattern].Get.license()
	}
	d.Components = components{schemasOf(answerTypes), sharedAnswers(refTo(problem.Problem{})), map[string]securityScheme{
		licenseScheme: {"http", "bearer", "A licence token. Most services require none; some apply higher limits to clients with a token."},
	}}
	return d
}

// The addresses of the bag's files.
const (
	archivePattern = "/-/bag/icons.zip"
	spritePattern  = "/-/bag/sprite.svg"
)

// bagIcons describes the parameter with the icons of a bag.
func bagIcons() parameter {
	p := query("icons", fmt.Sprintf("At most %d icons: pack/name, with commas between them; a name alone is of the pack before it.",
		icon.MaxBag), &schema{Type: "string", MinLength: new(1)})
	p.Required = true
	return p
}

// addStatuses adds the answers that depend on the place of an operation. An edge can refuse any
// request before routing it. Its answers from the cache have conditions and ranges. A request to
// its origin can fail, or exceed a limit.
func (i pathItem) addStatuses(path string) {
	o, statuses := i.Get, slices.Clone(anywhere)
	if i.Get == nil {
		o = i.Post
	} else if path != healthPath.pattern {
		statuses = append(statuses, "206", "304", "412", "416")
	}
	if path != healthPath.pattern {
		statuses = append(statuses, "429", "502", "504")
	}
	for _, status := range statuses {
		o.Responses[status] = component(status)
	}
}

// anywhere lists the statuses with which any request may be refused.
var anywhere = []string{"400", "403", "405", "408", "413", "414", "417", "421", "431", "503"}

const licenseScheme = "license"

// obligationNames are the names in filters that package license reads.
var obligationNames = license.None + ", " + strings.Join(license.All().Names(), ", ")

// license declares that operators may require a licence token for an operation.
func (o *operation) license() {
	o.Security = []security{{}, {licenseScheme: {}}}
	o.Responses["401"] = component("401")
}

func query(name, description string, s *schema) parameter {
	return parameter{Name: name, In: "query", Description: description, Schema: s}
}

func number(low, high, def int) *schema {
	s := &schema{Type: "integer", Minimum: new(float64(low)), Maximum: new(float64(high))}
	if def != low-1 {
		s.Default = json.RawMessage(strconv.Itoa(def))
	}
	return s
}

const (
	keyPattern = "^[a-z0-9]+(-[a-z0-9]+)*$"
	refPattern = "^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$"
)

func refParams() []parameter {
	key := &schema{Type: "string", Pattern: keyPattern, MaxLength: new(icon.MaxKey)}
	return []parameter{
		{"pack", "path", "The key of a pack, such as mdi.", true, key},
		{"name", "path", "The name of an icon or an alias, such as home.", true, key},
	}
}

func variantParams() []parameter {
	pixels := number(1, icon.MaxSize, 0)
	return append([]parameter{
		query("color", "Paints a monochrome icon: hex digits, the # optional. Other names: colour, fill.",
			&schema{Type: "string", Pattern: "^#?([0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$"}),
		darkParam(),
		query("size", "The height in pixels; the width keeps the ratio.", pixels),
		query("width", "The width in pixels, instead of size. Another name: w.", pixels),
		query("height", "The height in pixels, instead of size. Another name: h.", pixels),
		query("rotate", "Degrees clockwise, or quarter turns.", &schema{Type: "integer", Enum: []any{90, 180, 270, -90, 1, 2, 3}}),
		query("flip", "Mirrors the icon.", &schema{Type: "string",
			Enum: []any{"horizontal", "vertical", "horizontal,vertical", "vertical,horizontal"}}),
		idParam(),
	}, append(styleParams(), frameParams()...)...)
}

// styleParams are those of how an icon is drawn.
func styleParams() []parameter {
	width := &schema{Type: "number", Minimum: new(icon.MinStroke), Maximum: new(icon.MaxStroke)}
	return []parameter{
		query("stroke", "The width of the strokes, of an icon whose strokes have one: in pixels of the icon when it is "+
			"24 pixels high. stroke-width is another name.", width),
		query("secondary", "The colour of the translucent parts of a two-tone icon: any CSS color; hex digits need no #. "+
			"Its alpha, also ff, replaces their opacity.", &schema{Type: "string"}),
	}
}

// frameParams are those of the ground and the space around an icon, whose picture keeps its size.
func frameParams() []parameter {
	pixels := number(0, icon.MaxSize/2, 0)
	return []parameter{
		query("background", "The colour of the ground: any CSS color; hex digits need no #.", &schema{Type: "string"}),
		query("padding", "Space at each side, in pixels of the picture.", pixels),
		query("radius", "Round corners of the ground, in pixels.", pixels),
	}
}

// pictureParams are those of an icon in pixels.
func pictureParams() []parameter {
	side := number(1, icon.MaxPicture, 0)
	return append([]parameter{
		query("size", "The height in pixels; the width keeps the ratio.", number(1, icon.MaxPicture, icon.DefaultPicture)),
		query("width", "The width in pixels, instead of size. Another name: w.", side),
		query("height", "The height in pixels, instead of size. Another name: h.", side),
	}, faviconParams()...)
}

// faviconParams are those of an icon file. Padding and radius are pixels of its largest picture.
func faviconParams() (params []parameter) {
	for _, p := range variantParams() {
		switch p.Name {
		case "color":
			params = append(params, cdnParams()[0])
		case "size", "width", "height", "id", "dark": // pixels have one colour: dark is a 400
		default:
			params = append(params, p)
		}
	}
	return params
}

func releaseParam() parameter {
	return query("release", "The icon of that release, cacheable for a year; an id that is no longer stored is a 404.",
		&schema{Type: "string", Pattern: "^[0-9a-f]{32}$"})
}

func idParam() parameter {
	return query("id", "A prefix for the ids within the icon and the references to them, so that several icons can stand "+
		"in one page.",
		&schema{Type: "string", Pattern: "^[A-Za-z0-9_-]{1,64}$"})
}

// cdnParams are those of the CDN path, which takes Iconify's values too.
func cdnParams() []parameter {
	side := &schema{Type: "string", Description: "A number of pixels from 1 to 4096, a length with a CSS unit, auto " +
		"(the viewBox's) or none (no attribute)."}
	return append([]parameter{
		query("color", "Paints a monochrome icon: any CSS color; hex digits need no #. Other names: colour, fill.",
			&schema{Type: "string"}),
		darkParam(),
		query("size", "The height in pixels; the width keeps the ratio.", number(1, icon.MaxSize, 0)),
		query("width", "The width, instead of size; the height keeps the ratio. Another name: w.", side),
		query("height", "The height, instead of size; the width keeps the ratio. Another name: h.", side),
		query("rotate", "Degrees clockwise (90, 180, 270, -90, 90deg), quarter turns, or percent of a turn (25%).",
			&schema{Type: "string"}),
		query("flip", "Mirrors the icon: horizontal, vertical or both.", &schema{Type: "string"}),
		idParam(),
		query("box", "Any value puts a transparent rectangle of the size of the viewBox in front.", &schema{Type: "string"}),
		query("download", "Any value makes browsers save the icon as a file.", &schema{Type: "string"}),
	}, append(styleParams(), frameParams()...)...)
}

// darkParam is that of the colour on dark pages.
func darkParam() parameter {
	return query("dark", "The colour of a monochrome icon where the reader prefers dark pages (prefers-color-scheme): any CSS "+
		"color; hex digits need no #.", &schema{Type: "string"})
}

// rowParams are those of several icons in one SVG, and of a PNG of them.
func rowParams() []parameter {
	icons := query("icons", fmt.Sprintf("At most %d icons, in their order: pack:name, with commas between them.", icon.MaxRow),
		&schema{Type: "string", MinLength: new(1)})
	icons.Required = true
	return append([]parameter{
		icons,
		query("size", "The height in pixels; the width of an icon keeps its ratio.", number(1, icon.MaxSize, icon.DefaultRow)),
		query("gap", "The space between two icons, in pixels; a quarter of the size by default.", number(0, icon.MaxSize, -1)),
		cdnParams()[0],
	}, append(styleParams(), frameParams()...)...)
}

func rowPictureParams() []parameter {
	params := rowParams()
	params[1].Schema = number(1, icon.MaxPicture, icon.DefaultRow)
	return params
}

func queryText() parameter {
	q := query("q", "The words; any Unicode.", &schema{Type: "string", MinLength: new(1), MaxLength: new(icon.MaxText)})
	q.Required = true
	return q
}

func searchParams() []parameter {
	q := queryText()
	q.Description, q.Required = "The words; any Unicode. Required without similar.", false
	return []parameter{
		q, query("limit", "The largest number of results.", number(1, icon.MaxLimit, icon.DefaultLimit)),
		query("offset", "The number of results to skip.", number(0, icon.MaxOffset, 0)),
		query("pack", "The key of one pack to search.", &schema{Type: "string", Pattern: keyPattern, MaxLength: new(icon.MaxKey)}),
		query("style", "Icons in that style: outline, filled, two-tone or multicolour, by their SVG, or one of a pack's own "+
			"suffixes or prefixes.", &schema{Type: "string"}),
		query("category", "Icons in that category of their pack, or of packs of that kind.", &schema{Type: "string"}),
		query("license", "Icons with that licence: its SPDX identifier, or its heaviest obligation: "+obligationNames+
			".", &schema{Type: "string"}),
		query("commercial", "Icons whose licence allows commercial use.", &schema{Type: "boolean", Default: json.RawMessage("false")}),
		query("stroke", "Icons whose strokes have one width.", &schema{Type: "boolean", Default: json.RawMessage("false")}),
		query("similar", "An icon, such as mdi/home, instead of q: finds icons of the same concept in other packs, "+
			"then those of the same shape.",
			&schema{Type: "string", Pattern: refPattern, MaxLength: new(2*icon.MaxKey + 1)}),
		query("explain", "Says in `matched` why each result was found; such answers are not cached.",
			&schema{Type: "boolean", Default: json.RawMessage("false")}),
	}
}

// answers returns the answers of an operation: its 200, and the problems that only some operations
// have.
func answers(what, mediaType string, s *schema, refusals ...string) map[string]response {
	r := map[string]response{"200": {content: &content{Description: what, Content: map[string]media{mediaType: {s}}}}}
	for _, status := range refusals {
		r[status] = component(status)
	}
	return r
}

func component(status string) response {
	return response{Ref: "#/components/responses/" + shared[status]}
}

func iconAnswers(s *schema) map[string]response {
	r := answers("The icon.", typeJSON, s, "404", "410")
	r["200"].Content[typeSVG] = media{&schema{Type: "string"}}
	return r
}

// shared maps statuses to the names of answers that components describe once for all operations.
var shared = map[string]string{
	"206": "PartialContent", "304": "NotModified", "400": "BadRequest", "401": "Unauthorized", "403": "Forbidden",
	"404": "NotFound", "405": "MethodNotAllowed",
	"408": "RequestTimeout", "410": "Gone", "412": "PreconditionFailed", "413": "TooLarge", "414": "URITooLong",
	"415": "UnsupportedMediaType", "416": "RangeNotSatisfiable", "422": "UnprocessableContent",
	"417": "ExpectationFailed", "421": "MisdirectedRequest", "429": "TooManyRequests", "431": "FieldsTooLarge",
	"502": "BadGateway", "503": "Unavailable",
	"504": "GatewayTimeout",
}

// sharedAnswers returns those answers. From 400 on, they are problems.
func sharedAnswers(problemSchema *schema) map[string]response {
	all := map[string]response{}
	for status, name := range shared {
		n, err := strconv.Atoi(status)
		if err != nil {
			panic(err)
		}
		c := &content{Description: http.StatusText(n)}
		if n >= http.StatusBadRequest {
			c.Content = map[string]media{problem.ContentType: {problemSchema}}
		}
		all[name] = response{content: c}
	}
	return all
}
