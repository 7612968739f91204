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

// A sum identifies a body.
type sum256 [sha256.Size]byte

// A judge knows the origin's response to each question in each release, and compares answers with
// it.
type judge struct {
	icons, api, searches, missing []string // targets; icons are sorted by popularity
	cold                          []string // icons that were never requested
	reserved                      []string // more of them, for the phases
	changing                      []string // icons whose SVG differs in the next release
	firstRelease                  string

	mu      sync.Mutex
	right   map[string]map[string]fact // by target and release
	tags    map[string]sum256          // hash of the body of each strong ETag, by target and ETag
	allowed []string                   // releases that edges may serve now
	noting  bool                       // record answers, because a release is being exchanged
	pending []seen                     // recorded answers that match no known release yet
	during  []seen                     // recorded answers for icons that change
}

// A fact is the origin's response.
type fact struct {
	sum  sum256
	etag string
}

// A seen is an answer to be judged later.
type seen struct {
	question
	answer
	sum   sum256
	tally *tally
}

// A verdict is the result of a comparison.
type verdict uint8

const (
	right  verdict = iota
	wrong          // differs from the origin's response
	failed         // no response, or an error status
	later          // to be judged when the release is known
)

// count judges an answer and counts it.
func (j *judge) count(t *tally, q question, a answer) {
	v, why := j.see(t, q, a)
	t.add(q, a, v, why)
}

// see judges an answer. The string why describes a problem.
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

// compare judges a 200 by its body and ETag.
func (j *judge) compare(s seen) (verdict, string) {
	etag := s.header.Get("ETag")
	if etag == "" {
		return wrong, "no ETag"
	}
	raw, key := sum256(sha256.Sum256(s.body)), s.target+" "+etag
	// a strong ETag identifies one sequence of bytes (RFC 9110, section 8.8.1)
	if before, ok := j.tags[key]; ok && before != raw {
		return wrong, "an ETag that identified other bytes before"
	}
	j.tags[key] = raw
	if j.noting && slices.Contains(j.changing, s.target) {
		j.during = append(j.during, s)
	}
	return j.known(s)
}

// known compares an answer with the allowed releases. During an exchange it keeps an answer that
// matches none of them for settle.
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
		return wrong, "the SVG of an earlier release"
	}
	return wrong, "a body that the origin never sent"
}

// sameTag compares the ETag of a response without a coding with the origin's.
func (j *judge) sameTag(s seen, f fact) (verdict, string) {
	if s.header.Get("Content-Encoding") == "" && s.header.Get("ETag") != f.etag {
		return wrong, fmt.Sprintf("the origin's body with the ETag %s instead of %s", s.header.Get("ETag"), f.etag)
	}
	return right, ""
}

// unchanged judges a 304: its ETag must belong to an allowed release.
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
	return wrong, "a 304 for an earlier release"
}

// decoded returns the body without its content coding.
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
		return nil, fmt.Errorf("a coding that was not accepted: %s", coding)
	}
}

// etagOf returns the ETag of a client that cached a target during the current release.
func (j *judge) etagOf(target string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.right[target][j.allowed[0]].etag
}

// knows reports whether the origin's responses in a release are known.
func (j *judge) knows(release string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.right[j.icons[0]][release]
	return ok
}
