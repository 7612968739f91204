package fetch

import (
	"slices"

	"github.com/iconedge/iconedge/edge/cache"
)

// compresses reports whether clients may get the response in content codings.
func (q *Request) compresses() bool {
	return q.Site != nil && q.Site.Compress && (q.Ruled == nil || q.Ruled.Compress == nil || *q.Ruled.Compress)
}

// tag adds the surrogate keys of the rules to an entry, and those by which a purge of its address
// finds it.
func (q *Request) tag(e *cache.Entry) {
	d := q.Ruled
	if d == nil {
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
		if d.Key.Host != nil && !*d.Key.Host {
			tags = append(tags, cache.SharedTag(d.Site.Name, target))
		}
	}
	return tags
}
