package iconify

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/search"
)

// Bounds of a search, as in @iconify/api.
const (
	minLimit     = 32
	maxLimit     = 999
	defaultLimit = 64
	// maxStyled is the number of hits whose style is determined, because each must be read.
	maxStyled = 2 * maxLimit
)

// A found answers /search.
type found struct {
	Icons       []string    `json:"icons"`
	Total       int         `json:"total"`
	Limit       int         `json:"limit"`
	Start       int         `json:"start"`
	Collections ordered     `json:"collections"`
	Request     icon.Params `json:"request"`
}

// search answers /search, from our index and in its order.
func (l *Library) search(p icon.Params) (any, error) {
	if p["query"] == "" {
		return nil, badParameter("query", "query is missing: the words to search for")
	}
	f := found{Icons: []string{}, Limit: defaultLimit, Collections: ordered{}, Request: p}
	for _, name := range []string{"limit", "min"} {
		n, given, err := number(p, name)
		if err != nil || given && n == 0 {
			return nil, badParameter(name, name+" must be a whole number, 32 to 999")
		}
		if given {
			f.Limit = min(max(n, minLimit), maxLimit)
		}
	}
	start, _, err := number(p, "start")
	if err != nil || start < 0 || start >= f.Limit {
		return nil, badParameter("start", "start must be a whole number below the limit")
	}
	f.Start = start
	q, ok := parseWords(p["query"])
	if !ok {
		return f, nil
	}
	hits := l.hits(q, p, f.Limit)
	f.Total = len(hits)
	for i, ref := range hits {
		if i >= start {
			f.Icons = append(f.Icons, ref.Pack+":"+ref.Name)
		}
		if !slices.ContainsFunc(f.Collections, func(m pair) bool { return m.key == ref.Pack }) {
			f.Collections = append(f.Collections, pair{ref.Pack, l.sets[ref.Pack].Info})
		}
	}
	return f, nil
}

// number reads a parameter that is a whole number; an empty one counts as absent.
func number(p icon.Params, name string) (n int, given bool, err error) {
	if p[name] == "" {
		return 0, false, nil
	}
	n, err = strconv.Atoi(p[name])
	return n, true, err
}

// hits returns the icons of the first limit hits.
func (l *Library) hits(q words, p icon.Params, limit int) []icon.Ref {
	query := search.Query{Text: q.text, Limit: limit}
	query.Packs = l.searched(q, p)
	if query.Packs != nil && len(query.Packs) == 0 {
		return nil
	}
	if q.style != "" {
		query.Limit = maxStyled
	}
	all, _ := l.index.Search(query)
	var refs []icon.Ref
	for _, h := range all {
		if len(refs) == limit {
			break
		}
		if q.style == "" || l.hasStyle(h.Ref, q.style) {
			refs = append(refs, h.Ref)
		}
	}
	return refs
}

// searched returns the prefixes to search, or nil for all.
func (l *Library) searched(q words, p icon.Params) []string {
	var tests []func(prefix string) bool
	for _, filters := range [][]string{q.prefixes, prefixesOf(p)} {
		if filters != nil {
			tests = append(tests, func(prefix string) bool {
				return slices.ContainsFunc(filters, func(f string) bool { return selects(f, prefix) })
			})
		}
	}
	if c := p["category"]; c != "" {
		tests = append(tests, func(prefix string) bool {
			pack, ok := l.release.Pack(prefix)
			return ok && pack.Category == c
		})
	}
	if q.palette != nil {
		tests = append(tests, func(prefix string) bool {
			pack, ok := l.release.Pack(prefix)
			return ok && palette(pack, l.sets[prefix]) == *q.palette
		})
	}
	if tests == nil {
		return nil
	}
	prefixes := only(l.order, l.visible)
	for _, test := range tests {
		prefixes = only(prefixes, test)
	}
	return append([]string{}, prefixes...)
}

// prefixesOf returns the filters among the parameters, or nil if there are none.
func prefixesOf(p icon.Params) []string {
	switch {
	case p["prefixes"] != "":
		return strings.Split(p["prefixes"], ",")
	case p["prefix"] != "":
		return []string{p["prefix"]}
	case p["collection"] != "":
		return []string{p["collection"]}
	}
	return nil
}

// selects reports whether a filter is a prefix, or its beginning up to a hyphen.
func selects(filter, prefix string) bool {
	return filter == prefix || strings.HasSuffix(filter, "-") && strings.HasPrefix(prefix, filter)
}

// hasStyle reports whether an icon has strokes alone or fills alone, by the attributes of its
// elements, as getIconStyle of @iconify/api does.
func (l *Library) hasStyle(ref icon.Ref, style string) bool {
	ic, err := l.release.Icon(context.Background(), ref) // the current release reads no store
	if err != nil {
		return false
	}
	return styleOf(ic) == style
}

func styleOf(ic catalog.Icon) string {
	body, err := ic.SVG()
	if err != nil {
		return ""
	}
	stroke, fill := paints(string(body), ` stroke="`), paints(string(body), ` fill="`)
	switch {
	case stroke && !fill:
		return "stroke"
	case fill && !stroke:
		return "fill"
	}
	return ""
}

// paints reports whether an attribute has a value that paints.
func paints(body, attribute string) bool {
	for {
		_, rest, ok := strings.Cut(body, attribute)
		if !ok {
			return false
		}
		value, after, _ := strings.Cut(rest, `"`)
		switch value {
		case "", "none", "transparent", "inherit":
		default:
			return true
		}
		body = after
	}
}

// A words is a query: words, and the filters among them.
type words struct {
	text     string
	prefixes []string
	palette  *bool
	style    string
}

// parseWords reads the query language of Iconify (splitKeyword of @iconify/api): words,
// prefix:name, and key=value or key:value with prefix, prefixes, palette, style, fill and stroke.
// It is not ok for a query that is wrong or has no words, which finds nothing.
func parseWords(query string) (w words, ok bool) {
	var text []string
	for part := range strings.FieldsSeq(strings.ToLower(query)) {
		key, value, colon := strings.Cut(part, ":")
		equals := false
		if !colon {
			key, value, equals = strings.Cut(part, "=")
		}
		if strings.Contains(value, ":") || equals && strings.Contains(value, "=") {
			return w, false
		}
		if !colon && !equals {
			text = append(text, part)
			continue
		}
		known, valid := w.filter(key, value)
		switch {
		case known && valid:
		case known || equals, w.prefixes != nil:
			return w, false
		default: // prefix:name
			if w.prefixes = valids(strings.Split(key, ",")); w.prefixes == nil {
				return w, false
			}
			if value != "" {
				text = append(text, value)
			}
		}
	}
	w.text = strings.Join(text, " ")
	return w, len(text) > 0
}

// filter reads a key with a value. It reports whether there is such a key, and whether the value is
// one of its values.
func (w *words) filter(key, value string) (known, valid bool) {
	yes := value == "true" || value == "yes" || value == "1"
	no := value == "false" || value == "no" || value == "0"
	switch key {
	case "palette":
		w.palette = &yes
		return true, yes || no
	case "style":
		w.style = value
		return true, value == "fill" || value == "stroke"
	case "fill", "stroke":
		w.style = key
		return true, yes
	case "prefix", "prefixes":
		if w.prefixes != nil {
			return true, false
		}
		for f := range strings.SplitSeq(value, ",") {
			if stem, wild := strings.CutSuffix(f, "*"); wild {
				w.prefixes = append(w.prefixes, valids([]string{stem})...)
				f = stem + "-"
			}
			if icon.ValidKey(strings.TrimSuffix(f, "-")) {
				w.prefixes = append(w.prefixes, f)
			}
		}
		return true, w.prefixes != nil
	}
	return false, false
}

// valids returns the valid prefixes of a list, or nil if it has none.
func valids(list []string) (kept []string) {
	for _, s := range list {
		if icon.ValidKey(s) {
			kept = append(kept, s)
		}
	}
	return kept
}
