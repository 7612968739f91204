//go:build linux

package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/iconedge/iconedge/icon"
)

const (
	iconCount    = 20 // that clients request
	iconsChanged = 10 // of them, by a new release
)

// health is the kind of the health checks of origins, which edges send whether clients come or not.
const health = "health checks"

// An origin behaves like our own as far as an edge can see, and counts the requests.
type origin struct {
	mu       sync.Mutex
	release  int
	contents map[string]int // how often the SVG at a path has changed
	counts   map[string]int // requests, by kind
}

func newOrigin() *origin {
	return &origin{release: 1, contents: map[string]int{}, counts: map[string]int{}}
}

// releaseID returns the id of release n.
func releaseID(n int) string { return fmt.Sprintf("%032x", n) }

// iconPath returns the path of icon n, and iconKey its surrogate key.
func iconPath(n int) string { return fmt.Sprintf("/sim/icon-%02d.svg", n) }
func iconKey(n int) string  { return fmt.Sprintf("icon/sim/icon-%02d", n) }

// flip publishes a release in which the first icons have changed, and returns its id.
func (o *origin) flip() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.release++
	for i := range iconsChanged {
		o.contents[iconPath(i)]++
	}
	return releaseID(o.release)
}

// change changes an SVG without a release, as another application would.
func (o *origin) change(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.contents[path]++
}

// svg returns the SVG at a path, whose content changes with each change.
func (o *origin) svg(path string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><!-- %d --></svg>`, o.contents[path])
}

// counted returns the requests since before, by kind, and in all, without health checks.
func (o *origin) counted(before map[string]int) (all int, kinds map[string]int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kinds = map[string]int{}
	for kind, n := range o.counts {
		if kinds[kind] = n - before[kind]; kind != health {
			all += kinds[kind]
		}
	}
	return all, kinds
}

// names returns the list of names of a release.
func names(release int) []byte {
	return icon.AppendNames(nil, func(yield func(icon.PackNames) bool) {
		yield(icon.PackNames{Key: "sim", Names: func(yield func(string, bool) bool) {
			for i := range iconCount {
				if !yield(fmt.Sprintf("icon-%02d", i), false) {
					return
				}
			}
			yield(fmt.Sprintf("name-of-release-%d", release), false)
		}})
	})
}

// ServeHTTP implements http.Handler.
func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := "icons"
	switch {
	case strings.HasPrefix(r.URL.Path, "/-/"):
		kind = strings.TrimPrefix(r.URL.Path, "/-/")
	case strings.HasPrefix(r.URL.Path, "/api/"):
		kind = "api"
	case r.URL.Path == "/healthz":
		kind = health
	}
	o.mu.Lock()
	o.counts[kind]++
	release := o.release
	o.mu.Unlock()
	h := w.Header()
	h.Set(icon.FieldRelease, releaseID(release))
	switch kind {
	case "release":
		o.serveRelease(w, r.URL.Query().Get("since"), release)
	case "names":
		list := names(release)
		h.Set("Cache-Control", "public, max-age=31536000, immutable, no-transform")
		h.Set("Content-Length", fmt.Sprint(len(list)))
		w.Write(list)
	case "api":
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "public, max-age=300")
		fmt.Fprint(w, `{"icons":[]}`)
	default:
		h.Set("Content-Type", "image/svg+xml")
		h.Set("Cache-Control", "public, max-age=86400")
		h.Set("Surrogate-Key", "icon/"+strings.TrimSuffix(r.URL.Path[1:], ".svg"))
		svg := o.svg(r.URL.Path)
		h.Set("ETag", fmt.Sprintf("%q", hex.EncodeToString(hash(svg))[:16]))
		fmt.Fprint(w, svg)
	}
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func (o *origin) serveRelease(w http.ResponseWriter, since string, release int) {
	a := icon.ReleaseAnswer{Release: releaseID(release), Created: "2026-11-29T00:00:00Z", Since: since, Changed: []string{},
		Names: hex.EncodeToString(hash(string(names(release))))}
	switch since {
	case releaseID(release):
	case releaseID(release - 1):
		for i := range iconsChanged {
			a.Changed = append(a.Changed, iconKey(i))
		}
	default:
		a.All = true
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(a)
}
