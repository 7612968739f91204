package site

import (
	"net/http"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

type errorView struct {
	frame
	Status  int
	Heading string
	Detail  string
	Near    []suggestion
	// Of an address at which nothing is: icons that the person may mean, and the search for all.
	Results []picture
	Total   int
	All     string
}

// headings are the headings of the error pages. Other statuses have no page.
var headings = map[int]string{
	http.StatusBadRequest: "This address does not work",
	http.StatusNotFound:   "Nothing is here",
	http.StatusGone:       "Withdrawn",
}

// Error renders the page for a problem. It returns nil if the problem has none, so that the client
// gets the problem itself.
func (s *Site) Error(p *problem.Problem) *Page {
	heading, ok := headings[p.Status]
	if !ok {
		return nil
	}
	v := errorView{Status: p.Status, Heading: heading, Detail: p.Sentence(), frame: s.frame(heading+" · iconedge", p.Sentence()+".", "")}
	for _, address := range p.Suggestions {
		v.Near = append(v.Near, suggestion{label(address), address})
	}
	page, err := s.render("error", v, icon.LibraryKey)
	if err != nil {
		return nil
	}
	page.Status, page.CacheControl = p.Status, errorCached
	if p.Status == http.StatusGone {
		page.CacheControl = "no-store"
	}
	return page
}
