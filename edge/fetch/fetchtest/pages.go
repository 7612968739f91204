package fetchtest

import (
	"io"
	"net/http"
	"sync"
)

// Pages is an application whose responses the test gives, by path. It records the requests that it
// gets.
type Pages struct {
	mu    sync.Mutex
	asked map[string][]http.Header
	pages map[string]http.HandlerFunc
}

// NewPages returns an application that answers 404 for all other paths.
func NewPages(pages map[string]http.HandlerFunc) *Pages {
	return &Pages{asked: map[string][]http.Header{}, pages: pages}
}

// Add adds a page.
func (s *Pages) Add(path string, page http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = page
}

// ServeHTTP implements http.Handler.
func (s *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.RequestURI()] = append(s.asked[r.URL.RequestURI()], r.Header)
	page := s.pages[r.URL.Path]
	s.mu.Unlock()
	if page == nil {
		http.NotFound(w, r)
		return
	}
	page(w, r)
}

// Requests returns the fields of the requests for a target.
func (s *Pages) Requests(target string) []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[target]
}

// Says returns a handler that sends these fields (name, value, …) and a body.
func Says(body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Add(fields[i], fields[i+1])
		}
		io.WriteString(w, body)
	}
}
