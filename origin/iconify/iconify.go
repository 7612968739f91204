// Package iconify answers the calls of Iconify's API from a release: icon data, stylesheets, SVGs,
// lists and searches, in the forms of @iconify/api 3 that clients of Iconify read. Withdrawn icons
// are in none of them.
//
// A file writes one kind of answer. The addresses and their parameters are those of package
// icon/iconify; HTTP, conditions and codings belong to package api.
package iconify

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// Media types of answers.
const (
	typeJSON   = "application/json"
	typeScript = "application/javascript"
	typeCSS    = "text/css; charset=utf-8"
	typeSVG    = "image/svg+xml"
)

// An Answer is the content of a 200.
type Answer struct {
	MediaType string
	Body      []byte
	Modified  time.Time // zero: unknown
	Keys      string    // for Surrogate-Key
	License   string    // address of the licence; empty: none
	Download  string    // name of the file to save; empty: none
	Icons     bool      // icons, not lists: cached as those of the CDN path
	Partial   bool      // some icons were not found, so it is cached shortly

	Monochrome, Own, Recolored, Colorable bool // of an SVG
}

// A Library is a release with the data that New prepares from it, once for each release.
type Library struct {
	release *catalog.Release
	index   *search.Index
	sets    map[string]release.Set
	order   []string // prefixes in the order of the sources
	words   func() *keywords
}

// Answer answers a request. The error is a problem for the client.
func (l *Library) Answer(ctx context.Context, r iconify.Request) (*Answer, error) {
	switch r.Kind {
	case iconify.Data, iconify.Script:
		return l.data(ctx, r)
	case iconify.Package:
		return l.whole(ctx, r)
	case iconify.Stylesheet:
		return l.stylesheet(ctx, r)
	case iconify.SVG:
		return l.icon(ctx, r)
	}
	v, err := l.list(ctx, r)
	if err != nil {
		return nil, err
	}
	return encoded(r, v), nil
}

// list returns the content of a list or a search.
func (l *Library) list(ctx context.Context, r iconify.Request) (any, error) {
	switch r.Kind {
	case iconify.Collections:
		return l.collections(r.Fields), nil
	case iconify.Collection:
		return l.collection(ctx, r.Fields)
	case iconify.List, iconify.ListCategorized:
		return l.oldLists(ctx, r)
	case iconify.Search:
		return l.search(r.Fields)
	case iconify.Keywords:
		return l.keywords(r.Fields)
	case iconify.LastModified:
		return l.modified(r.Fields), nil
	}
	return nil, problem.NotFound("there is nothing at this address of Iconify's API")
}

// encoded returns the answer of a list.
func encoded(r iconify.Request, v any) *Answer {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(r.Callback == "")   // pages put lists into HTML
	if err := e.Encode(v); err != nil { // v has strings, numbers and lists only
		panic(err)
	}
	ans := written(r, bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
	ans.Keys = icon.LibraryKey
	if prefix := r.Fields["prefix"]; icon.ValidKey(prefix) {
		ans.Keys += " pack/" + prefix
	}
	return ans
}

// written returns the answer with a JSON value, indented or wrapped if the request wants that.
func written(r iconify.Request, value []byte) *Answer {
	if r.Pretty {
		var b bytes.Buffer
		if err := json.Indent(&b, value, "", "    "); err != nil { // our own JSON
			panic(err)
		}
		value = b.Bytes()
	}
	if r.Callback == "" {
		return &Answer{MediaType: typeJSON, Body: value}
	}
	body := make([]byte, 0, len(value)+len(r.Callback)+8)
	// The comment keeps the callback from being the first bytes of the response, which another
	// format could give a meaning.
	body = append(append(append(body, "/**/"...), r.Callback...), '(')
	return &Answer{MediaType: typeScript, Body: append(append(body, value...), ");"...)}
}

// requested returns the icons of a request, with their pack. The error is a 404, or one of reading.
func (l *Library) requested(ctx context.Context, r iconify.Request) (*catalog.Pack, release.Set, *selection, error) {
	p, s, err := l.set(r.Prefix)
	if err == nil && r.Names == nil {
		err = notFound("icons is missing: the names of the icons, separated by commas")
	}
	if err != nil {
		return nil, release.Set{}, nil, err
	}
	sel, err := l.pick(ctx, r.Prefix, s, r.Names)
	return p, s, sel, err
}

// set returns a pack and what its source says about it. The error is a 404.
func (l *Library) set(prefix string) (*catalog.Pack, release.Set, error) {
	p, ok := l.release.Pack(prefix)
	if !ok {
		return nil, release.Set{}, problem.NotFound("there is no icon set of that prefix; /collections lists them")
	}
	return p, l.sets[prefix], nil
}

func badParameter(name, detail string) error { return problem.BadParameter(name, detail) }

func notFound(detail string) error { return problem.New(http.StatusNotFound, detail) }
