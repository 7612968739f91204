package owntest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/coding"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// Two releases of an Origin, and the Cache-Control of its responses.
const (
	ReleaseA = "0123456789abcdef0123456789abcdef"
	ReleaseB = "fedcba9876543210fedcba9876543210"
	IconLife = "public, max-age=86400, stale-while-revalidate=604800, stale-if-error=604800"
	ListLife = "public, max-age=300, stale-while-revalidate=3600, stale-if-error=86400"
)

// An Origin behaves like our own origin, as far as an edge can see. It has a few icons, and a
// search that repeats its target.
type Origin struct {
	mu      sync.Mutex
	Release string
	Changed []string // since the other release
	// Withdrawn icons make the state another one than the release.
	Withdrawn []string
	Hold      func(target string)
	Broken    bool
	requests  map[string]int // by target
}

// NewOrigin returns an origin with the first release.
func NewOrigin() *Origin { return &Origin{Release: ReleaseA, requests: map[string]int{}} }

// Set calls f, which may change the fields while requests are in flight.
func (l *Origin) Set(f func()) { l.mu.Lock(); defer l.mu.Unlock(); f() }

// Count returns the number of requests for a target.
func (l *Origin) Count(target string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests[target]
}

var path = strings.Repeat(`<path fill="currentColor" d="M10 20v-6h4v6h5v-8h3L12 3L2 12h3v8z"/>`, 4)

// SVG returns each icon of a release.
func SVG(release string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><!--` + release[:4] + "-->" + path + "</svg>"
}

// Gzip returns a body in gzip, as an Origin sends it.
func Gzip(body []byte) []byte { return coding.Encode(entry.Gzip, body) }

// ServeHTTP implements http.Handler.
func (l *Origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.URL.RequestURI()
	l.mu.Lock()
	l.requests[target]++
	release, broken, hold := l.Release, l.Broken, l.Hold
	l.mu.Unlock()
	if hold != nil {
		hold(target)
	}
	h := w.Header()
	h.Set(icon.FieldRelease, release)
	h.Set("Server", "secret/1.0")
	h.Set("Set-Cookie", "secret=1")
	if broken || strings.HasPrefix(target, "/broken/") {
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, "secret: stack trace")
		return
	}
	switch path, _, _ := strings.Cut(target, "?"); path {
	case "/", "/search", "/icon/mdi/home":
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Cache-Control", "public, max-age=60, stale-while-revalidate=3600")
		h.Set("Surrogate-Key", "pages library")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		if strings.Contains(target, "invalid=") {
			w.WriteHeader(http.StatusBadRequest)
		}
		io.WriteString(w, "<h1>page "+target+"</h1>"+strings.Repeat("<p>text</p>", 100))
	case "/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg", "/brand/visa.svg":
		name := strings.TrimSuffix(path[1:], ".svg")
		pack, _, _ := strings.Cut(name, "/")
		etag, coded := `"`+name[len(pack)+1:]+release[:4]+`"`, r.Header.Get("Accept-Encoding") == "gzip"
		if coded {
			etag = strings.TrimSuffix(etag, `"`) + `-gz"`
		}
		h.Set("Cache-Control", IconLife)
		h.Set("ETag", etag)
		h.Set("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT")
		h.Set("Surrogate-Key", "icon/"+name+" pack/"+pack+" release/"+release)
		h.Set("Link", `<https://licences.test/mit>; rel="license"`)
		if r.URL.Query().Has("stroke") {
			h.Set("Icon-Restroked", "?0")
		}
		h.Set(icon.FieldMonochrome, map[string]string{"mdi": "?1", "fc": "?0", "brand": "?1;own"}[pack])
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", "image/svg+xml")
		svg := SVG(release)
		if pack == "brand" {
			svg = strings.ReplaceAll(svg, "currentColor", "#1a1f71")
		}
		if coded {
			h.Set("Content-Encoding", "gzip")
			w.Write(Gzip([]byte(svg)))
			return
		}
		io.WriteString(w, svg)
	case "/api/v1/icon/mdi/home":
		h.Set("Cache-Control", IconLife)
		h.Set("ETag", `"json"`)
		h.Set(icon.FieldMonochrome, "?1")
		h.Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(icon.Answer{Pack: "mdi", Name: "home", SVG: SVG(release), License: "MIT"})
	case "/api/v1/search", "/api/v1/suggest", "/api/v1/packs", "/api/v1/packs/mdi", "/api/v1/openapi.json":
		h.Set("Cache-Control", ListLife)
		h.Set("Surrogate-Key", icon.LibraryKey)
		h.Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"asked":%q}`, target)
	case "/-/bag/icons.zip", "/-/bag/sprite.svg", "/-/card/mdi/home.png", "/-/card/mdi.png", "/-/samples/mdi.svg",
		"/-/row.svg", "/-/row.png":
		h.Set("Cache-Control", "public, max-age=60")
		h.Set("ETag", `"file"`)
		h.Set("Content-Type", map[string]string{".zip": "application/zip", ".svg": "image/svg+xml",
			".png": "image/png"}[path[len(path)-4:]])
		h.Set("Content-Disposition", `attachment; filename="icons.zip"`)
		h.Set("Surrogate-Key", "pages pack/mdi icon/mdi/home")
		fmt.Fprintf(w, "asked %s", target)
	case "/api/v1/auth/verify":
		body, _ := io.ReadAll(r.Body)
		h.Set("Cache-Control", "public, max-age=60")
		h.Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"valid":%v}`, strings.Contains(string(body), "good"))
	case "/-/release":
		l.serveRelease(w, r.URL.Query().Get("since"), release)
	case "/other/dot.svg": // like an origin that is not ours, which colours icons itself
		h.Del(icon.FieldRelease)
		h.Set("Cache-Control", "max-age=60")
		h.Set("Content-Type", "image/svg+xml")
		fmt.Fprintf(w, "<svg>%s</svg>", r.URL.Query().Get("color"))
	case "/other/page.svg":
		h.Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<h1>secret</h1>")
	case "/other/private.svg":
		h.Set("Cache-Control", "private")
		io.WriteString(w, "mine")
	default:
		h.Set("Cache-Control", "public, max-age=5")
		h.Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"about:blank","title":"Not Found","status":404,"detail":"no such icon","suggestions":["home"]}`)
	}
}

func (l *Origin) serveRelease(w http.ResponseWriter, since, release string) {
	a := icon.ReleaseAnswer{Release: release, All: true, Changed: []string{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.Withdrawn) > 0 {
		a.Withdrawn, a.State = l.Withdrawn, release+"-0123456789abcdef"
	}
	if since != "" {
		a.Since, a.All, a.Changed = since, false, l.Changed
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(a)
}

// A Listing is an Origin with a list of names.
type Listing struct {
	*Origin
	List   atomic.Pointer[[]byte]
	Sum    atomic.Pointer[string] // the SHA-256 that the release states; nil: the right one
	Lists  atomic.Int64           // requests for the list
	Others atomic.Int64           // requests for anything but the release and the list
}

// NewListing returns a listing of packs; see Has.
func NewListing(packs ...string) *Listing {
	l := &Listing{Origin: NewOrigin()}
	l.Has(packs...)
	return l
}

// Has replaces the list. Each item of packs is a pack with its icons, such as "mdi account home".
func (l *Listing) Has(packs ...string) {
	list := icon.AppendNames(nil, func(yield func(icon.PackNames) bool) {
		for _, p := range packs {
			names := strings.Fields(p)
			if !yield(icon.PackNames{Key: names[0], Names: func(yield func(string, bool) bool) {
				for _, name := range names[1:] {
					if !yield(name, false) {
						return
					}
				}
			}}) {
				return
			}
		}
	})
	l.List.Store(&list)
}

// ServeHTTP implements http.Handler.
func (l *Listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	release, changed := l.Release, append([]string{}, l.Changed...)
	l.mu.Unlock()
	list := *l.List.Load()
	switch r.URL.Path {
	case routes.ReleasePath:
		sum := sha256.Sum256(list)
		body := icon.ReleaseAnswer{Release: release, Since: r.URL.Query().Get("since"),
			Changed: changed, Names: hex.EncodeToString(sum[:])}
		if s := l.Sum.Load(); s != nil {
			body.Names = *s
		}
		json.NewEncoder(w).Encode(body)
	case routes.NamesPath:
		l.Lists.Add(1)
		if r.URL.Query().Get("release") != release {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable, no-transform")
		w.Header().Set("Content-Length", fmt.Sprint(len(list)))
		w.Write(list)
	default:
		l.Others.Add(1)
		l.Origin.ServeHTTP(w, r)
	}
}
