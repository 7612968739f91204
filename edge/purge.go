package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/problem"
)

const (
	maxPurge = 1 << 20 // bytes of the body of a purge
	maxItems = 10_000  // that it names, of all kinds together
)

// A purgeCall is the body of POST /purge: one of the lists, or several.
type purgeCall struct {
	URLs          []string `json:"urls,omitempty"`
	Prefixes      []string `json:"prefixes,omitempty"`
	SurrogateKeys []string `json:"surrogate_keys,omitempty"`
	Soft          bool     `json:"soft,omitempty"`
}

// A purger answers POST /purge on the admin listener.
type purger struct {
	h      *handler
	access *admin.Access
}

func (p *purger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	n, err := p.purge(w, r)
	if err != nil {
		problem.From(err).Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"purged\":%d}\n", n)
}

func (p *purger) purge(w http.ResponseWriter, r *http.Request) (int, error) {
	if r.Method != http.MethodPost {
		return 0, problem.MethodNotAllowed(http.MethodPost)
	}
	if !p.access.Bears(r.Header["Authorization"]...) {
		return 0, admin.Unauthorized()
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return 0, problem.New(http.StatusUnsupportedMediaType, "the body must be application/json").With("Accept", "application/json")
	}
	call, err := readPurge(http.MaxBytesReader(w, r.Body, maxPurge))
	if err != nil {
		return 0, err
	}
	n := p.h.purge(call)
	p.h.log.Info("purged", call.told(n)...)
	return n, p.h.shared.announce(call, n)
}

// told is a purge in words for the log: what a client names is not in it.
func (c purgeCall) told(n int) []any {
	return []any{"entries", n, "urls", len(c.URLs), "prefixes", len(c.Prefixes), "surrogate_keys", len(c.SurrogateKeys), "soft", c.Soft}
}

// purge removes what is named here, or marks it stale, and says how many that were.
func (h *handler) purge(call purgeCall) int {
	h.missing.forget()
	return h.cache.Purge(h.purgeOf(call), time.Now())
}

// drop forgets everything.
func (h *handler) drop() {
	h.missing.forget()
	h.cache.DropAll()
}

// readPurge reads a call; one that names nothing, or what is no path, is a mistake that is better told than done.
func readPurge(body io.Reader) (call purgeCall, err error) {
	b, err := io.ReadAll(body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return call, problem.New(http.StatusRequestEntityTooLarge, "the body has at most 1048576 bytes")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err != nil || d.Decode(&call) != nil || d.More() {
		return call, problem.New(http.StatusBadRequest, `the body must be JSON with "urls", "prefixes" or "surrogate_keys", lists of strings, and perhaps "soft":true`)
	}
	if len(call.URLs)+len(call.Prefixes)+len(call.SurrogateKeys) == 0 {
		return call, problem.New(http.StatusBadRequest, `nothing is named: give "urls", "prefixes" or "surrogate_keys"`)
	}
	if n := len(call.URLs) + len(call.Prefixes) + len(call.SurrogateKeys); n > maxItems {
		return call, problem.New(http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the call names %d urls, prefixes and surrogate_keys, and may name %d: split it", n, maxItems))
	}
	for i := range call.URLs {
		if call.URLs[i], err = pathOf(call.URLs[i]); err != nil {
			return call, problem.BadParameter("urls", "each must be a path that begins with a slash, or a URL")
		}
	}
	for _, prefix := range call.Prefixes {
		if !strings.HasPrefix(prefix, "/") {
			return call, problem.BadParameter("prefixes", "each must be the beginning of a path, with its slash")
		}
	}
	for _, key := range call.SurrogateKeys {
		if key == "" || strings.ContainsAny(key, " \t") {
			return call, problem.BadParameter("surrogate_keys", "each must be one key, without spaces")
		}
	}
	return call, nil
}

// pathOf is the path and query of an address, which may come with its host.
func pathOf(address string) (string, error) {
	if strings.HasPrefix(address, "/") {
		return address, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", errors.New("neither a path nor a URL")
	}
	return u.RequestURI(), nil
}

// purgeOf names what is stored: an address of one of our own routes by its canonical spelling.
func (h *handler) purgeOf(call purgeCall) cache.Purge {
	p := cache.Purge{Prefixes: call.Prefixes, Tags: call.SurrogateKeys, Soft: call.Soft}
	for _, address := range call.URLs {
		p.Keys = append(p.Keys, address)
		if key, ok := canonical(address); ok && key != address {
			p.Keys = append(p.Keys, key)
		}
	}
	return p
}

// canonical is the key of an address on a route of ours.
func canonical(address string) (string, bool) {
	path, query, _ := strings.Cut(address, "?")
	parse := parseCDN
	switch {
	case strings.HasPrefix(path, iconPath):
		parse = parseIcon
	case path == searchPath:
		parse = parseSearch
	case path == suggestPath:
		parse = parseSuggest
	case path == packsPath:
		parse = parsePacks
	case strings.HasPrefix(path, packsPath+"/"):
		parse = parsePack
	}
	t, err := parse(path, query)
	return t.key, err == nil
}
