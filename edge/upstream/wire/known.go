package wire

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
)

// A Known is the fields that many responses of an origin have in common, such as those of the icons
// of one pack. They are parsed and checked once.
type Known struct {
	Header http.Header // without the fields of Values; never changed
	// Made is what the caller has made of the fields; nil: nothing yet.
	Made atomic.Value
}

// maxKnown is the number of different heads in a table. A library has some hundreds.
const maxKnown = 1 << 11

// KnownHeads is a table of heads, by their shared lines (Split).
type KnownHeads struct {
	mu     sync.RWMutex
	byText map[string]*Known
}

// Of returns the head with these shared lines; nil: it is not known.
func (t *KnownHeads) Of(lines []byte) *Known {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byText[string(lines)]
}

// Add adds the head of a response, with the fields that callers use.
func (t *KnownHeads) Add(lines string, h http.Header) {
	h = maps.Clone(h)
	for name := range (Values{}).fields() {
		delete(h, name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byText == nil || len(t.byText) >= maxKnown {
		t.byText = map[string]*Known{}
	}
	t.byText[lines] = &Known{Header: h}
}

func (v Values) fields() map[string]string {
	return map[string]string{"Content-Length": strconv.FormatInt(v.Length, 10), "Etag": v.ETag,
		"Last-Modified": v.LastModified, "Surrogate-Key": v.SurrogateKey, "Date": v.Date}
}

// Whole returns all fields of a response with these values.
func (k *Known) Whole(v Values) http.Header {
	h := make(http.Header, len(k.Header)+5)
	for name, lines := range k.Header {
		h[name] = lines[:len(lines):len(lines)]
	}
	for name, value := range v.fields() {
		if value != "" {
			h[name] = []string{value}
		}
	}
	return h
}
