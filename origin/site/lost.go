package site

import (
	"context"
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/scheme"
	"github.com/iconedge/iconedge/origin/search"
)

// onLost is the number of icons on the page of an address at which nothing is.
const onLost = 12

// LostPath is the address of the page that a browser gets for an address at which nothing is. Edges
// fetch it with the words that the person may mean.
const LostPath = "/-/not-found"

// Lost renders the page for a path at which nothing is. near are addresses of similar names.
func (s *Site) Lost(ctx context.Context, q *Request, near ...string) (*Page, error) {
	q.Params = icon.Params{"q": scheme.OfPath(q.Path)}
	return s.lostWith(ctx, q, near)
}

// lost renders the page with the search filled in, and the icons that it finds. In pack:name the
// pack may be another library's, or a wrong one; the name alone then counts.
func (s *Site) lost(ctx context.Context, q *Request) (*Page, error) { return s.lostWith(ctx, q, nil) }

func (s *Site) lostWith(ctx context.Context, q *Request, near []string) (*Page, error) {
	asked, err := parseSelection(q.Params)
	if err != nil {
		return nil, err
	}
	v := errorView{
		Status: http.StatusNotFound, Heading: headings[http.StatusNotFound], Detail: "No page or icon has this address",
		frame: s.frame(headings[http.StatusNotFound]+" · iconedge", "No page or icon has this address.", ""),
	}
	for _, address := range near {
		v.Near = append(v.Near, suggestion{label(address), address})
	}
	if asked.Text != "" && q.Index != nil {
		pack, name, scoped := strings.Cut(asked.Text, ":")
		if _, known := q.Release.Pack(pack); scoped && !known && scheme.OfPackage(name, pack) == nil {
			asked.Text, scoped = name, false
		}
		hits, total := q.Index.Search(search.Query{Text: asked.Text, Limit: onLost})
		if total == 0 && scoped {
			asked.Text = name
			hits, total = q.Index.Search(search.Query{Text: name, Limit: onLost})
		}
		v.Query, v.Total, v.All = asked.Text, total, selection{Text: asked.Text}.Address(1)
		for _, h := range hits {
			v.Results = append(v.Results, pictureOf(q.Release, h.Ref, foundLook(ctx, q.Release, h)))
		}
	}
	page, err := s.render("error", v, icon.LibraryKey)
	if err != nil {
		return nil, err
	}
	page.Status, page.CacheControl = v.Status, errorCached
	return page, nil
}
