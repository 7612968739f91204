//go:build linux

package fleet

import (
	"net/http"

	"github.com/iconedge/iconedge/loadtest/mix"
)

// A kind is what a request is for.
type kind uint8

const (
	ofIcon        kind = iota // at the CDN path; every edge has had it
	ofConditional             // the same, by a client that has it
	ofAPI                     // the same, as JSON
	ofSearch
	ofMissing // a name that there is not
	ofCold    // an icon that nobody has asked for
	kinds
)

// cached reports whether an edge can answer from its cache without anybody's help: such answers must never be wrong or fail.
func (k kind) cached() bool { return k == ofIcon || k == ofConditional }

// share is how many of a hundred requests are of this kind.
var share = [kinds]float64{ofIcon: 72, ofConditional: 18, ofAPI: 4, ofSearch: 2, ofMissing: 2, ofCold: 2}

// A question is one that may be asked again and again.
type question struct {
	kind   kind
	target string
	etag   string // that a conditional one names
}

// The codings that clients take, by turns: browsers' and none.
var accepts = []string{"Accept-Encoding: gzip, br", "Accept-Encoding: gzip", ""}

// request serialises a question as client number n puts it.
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

// want is the status that answers a question.
func (q question) want() int {
	if q.kind == ofMissing {
		return http.StatusNotFound
	}
	return http.StatusOK
}
