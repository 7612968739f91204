package upstream

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/upstream/wire"
	"github.com/iconedge/iconedge/tier"
)

// A Known is the fields that many responses of an origin of our own have in common: those of the
// icons of one pack. They are parsed and checked once.
type Known struct {
	Header http.Header // without the fields of Values; never changed
	// Made is what the caller has made of the fields; nil: nothing yet.
	Made atomic.Value
}

// Values are the fields of one response that a Known does not have.
type Values = wire.Values

// maxKnown is the number of different heads in the table. A library has some hundreds.
const maxKnown = 1 << 11

// A knownHeads is a table of heads, by their shared lines.
type knownHeads struct {
	mu     sync.RWMutex
	byText map[string]*Known
}

func (t *knownHeads) of(lines []byte) *Known {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byText[string(lines)]
}

// add adds the head of a response.
func (t *knownHeads) add(lines string, h http.Header) {
	h = maps.Clone(h)
	for name := range valueFields(Values{}) {
		delete(h, name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byText == nil || len(t.byText) >= maxKnown {
		t.byText = map[string]*Known{}
	}
	t.byText[lines] = &Known{Header: h}
}

func valueFields(v Values) map[string]string {
	return map[string]string{"Content-Length": strconv.FormatInt(v.Length, 10), "Etag": v.ETag, "Last-Modified": v.LastModified, "Surrogate-Key": v.SurrogateKey, "Date": v.Date}
}

// Fill makes Header that of the whole response, if it is the one of Known.
func (a *Response) Fill() {
	if a.Known == nil {
		return
	}
	h := make(http.Header, len(a.Known.Header)+5)
	for name, lines := range a.Known.Header {
		h[name] = lines[:len(lines):len(lines)]
	}
	for name, value := range valueFields(a.Values) {
		if value != "" {
			h[name] = []string{value}
		}
	}
	a.Header, a.Known = h, nil
}

// parse parses the head of a response. If the caller takes known heads, it looks for it among them
// first.
func (x *leanTry) parse(p []byte) (wire.Head, int, wire.Form) {
	if !x.takesKnown {
		return wire.Parse(p)
	}
	var room [2 << 10]byte
	lines, values, n, ok := wire.Split(room[:0], p)
	if ok {
		if k := x.client.known.of(lines); k != nil {
			x.known, x.values = k, values
			return wire.Head{Status: "200 OK", Code: http.StatusOK, Length: values.Length}, n, wire.Plain
		}
	}
	h, n, form := wire.Parse(p)
	if ok && form == wire.Plain && !h.Close && len(h.Header[x.client.ours]) > 0 && len(h.Header["Age"]) == 0 && len(h.Header[tier.FieldWanted]) == 0 {
		x.unknown = string(lines)
	}
	return h, n, form
}
