//go:build linux

package fleet

import (
	"net/http"

	"github.com/iconedge/iconedge/loadtest/mix"
)

// A kind is a kind of request.
type kind uint8

const (
	ofIcon        kind = iota // at the CDN path; every edge has it cached
	ofConditional             // the same, from a client with a cached copy
	ofAPI                     // the same, as JSON from the API
	ofSearch
	ofMissing // a name that does not exist
	ofCold    // an icon that was never requested
	kinds
)

// cached reports whether an edge can answer from its cache without other nodes: such an answer must
// never be wrong or fail.
func (k kind) cached() bool { return k == ofIcon || k == ofConditional }

// share is the percentage of requests of each kind.
var share = [kinds]float64{ofIcon: 72, ofConditional: 18, ofAPI: 4, ofSearch: 2, ofMissing: 2, ofCold: 2}

// A question is a request that may be sent repeatedly.
type question struct {
	kind   kind
	target string
	etag   string // the ETag of a conditional request
}

// The Accept-Encoding fields of clients, in turn.
var accepts = []string{"Accept-Encoding: gzip, br", "Accept-Encoding: gzip", ""}

// request serialises a question for client n.
func (q question) request(n int, keep bool) []byte {
	m := mix.Maker{Host: "icons.example"}
	var fields []string
	if accept := accepts[n%len(accepts)]; accept != "" && q.etag == "" {
		fields = append(fields, accept)
	}
	if q.etag != "" {
		fields = append(fields, "If-None-Match: "+q.etag)
	}
	if !keep {
		fields = append(fields, "Connection: close")
	}
	return m.Get(q.target, fields...)
}

// want returns the expected status.
func (q question) want() int {
	if q.kind == ofMissing {
		return http.StatusNotFound
	}
	return http.StatusOK
}
