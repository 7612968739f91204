// Package forwarded answers requests for paths of other applications, strictly by RFC 9111: from
// the cache, or with the response of the origin, which it passes on as it comes. query.go has the
// requests with their content in the key, slices.go serves large objects, tunnel.go passes
// upgrades, ruled.go applies the rules of a site, and settings.go has the flags.
package forwarded

import (
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// Options has the components of forwarded.
type Options struct {
	Bounds    fetch.Bounds
	Clock     clock.Clock
	Clients   access.Clients
	Cache     *cache.Cache
	OnDisk    bool // the cache may have entries of an earlier process
	Library   *library.Library
	Admission *access.Admission
	Tunnels   *tunnel.Set
	Sites     func() *vhosts.Set
	// Group invalidates the responses of a URI origin in cache groups, here and on the other edges.
	Group func(origin string, names []string, hard bool)
}

// An Answerer answers requests for paths of other applications.
type Answerer struct {
	Options
	Finder *fetch.Finder
	Writer *pipeline.Writer
	copies atomic.Int64 // of requests, in flight
	// keyedContent: the cache may have responses whose keys have the content of their requests.
	keyedContent atomic.Bool
}
