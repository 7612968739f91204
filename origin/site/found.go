package site

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// Results contain the SVGs of at most maxInline bytes, until they have maxInlined of them all. The
// script loads the others as images.
const (
	maxInline  = 5000
	maxInlined = 80_000
)

// A foundView is the page of a search as data, for a script that has such a page already. Its icons
// contain their SVGs, because a browser makes a document of each image, and 40 of them take it
// longer than everything else between a key and the results.
type foundView struct {
	Query   string        `json:"query"`
	Title   string        `json:"title"`
	Heading string        `json:"heading"`
	Total   int           `json:"total"`
	Summary template.HTML `json:"summary"`
	Pager   template.HTML `json:"pager"`
	None    template.HTML `json:"none"` // the page without results
	Icons   []foundIcon   `json:"icons"`
}

// A foundIcon is a result. Its JSON is an array: pack/name, the pack's name, the class, 1 for an
// icon whose licence allows no commercial use or else 0, and, if its SVG can be a part of the page,
// its viewBox and its inside.
type foundIcon struct {
	picture
	inlined inlined
	whole   bool
}

func (i foundIcon) MarshalJSON() ([]byte, error) {
	restricted := 0
	if i.Restricted {
		restricted = 1
	}
	fields := []any{i.Ref.String(), i.PackName, i.Class(), restricted}
	if i.whole {
		fields = append(fields, i.inlined.viewBox, i.inlined.inside)
	}
	return marshal(fields)
}

// marshal returns the JSON of a value, with < and > as they are: it is no part of a page.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// found answers a script with the results of a search.
func (s *Site) found(ctx context.Context, q *Request) (*Page, error) {
	if strings.TrimSpace(q.Params["q"]) == "" {
		return nil, wrong("q", nil)
	}
	v, err := s.results(ctx, q)
	if err != nil {
		return nil, err
	}
	f := foundView{Query: v.Query, Title: v.Title, Heading: v.Heading(), Total: v.Total, Icons: []foundIcon{}}
	for part, html := range map[string]*template.HTML{"summary": &f.Summary, "pager": &f.Pager, "none": &f.None} {
		var b strings.Builder
		var view any = v
		if part == "pager" {
			view = v.Pager
		}
		if part == "none" && v.Total > 0 {
			continue
		}
		if err := s.templates["search"].ExecuteTemplate(&b, part, view); err != nil {
			return nil, err
		}
		*html = template.HTML(b.String())
	}
	drawn := 0
	for _, p := range v.Results {
		i := foundIcon{picture: p}
		if ic, err := q.Release.Icon(ctx, p.Ref); err == nil {
			image, err := ic.SVG()
			if err != nil {
				return nil, err
			}
			i.inlined, i.whole = inline(image, min(maxInline, maxInlined-drawn), p.Ref.String()+"_")
			drawn += len(i.inlined.inside)
		}
		f.Icons = append(f.Icons, i)
	}
	body, err := marshal(f)
	if err != nil {
		return nil, err
	}
	return &Page{Status: http.StatusOK, MediaType: "application/json", Body: body, CacheControl: pagesCached,
		Keys: pagesKey + " " + icon.LibraryKey}, nil
}
