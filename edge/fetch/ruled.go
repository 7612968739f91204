package fetch

import (
	"net/http"
	"slices"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// compresses returns which responses clients may get in content codings.
func (q *Request) compresses() config.Compress {
	if q.Site == nil {
		return config.CompressOff
	}
	return q.Site.Compresses(q.Ruled.Decided())
}

// tag adds the surrogate keys of cache groups and of the rules to the entry of a response with the
// fields h, and those by which a purge of its address finds it although its key has more than that.
func (q *Request) tag(e *cache.Entry, h http.Header) {
	q.group(e, h)
	d := q.Ruled
	if d == nil {
		if q.Policy.ContentKeyed {
			target := q.Site.Key(q.Target)
			e.Tags = append(e.Tags, cache.TargetTag(target), cache.AddressTag(q.Policy.Host, target))
		}
		return
	}
	e.Tags = append(e.Tags, cache.TargetTag(d.Site.CacheTarget(&d.Decision, &d.Request)))
	e.Tags = append(append(e.Tags, q.AddressTags()...), d.Tags...)
}

// AddressTags returns the surrogate keys by which a purge of the address of a ruled request finds
// its response: of the target in the cache, and of the client's own.
func (q *Request) AddressTags() (tags []string) {
	d := q.Ruled
	targets := []string{d.Site.CacheTarget(&d.Decision, &d.Request), d.Request.Target}
	for _, target := range slices.Compact(targets) {
		tags = append(tags, cache.AddressTag(q.Policy.Host, target))
		if d.SharedByHosts() {
			tags = append(tags, cache.SharedTag(d.Site.Name, target))
		}
	}
	return tags
}

// group adds the surrogate keys of a response's cache groups (RFC 9875) to its entry. A response
// that all hosts of a site share is in the groups of the site.
func (q *Request) group(e *cache.Entry, h http.Header) {
	names, _ := q.groups(h)
	for _, name := range names {
		if q.Ruled != nil && q.Ruled.SharedByHosts() {
			e.Tags = append(e.Tags, cache.SharedGroupTag(q.Site.Name, name))
		} else {
			e.Tags = append(e.Tags, cache.GroupTag(q.URIOrigin(), name))
		}
	}
}

// groups returns the cache groups of a response with the fields h that the site follows, and how
// many others it ignores because of their limits. On our own routes there are none.
func (q *Request) groups(h http.Header) (names []string, ignored int) {
	if q.Site == nil || q.Site.CacheGroups == vhosts.NoGroups {
		return nil, 0
	}
	return cachepolicy.Groups(h)
}

// URIOrigin returns the origin of the request's address, SCHEME://HOST (RFC 9110, section 4.3.1).
func (q *Request) URIOrigin() string { return q.Forwarded.Scheme + "://" + q.Policy.Host }
