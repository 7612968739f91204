package site

import (
	"net/url"
	"strconv"
	"strings"
)

// A query builds the query of an address.
type query []string

func (q *query) add(name, value string) {
	if value != "" {
		*q = append(*q, name+"="+url.QueryEscape(value))
	}
}

// addNumber adds a number, unless it is 0.
func (q *query) addNumber(name string, n int) {
	if n != 0 {
		q.add(name, strconv.Itoa(n))
	}
}

// addPage adds the number of a page, unless it is the first.
func (q *query) addPage(page int) {
	if page > 1 {
		q.add("page", strconv.Itoa(page))
	}
}

// String returns the query with its question mark; empty, if it has no parameters.
func (q query) String() string {
	if len(q) == 0 {
		return ""
	}
	return "?" + strings.Join(q, "&")
}

// A pager links the pages of a list.
type pager struct {
	Page, Pages int
	address     func(page int) string
}

// Prev and Next return the address of the page before and after this one; empty: there is none.
func (p pager) Prev() string { return p.of(p.Page - 1) }
func (p pager) Next() string { return p.of(p.Page + 1) }

func (p pager) of(page int) string {
	if page < 1 || page > p.Pages {
		return ""
	}
	return p.address(page)
}

// A pageLink is a numbered link. A link without an address stands for the pages between two others.
type pageLink struct {
	Number  int
	Address string
	Current bool
}

// around is how many pages on either side of the current one have a link.
const around = 2

// Links returns the numbered links: to the first and the last page, and to those around this one.
func (p pager) Links() (links []pageLink) {
	for n := 1; n <= p.Pages; n++ {
		if n != 1 && n != p.Pages && (n < p.Page-around || n > p.Page+around) {
			if last := len(links) - 1; links[last].Address != "" {
				links = append(links, pageLink{})
			}
			continue
		}
		links = append(links, pageLink{n, p.address(n), n == p.Page})
	}
	return links
}
