package vhosts

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
)

// Edit edits header fields: first it removes, then sets, then adds.
func Edit(h http.Header, edits []*config.Edits) {
	for _, e := range edits {
		for _, name := range e.Remove {
			h.Del(name)
		}
		for name, value := range e.Set {
			h.Set(name, value)
		}
		for name, value := range e.Add {
			h.Add(name, value)
		}
	}
}

// stripped reports whether a cookie is one of those that a decision strips.
func stripped(d *rules.Decision, name string) bool {
	return d.StripAll || slices.ContainsFunc(d.StripCookies, func(p string) bool {
		stem, wild := strings.CutSuffix(p, "*")
		return p == name || wild && strings.HasPrefix(name, stem)
	})
}

// strips reports whether a cookie of a request is stripped: it is one of those, or has one behind a
// comma, which some applications read as the end of a cookie.
func strips(d *rules.Decision, pair string) bool {
	for part := range strings.SplitSeq(pair, ",") {
		name, _, _ := strings.Cut(part, "=")
		if stripped(d, strings.Trim(name, " \t")) {
			return true
		}
	}
	return false
}

// StripRequest removes cookies from the fields of a request.
func StripRequest(h http.Header, d *rules.Decision) {
	if !d.StripAll && d.StripCookies == nil || len(h["Cookie"]) == 0 {
		return
	}
	var kept []string
	for _, line := range h["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if pair = strings.Trim(pair, " \t"); pair != "" && !strips(d, pair) {
				kept = append(kept, pair)
			}
		}
	}
	delete(h, "Cookie")
	if len(kept) > 0 {
		h["Cookie"] = []string{strings.Join(kept, "; ")}
	}
}

// StripResponse removes Set-Cookie lines from the fields of a response: those of the stripped
// cookies, and all if storing is forced.
func StripResponse(h http.Header, d *rules.Decision) {
	if len(h["Set-Cookie"]) == 0 {
		return
	}
	h["Set-Cookie"] = slices.DeleteFunc(slices.Clone(h["Set-Cookie"]), func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return d.Cache == "force" || stripped(d, strings.Trim(name, " \t"))
	})
	if len(h["Set-Cookie"]) == 0 {
		delete(h, "Set-Cookie")
	}
}

// Override returns what a decision replaces of the responses' own caching; nil: nothing.
func Override(d *rules.Decision, s *Site) *cachepolicy.Override {
	o := &cachepolicy.Override{Force: d.Cache == "force", StaleIfError: (*time.Duration)(d.StaleIfError)}
	if d.TTL != nil {
		o.TTL = d.TTL.Of
	}
	if d.Grace != s.Rules.Grace() {
		o.Grace = (*time.Duration)(d.Grace)
	}
	if o.TTL == nil && o.Grace == nil && o.StaleIfError == nil && !o.Force {
		return nil
	}
	return o
}
