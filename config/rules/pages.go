package rules

import (
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/config"
)

// A Page is a file in the place of a response.
type Page struct {
	Status     int // 0: that of the response
	RetryAfter string
	Origin     bool // also in the place of responses of the origin
	Type       string
	Body       []byte
}

// IsHTML reports whether only clients that prefer a page get it.
func (p *Page) IsHTML() bool { return strings.HasPrefix(p.Type, "text/html") }

// NewPage makes a page of the content of a file.
func NewPage(name string, body []byte, retryAfter *config.Duration) *Page {
	p := &Page{Body: body}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm":
		p.Type = "text/html; charset=utf-8"
	case ".json":
		p.Type = "application/json"
	default:
		p.Type = http.DetectContentType(body)
	}
	if retryAfter != nil {
		p.RetryAfter = strconv.FormatInt(int64((time.Duration(*retryAfter)+time.Second-1)/time.Second), 10)
	}
	return p
}

// ReadPage reads the file of a page. The error names the file.
func ReadPage(name string, retryAfter *config.Duration) (*Page, error) {
	body, err := config.ReadFile(name, maxRespond)
	if err != nil {
		return nil, err
	}
	return NewPage(name, body, retryAfter), nil
}

// pageSets has the compiled pages of a file, by those of the file.
type pageSets map[*config.ErrorPages]pageSet

// A pageSet is a list of pages. Those of single statuses come before those of classes.
type pageSet []struct {
	key  string
	page *Page
}

func (s pageSet) of(status int) (found *Page) {
	for _, one := range s {
		switch has, exact := (config.ErrorPages{}).Has(one.key, status); {
		case exact:
			return one.page
		case has && found == nil:
			found = one.page
		}
	}
	return found
}

// errorPages compiles the pages of a place in the file.
func (c *Compiler) errorPages(at string, pages *config.ErrorPages) {
	if pages == nil {
		return
	}
	set := pageSet{}
	for _, key := range slices.Sorted(maps.Keys(*pages)) {
		of := (*pages)[key]
		p, err := ReadPage(of.File, of.RetryAfter)
		if err != nil {
			c.Wrong(at+"."+key+".file", "%v; must be a readable file", err)
			continue
		}
		p.Status, p.Origin = of.Status, of.Origin
		set = append(set, struct {
			key  string
			page *Page
		}{key, p})
	}
	c.pages[pages] = set
}

// ErrorPage returns the page in the place of a response with a status; nil: there is none. Pages of
// later rules take precedence, and those of the site come last. d is nil for a request that was
// answered before the rules.
func (s *Site) ErrorPage(d *Decision, status int) *Page {
	if d == nil {
		d = &s.whole
	}
	for _, pages := range slices.Backward(d.ErrorPages) {
		if p := s.pages[pages].of(status); p != nil {
			return p
		}
	}
	return nil
}
