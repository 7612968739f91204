package cache

import (
	"strings"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/cache/queries"
)

// These types are the cache's for every package that uses it.
type (
	// An Entry is one complete response.
	Entry = entry.Entry
	// An Object is a body that is stored in slices.
	Object = entry.Object
	// A Field is one header field of a response.
	Field = entry.Field
	// A Head is the header fields of an entry in serialised form.
	Head = entry.Head
	// A Purge specifies entries.
	Purge = invalidation.Purge
	// A QueryRule is what responses for a host and a path have said about queries.
	QueryRule = queries.Rule
	// A QuerySite knows the rules about queries for the addresses of a site.
	QuerySite = queries.Site
	// A Generation is a moment in the order of drops and purges.
	Generation = invalidation.Generation
)

// TargetTag returns the surrogate key that all entries with a target have whose keys begin with a
// scheme and a host.
func TargetTag(target string) string { return hashes.TargetTag(target) }

// AddressTag returns the surrogate key of responses for a host and a target whose keys have more
// than that. No response can name it, because surrogate keys have no spaces.
func AddressTag(host, target string) string { return " " + strings.ToLower(host) + " " + target }

// GroupTag returns the surrogate key of the responses of an origin, SCHEME://HOST, in a cache group
// (RFC 9875). No response can name it, and no address has it, because no host is empty.
func GroupTag(origin, name string) string { return "  " + strings.ToLower(origin) + " " + name }

// SharedGroupTag is GroupTag for responses that all hosts of a site share.
func SharedGroupTag(site, name string) string { return "  " + site + "/ " + name }

// SharedTag is AddressTag for responses that all hosts of a site share. No host has a slash.
func SharedTag(site, target string) string { return " " + site + "/ " + target }
