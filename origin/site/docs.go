package site

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/iconedge/iconedge/docs"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/manual"
)

// repository is the address of the files of the repository, to which documents link.
const repository = "https://github.com/iconedge/iconedge/blob/main/"

// documentsKey is the surrogate key of the documents.
const documentsKey = "docs"

// documents makes the documents when the first page of them is requested, because most origins are
// never asked for one.
var documents = sync.OnceValues(func() (*manual.Manual, error) { return manual.New(docs.Files, "docs", repository) })

type documentView struct {
	frame
	Words    string // of the search
	Document *manual.Page
	Results  []manual.Result
}

// IsList reports whether the page is the list of all documents.
func (v documentView) IsList() bool { return v.Document.Path == manual.Root }

// document renders a page of the documentation, or answers with an image of one.
func (s *Site) document(_ context.Context, q *Request) (*Page, error) {
	m, err := documents()
	if err != nil {
		return nil, err
	}
	path := q.Path
	if path+"/" == manual.Root {
		path = manual.Root
	}
	if i, ok := m.Image(path); ok {
		return &Page{Status: http.StatusOK, MediaType: i.MediaType, Body: i.Body, CacheControl: listsCached,
			Keys: pagesKey + " " + documentsKey}, nil
	}
	page := m.Page(path)
	if page == nil {
		var near []string
		for _, r := range m.Search(label(path)) {
			near = append(near, r.Page.Path)
		}
		return nil, problem.NotFound("there is no such document", near[:min(len(near), 5)]...)
	}
	v := documentView{Document: page, frame: s.frame(page.Title+" · iconedge", page.Description, path)}
	return s.render("document", v, documentsKey)
}

// searchDocuments renders the results of a search of the documentation; without a query, the form.
func (s *Site) searchDocuments(_ context.Context, q *Request) (*Page, error) {
	m, err := documents()
	if err != nil {
		return nil, err
	}
	v := documentView{Words: icon.CanonicalQuery(strings.TrimSpace(q.Params["q"]))}
	title, about := "Search the documentation", "Search the documentation by words."
	if v.Words != "" {
		title, about = v.Words+" · documentation", fmt.Sprintf("Documents about %q.", v.Words)
	}
	v.frame = s.frame(title+" · iconedge", about, "")
	if utf8.RuneCountInString(v.Words) > icon.MaxText {
		return nil, wrong("q", nil)
	}
	v.Results = m.Search(v.Words)
	return s.render("documents", v, documentsKey)
}

// documentsSitemap lists the pages of the documentation. robots.txt names it.
func (s *Site) documentsSitemap(context.Context, *Request) (*Page, error) {
	m, err := documents()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(xml.Header + "<urlset" + sitemapSpace + "\n")
	for _, path := range m.Paths() {
		b.WriteString("<url><loc>" + escape(s.site+path) + "</loc></url>\n")
	}
	b.WriteString("</urlset>\n")
	page := s.text("application/xml", b.String())
	page.Keys += " " + documentsKey
	return page, nil
}
