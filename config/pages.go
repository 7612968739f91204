package config

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ErrorPages are the responses in the place of errors, by statuses: 404, 5xx, or several by commas.
type ErrorPages map[string]ErrorPage

// An ErrorPage is the response in the place of an error.
type ErrorPage struct {
	File       string    `json:"file"`
	Status     int       `json:"status,omitempty"`      // 0: that of the error
	RetryAfter *Duration `json:"retry_after,omitempty"` // nil: that of the error, if it has one
	Origin     bool      `json:"origin,omitempty"`      // also in the place of errors of the origin
}

// Maintenance closes a site while a file exists, and answers with it.
type Maintenance struct {
	File       string    `json:"file"`
	Allow      Strings   `json:"allow,omitempty"` // networks for which the site is open
	RetryAfter *Duration `json:"retry_after,omitempty"`
}

// Has reports whether a key of ErrorPages names a status, and whether it does so by itself and not
// by its class.
func (ErrorPages) Has(key string, status int) (has, exact bool) {
	for one := range strings.SplitSeq(key, ",") {
		if one = strings.TrimSpace(one); HasStatus(one, status) {
			if has = true; one[1:] != "xx" {
				return true, true
			}
		}
	}
	return has, false
}

func (d *decoder) errorPages(path string, pages *ErrorPages) {
	if pages == nil {
		return
	}
	for key, page := range *pages {
		at := path + "." + clip(key)
		for one := range strings.SplitSeq(key, ",") {
			if one = strings.TrimSpace(one); !isStatus(one) || one[0] < '4' {
				d.wrong(at, fmt.Sprintf("%q is no status of an error; must be statuses from 400 to 599, such as 404, 5xx or \"502,503\"",
					clip(one)))
			}
		}
		if page.File == "" {
			d.wrong(at+".file", "missing; must be a file, such as /etc/iconedge/404.html")
		}
		bodyless := []int{http.StatusNoContent, http.StatusResetContent, http.StatusNotModified}
		if s := page.Status; s != 0 && (s < http.StatusOK || s > 599 || slices.Contains(bodyless, s)) {
			d.wrong(at+".status", fmt.Sprintf("%d is no status of a response with a body; must be from 200 to 599", s))
		}
	}
}

func (d *decoder) maintenance(path string, m *Maintenance) {
	if m == nil {
		return
	}
	if m.File == "" {
		d.wrong(path+".file", "missing; must be a file, such as /etc/iconedge/maintenance.html")
	}
	d.networks(path+".allow", m.Allow)
}
