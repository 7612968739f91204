package vhosts

import (
	"net/http"
	"slices"
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

// StripResponse removes Set-Cookie lines from the fields of a response.
func StripResponse(h http.Header, d *rules.Decision) {
	if len(h["Set-Cookie"]) == 0 {
		return
	}
	h["Set-Cookie"] = slices.DeleteFunc(slices.Clone(h["Set-Cookie"]), d.StripsSet)
	if len(h["Set-Cookie"]) == 0 {
		delete(h, "Set-Cookie")
	}
}

// Override returns what a decision about a request to a path replaces of the responses' own
// caching; nil: nothing.
func Override(d *rules.Decision, s *Site, path string) *cachepolicy.Override {
	o := &cachepolicy.Override{Path: path, AnyUser: d.AnyUser, Force: d.Cache == "force", StaleIfError: (*time.Duration)(d.StaleIfError)}
	if d.TTL != nil {
		o.TTL = d.TTL.Of
	}
	if d.DefaultTTL != nil {
		o.DefaultTTL = d.DefaultTTL.Of
	}
	if d.Grace != s.Rules.Grace() {
		o.Grace = (*time.Duration)(d.Grace)
	}
	if o.TTL == nil && o.DefaultTTL == nil && o.Grace == nil && o.StaleIfError == nil && !o.Force {
		return nil
	}
	return o
}
