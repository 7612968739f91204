package iconify

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// MaxNames is the largest number of different icons in a request.
const MaxNames = 512

// DefaultCallback is the function that scripts call if the request names none.
const DefaultCallback = "SimpleSVG._loaderCallback"

const maxCallback = 64

// A Request is an address with its parameters.
type Request struct {
	Address
	// Names are the requested icons, sorted, each once. Some may be malformed.
	Names    []string
	Info     bool
	Pretty   bool
	Callback string // of a wrapped response; empty: it is JSON

	Variant icon.Variant // of an SVG
	Color   icon.Color   // of an SVG
	Style   Style        // of a stylesheet
	// Fields holds the parameters of lists and searches, as in the request.
	Fields icon.Params
}

// parameters lists the parameters of each kind.
var parameters = map[Kind][]string{
	Data:            {"icons", "info", "pretty"},
	Script:          {"icons", "info", "pretty", "callback"},
	Stylesheet:      append([]string{"icons", "download"}, styleParams...),
	SVG:             {"width", "height", "color", "rotate", "flip", "box", "download"},
	Package:         {"pretty"},
	Collections:     {"prefix", "prefixes", "pretty", "callback"},
	Collection:      {"prefix", "info", "chars", "pretty", "callback"},
	List:            {"prefix", "prefixes", "info", "chars", "aliases", "pretty", "callback"},
	ListCategorized: {"prefix", "prefixes", "info", "chars", "aliases", "pretty", "callback"},
	Search:          {"query", "limit", "min", "start", "prefix", "prefixes", "collection", "category", "similar", "pretty", "callback"},
	Keywords:        {"prefix", "keyword", "pretty", "callback"},
	LastModified:    {"prefix", "prefixes", "pretty", "callback"},
}

// Parse reads the parameters of an address. The error is an icon.ParamError.
func Parse(a Address, query string) (Request, error) {
	r := Request{Address: a}
	p, err := icon.ParseQuery(query, parameters[a.Kind]...)
	if err != nil {
		return r, err
	}
	r.Pretty = p["pretty"] != ""
	switch a.Kind {
	case Data, Script, Stylesheet:
		err = r.icons(p)
	case SVG:
		r.Variant = icon.ParseIconifyVariant(p)
		if c := p["color"]; !icon.IsCurrentColor(c) {
			r.Color, _ = icon.CSSColor(c)
		}
	case Package, Version:
	default:
		r.Fields = p
	}
	if err != nil {
		return r, err
	}
	if r.Callback = p["callback"]; r.Callback == "" && a.Kind == Script {
		r.Callback = DefaultCallback
	}
	if !isCallback(r.Callback) {
		return r, &icon.ParamError{Parameter: "callback",
			Detail: "callback must be the name of a function: at most 64 letters, digits, underscores and dots"}
	}
	return r, nil
}

// icons reads the names of the icons, and what depends on them.
func (r *Request) icons(p icon.Params) error {
	list, given := p["icons"]
	if !given {
		if r.Kind == Data {
			r.Kind = Package
		}
		return nil
	}
	r.Names = strings.Split(list, ",")
	slices.Sort(r.Names)
	if r.Names = slices.Compact(r.Names); len(r.Names) > MaxNames {
		return &icon.ParamError{Parameter: "icons", Detail: "icons may name at most 512 different icons"}
	}
	r.Info = isTrue(p["info"])
	if r.Kind == Stylesheet {
		r.Style = parseStyle(p)
		r.Variant.Download = p["download"] != ""
	}
	return nil
}

// isCallback reports whether s is empty or the name of a JavaScript function.
func isCallback(s string) bool {
	return len(s) <= maxCallback && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == ""
}

// isTrue and isFalse read the booleans of Iconify; any other value counts as absent.
func isTrue(s string) bool  { return s == "true" || s == "yes" || s == "1" }
func isFalse(s string) bool { return s == "false" || s == "no" || s == "0" }

// Path returns the canonical path of the address, below Mount.
func (a Address) Path() string {
	switch a.Kind {
	case Data:
		return Mount + "/" + a.Prefix + ".json"
	case Package: // the address without a version
		return Mount + "/@iconify-json/" + a.Prefix + "/icons.json"
	case Script:
		return Mount + "/" + a.Prefix + ".js"
	case Stylesheet:
		return Mount + "/" + a.Prefix + ".css"
	case SVG:
		return Mount + "/" + a.Prefix + "/" + a.Name + ".svg"
	}
	for _, path := range Lists {
		if fixed[path] == a.Kind {
			return Mount + path
		}
	}
	return Mount
}

// Key returns the canonical form of the request, without the colour of an SVG: Find and Parse read
// it as the same request.
func (r Request) Key() string {
	var q []string
	flag := func(name string, set bool) {
		if set {
			q = append(q, name+"=1")
		}
	}
	add := func(name, value string) {
		if value != "" {
			q = append(q, name+"="+escape(value))
		}
	}
	switch r.Kind {
	case Data, Script, Stylesheet:
		if r.Names != nil {
			names := make([]string, len(r.Names))
			for i, n := range r.Names {
				names[i] = escape(n)
			}
			q = append(q, "icons="+strings.Join(names, ",")) // literal commas are a third as long
		}
		flag("info", r.Info)
		if r.Kind == Script && r.Callback != DefaultCallback {
			add("callback", r.Callback)
		}
		q = append(q, r.Style.query()...)
		flag("download", r.Variant.Download)
		flag("pretty", r.Pretty)
	case SVG:
		if v := r.Variant.Query(); v != "" { // with degrees, where Iconify has quarter turns
			q = append(q, strings.Replace(v, "rotate="+strconv.Itoa(90*r.Variant.Rotate), "rotate="+strconv.Itoa(r.Variant.Rotate), 1))
		}
	case Package:
		flag("pretty", r.Pretty)
	default:
		for _, name := range parameters[r.Kind] {
			if value, given := r.Fields[name]; given && value == "" && r.Kind == Keywords {
				q = append(q, name+"=") // an empty word is invalid, none is an error
			}
			add(name, r.Fields[name])
		}
	}
	if len(q) == 0 {
		return r.Path()
	}
	return r.Path() + "?" + strings.Join(q, "&")
}

// escape escapes a value for a query. Names, the most frequent values, need none.
func escape(s string) string {
	if isName(s) {
		return s
	}
	return url.QueryEscape(s)
}
