//go:build linux

package fleet

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"
)

// A sum tells bodies apart.
type sum256 [sha256.Size]byte

// A judge knows what the origin answers to each question in each release, and compares.
type judge struct {
	icons, api, searches, missing []string // targets; icons are sorted by how often they are asked for
	cold                          []string // that nobody has asked for
	reserved                      []string // the same, but for phases to ask for
	changing                      []string // icons that the next release has in another drawing
	firstRelease                  string

	mu      sync.Mutex
	right   map[string]map[string]fact // by target and release
	tags    map[string]sum256          // what a strong ETag stood for, by target and ETag
	allowed []string                   // releases that may be shown now
	noting  bool                       // a release is being exchanged
	pending []seen                     // answers meanwhile that none of those releases has
	during  []seen                     // answers meanwhile to what changes
}

// A fact is the origin's answer.
type fact struct {
	sum  sum256
	etag string
}

// A seen is an answer that is judged later.
type seen struct {
	question
	answer
	sum   sum256
	tally *tally
}

// A verdict is what an answer was.
type verdict uint8

const (
	right  verdict = iota
	wrong          // not what the origin says
	failed         // none, or one that says so
	later          // known when the release is
)

// count judges an answer, and counts it.
func (j *judge) count(t *tally, q question, a answer) {
	v, why := j.see(t, q, a)
	t.add(q, a, v, why)
}

// see judges an answer. why is in words what is the matter.
func (j *judge) see(t *tally, q question, a answer) (v verdict, why string) {
	switch {
	case a.err != nil:
		return failed, a.err.Error()
	case a.status >= 500, a.status == http.StatusTooManyRequests, a.status == http.StatusForbidden:
		return failed, fmt.Sprintf("status %d", a.status)
	case a.status == http.StatusNotModified && q.kind == ofConditional:
		return j.unchanged(q, a)
	case a.status != q.want():
		return wrong, fmt.Sprintf("status %d, wanted %d", a.status, q.want())
	case q.kind == ofMissing:
		return right, ""
	}
	body, err := decoded(a)
	if err != nil {
		return wrong, err.Error()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.compare(seen{q, a, sha256.Sum256(body), t})
}

// compare judges a 200 by its body and its ETag.
func (j *judge) compare(s seen) (verdict, string) {
	etag := s.header.Get("ETag")
	if etag == "" {
		return wrong, "no ETag"
	}
	raw, key := sum256(sha256.Sum256(s.body)), s.target+" "+etag
	if before, ok := j.tags[key]; ok && before != raw { // a strong ETag is that of these bytes alone (RFC 9110, section 8.8.1)
		return wrong, "an ETag that other bytes had"
	}
	j.tags[key] = raw
	if j.noting && slices.Contains(j.changing, s.target) {
		j.during = append(j.during, s)
	}
	return j.known(s)
}

// known compares with the releases that may be shown; while they are being exchanged, what none of them has is kept for settle.
func (j *judge) known(s seen) (verdict, string) {
	elsewhere := false
	for release, f := range j.right[s.target] {
		if f.sum != s.sum {
			continue
		}
		if slices.Contains(j.allowed, release) {
			return j.sameTag(s, f)
		}
		elsewhere = true
	}
	switch {
	case j.noting:
		j.pending = append(j.pending, s)
		return later, ""
	case elsewhere:
		return wrong, "the drawing of a release that is over"
	}
	return wrong, "a body that the origin never had"
}

// sameTag holds the ETag of an answer without a coding against the origin's.
func (j *judge) sameTag(s seen, f fact) (verdict, string) {
	if s.header.Get("Content-Encoding") == "" && s.header.Get("ETag") != f.etag {
		return wrong, "the origin's body with another ETag"
	}
	return right, ""
}

// unchanged judges a 304: the ETag must be that of a release that may be shown.
func (j *judge) unchanged(q question, a answer) (verdict, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(a.body) > 0 || a.header.Get("ETag") != q.etag {
		return wrong, "a 304 with a body or another ETag"
	}
	for _, release := range j.allowed {
		if j.right[q.target][release].etag == q.etag {
			return right, ""
		}
	}
	return wrong, "a 304 for a release that is over"
}

// decoded is the body without its coding.
func decoded(a answer) ([]byte, error) {
	switch coding := a.header.Get("Content-Encoding"); coding {
	case "":
		return a.body, nil
	case "gzip":
		r, err := gzip.NewReader(bytes.NewReader(a.body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case "br":
		return io.ReadAll(brotli.NewReader(bytes.NewReader(a.body)))
	default:
		return nil, fmt.Errorf("a coding that nobody asked for: %s", coding)
	}
}

// etagOf is what a client has that got a target while this release was shown.
func (j *judge) etagOf(target string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.right[target][j.allowed[0]].etag
}

// knows reports whether a release was learnt.
func (j *judge) knows(release string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.right[j.icons[0]][release]
	return ok
}
