package vhosts

import (
	"slices"
	"strings"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/glob"
)

// A Site is a virtual host: what an operator decides about the requests for it. It never changes
// while requests use it.
type Site struct {
	Name     string
	ProxyAll bool        // paths that are none of the edge's own are forwarded
	Rules    *rules.Site // nil: none
	// Client limits all requests of a client to the site, Forwarded those that the edge forwards.
	// With flags alone access.Admission limits the latter.
	Client, Forwarded Limit
	// Origins are the upstreams by name. Without rules there is one, of the empty name.
	Origins map[string]*Upstream

	// Icons means that the edge has paths of its own: icon routes, the API, and a
	// health check. Responses of the edge itself then have the fields that pages of other sites
	// need to read them.
	Icons       bool
	Pages       bool         // the edge serves the pages of the site
	Iconify     bool         // the edge answers the addresses of Iconify's API
	Maintenance *Maintenance // nil: the site is always open
	HealthPath  string       // the path of the public health check; empty: none
	// Compress says which responses of forwarded paths clients get in content codings, where no
	// rule does. It is never empty.
	Compress config.Compress
	// Dictionaries says which responses of forwarded paths clients may use as dictionaries, where
	// no rule does. Unless it is off, clients get searches compressed against the library's list of
	// packs. It is never empty.
	Dictionaries config.Dictionaries
	// EncodingAsSent: origins and cache keys get Accept-Encoding as clients send it.
	EncodingAsSent bool
	CacheGroups    Grouping           // never empty
	Policy         cachepolicy.Policy // the cache policy of forwarded requests
	PassedFields   map[string]bool    // request fields that the edge lets through to the origin

	mounts    []string    // hosts whose root is the mount of Iconify's API, in lower case
	ignored   *glob.Names // query parameters that are no part of the cache key; nil: none
	bypassing *glob.Names // cookies whose requests bypass the cache; nil: none
}

// ResponseEdits returns the edits of responses by the site itself.
func (s *Site) ResponseEdits() []*config.ResponseEdits {
	if s.Rules == nil {
		return nil
	}
	return s.Rules.ResponseEdits()
}

// Compresses returns which responses clients get in content codings, by the decision of the rules;
// nil: there are none.
func (s *Site) Compresses(d *rules.Decision) config.Compress {
	if d == nil || d.Compress == nil || s.Compress == config.CompressOff {
		return s.Compress
	}
	return *d.Compress
}

// KeepsDictionaries returns which responses clients may use as dictionaries, by the decision of the
// rules; nil: there are none. Without content codings none are of use, and a response that the
// operator forces to be stored may be private.
func (s *Site) KeepsDictionaries(d *rules.Decision) config.Dictionaries {
	switch {
	case s.Dictionaries == config.DictionariesOff || s.Compresses(d) == config.CompressOff, d != nil && d.Cache == "force":
		return config.DictionariesOff
	case d == nil || d.Dictionaries == nil:
		return s.Dictionaries
	}
	return *d.Dictionaries
}

// CompressesByDictionary reports whether clients may get the responses of a route of our own
// compressed against a dictionary.
func (s *Site) CompressesByDictionary(route routes.Route) bool {
	return route == routes.IconifySearch && s.Dictionaries != config.DictionariesOff
}

// ClientHost reports whether the origin of a site without rules gets the client's Host.
func (s *Site) ClientHost() bool { return s.Origins[""] != nil && s.Origins[""].ClientHost }

// IsMount reports whether the root of a host is the mount of Iconify's API. The host has no port.
func (s *Site) IsMount(host string) bool {
	return len(s.mounts) > 0 && slices.Contains(s.mounts, strings.ToLower(host))
}

// IsHealthPath reports whether a path is that of the public health check.
func (s *Site) IsHealthPath(path string) bool { return path != "" && path == s.HealthPath }

// Key returns the path and query under which the response to a forwarded target is stored: the
// target without the ignored parameters. The others keep their order and their spelling.
func (s *Site) Key(target string) string {
	if s.ignored == nil || !strings.Contains(target, "?") {
		return target
	}
	return string(s.AppendKey(nil, target))
}

// AppendKey appends Key.
func (s *Site) AppendKey(dst []byte, target string) []byte {
	path, query, has := strings.Cut(target, "?")
	if s.ignored == nil || !has {
		return append(dst, target...)
	}
	dst = append(dst, path...)
	separator := byte('?')
	for parameter := range strings.SplitSeq(query, "&") {
		if !s.ignores(parameter) {
			dst = append(append(dst, separator), parameter...)
			separator = '&'
		}
	}
	return dst
}

// ignores reports whether a parameter is no part of the key. One with a semicolon always is,
// because some applications find a second parameter after the semicolon: a client could send the
// value of that parameter to the origin without its being part of the key.
func (s *Site) ignores(parameter string) bool {
	name, _, _ := strings.Cut(parameter, "=")
	return s.ignored.Match(name) && !strings.Contains(parameter, ";")
}

// Bypasses reports whether a request with these Cookie lines bypasses the cache. Some applications
// split cookies at commas too, so Bypasses finds a name after either separator.
func (s *Site) Bypasses(cookies []string) bool {
	if s.bypassing == nil {
		return false
	}
	separator := func(r rune) bool { return r == ';' || r == ',' }
	for _, line := range cookies {
		for pair := range strings.FieldsFuncSeq(line, separator) {
			name, _, _ := strings.Cut(pair, "=")
			if s.bypassing.Match(strings.Trim(name, " \t")) {
				return true
			}
		}
	}
	return false
}
