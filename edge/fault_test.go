package edge

import (
	"net/http"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/icon"
)

// That a drawing is not there is believed to whoever said before that it was: an origin of ours names its release, and a page of
// somebody else's in its place does not.
func TestNotFoundByWhoseWord(t *testing.T) {
	const key = "/mdi/home.svg"
	for _, row := range []struct {
		name          string
		before, after string // release that the origin names
		gone          bool
	}{
		{"our origin says so", releaseA, releaseA, true},
		{"our origin in another release", releaseA, releaseB, true},
		{"somebody else in its place", releaseA, "", false},
		{"an origin that names none", "", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			status, release := http.StatusOK, row.before
			e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", iconLife)
				if release != "" {
					w.Header().Set(icon.FieldRelease, release)
				}
				w.WriteHeader(status)
			}))
			e.get(t, key)
			e.age(t, key, 25*time.Hour)
			status, release = http.StatusNotFound, row.after
			q := &inquiry{key: key, own: true, header: plain, asks: cachepolicy.Request{Method: http.MethodGet, Target: key}}
			if l := e.ask(q, e.cache.Get(key)); (l.Err == nil) != row.gone {
				t.Errorf("the 404 is believed: %v, want %v", l.Err == nil, row.gone)
			}
			if kept := e.cache.Get(key); kept == nil || (kept.Status == http.StatusOK) == row.gone {
				t.Errorf("what is kept is %+v", kept)
			}
		})
	}
}
