// Package purge removes stored responses because the operator or another edge asks for it. It
// announces the operator's purges, and the origin's new releases, to the other edges of the fleet.
package purge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/problem"
)

const (
	MaxBody  = 1 << 20 // bytes of the body of a purge request
	MaxItems = 10_000  // URLs, prefixes, surrogate keys and groups of one purge, all together
)

// A Call is the body of POST /purge. At least one of its lists must have an item.
type Call struct {
	URLs          []string `json:"urls,omitempty"`
	Prefixes      []string `json:"prefixes,omitempty"`
	SurrogateKeys []string `json:"surrogate_keys,omitempty"`
	// CacheGroups has names of cache groups (RFC 9875) by the URI origin of their responses, such
	// as https://shop.example.org.
	CacheGroups map[string][]string `json:"cache_groups,omitempty"`
	Soft        bool                `json:"soft,omitempty"`
}

// A Purger removes stored responses, or marks them stale.
type Purger struct {
	cache    *cache.Cache
	negative *library.NegativeCache
	key      Targets
	clock    clock.Clock
}

// Targets returns the targets by which a forwarded response may be stored for a host without a
// port, or if it is empty, for any, and the site of the host; empty: it has none.
type Targets func(host, target string) (stored []string, site string)

// New returns a purger of the cache and the negative cache, whose soft purges expire entries by the
// clock of lifetimes. If key is nil, the edge forwards
// nothing.
func New(c *cache.Cache, n *library.NegativeCache, key Targets, lifetimes clock.Clock) *Purger {
	return &Purger{c, n, key, lifetimes}
}

// An endpoint answers POST /purge on the admin listener.
type endpoint struct {
	*Purger
	access *admin.Access
	peers  *Peers
	log    *slog.Logger
}

// Handler returns the handler of POST /purge. It publishes each purge to the other edges, if peers
// is not nil.
func (p *Purger) Handler(access *admin.Access, peers *Peers, log *slog.Logger) http.Handler {
	return &endpoint{p, access, peers, log}
}

func (p *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	n, err := p.answer(w, r)
	if err != nil {
		problem.From(err).Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"purged\":%d}\n", n)
}

func (p *endpoint) answer(w http.ResponseWriter, r *http.Request) (int, error) {
	if r.Method != http.MethodPost {
		return 0, problem.MethodNotAllowed(http.MethodPost)
	}
	if !p.access.Bears(r.Header["Authorization"]...) {
		return 0, admin.Unauthorized()
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return 0, problem.New(http.StatusUnsupportedMediaType, "the body must be application/json").With("Accept", "application/json")
	}
	call, err := readPurge(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		return 0, err
	}
	return p.do(call)
}

// do purges here, and announces the purge.
func (p *endpoint) do(call Call) (int, error) {
	n := p.Purge(call)
	p.log.Info("purged", call.logAttrs(n)...)
	return n, p.peers.announce(p.Purger, call, n)
}

// Method returns the function that purges an address for a request with PURGE. The request must
// have the admin token in its Authorization lines, and there must be one.
func (p *Purger) Method(access *admin.Access, peers *Peers, log *slog.Logger) func(authorization []string, address string) (int, error) {
	e := &endpoint{p, access, peers, log}
	return func(authorization []string, address string) (int, error) {
		if !access.Asks() || !access.Bears(authorization...) {
			return 0, admin.Unauthorized()
		}
		if _, err := parseAddress(address); err != nil {
			return 0, problem.New(http.StatusBadRequest, "the address is malformed")
		}
		return e.do(Call{URLs: []string{address}})
	}
}

// logAttrs returns the log attributes of a purge that affected n entries. They count the items of
// each list without naming them, so that text of the caller does not reach the log.
func (c Call) logAttrs(n int) []any {
	return []any{"entries", n, "urls", len(c.URLs), "prefixes", len(c.Prefixes), "surrogate_keys", len(c.SurrogateKeys),
		"cache_groups", c.groups(), "soft", c.Soft}
}

// groups returns the number of cache groups that a call names.
func (c Call) groups() (n int) {
	for _, names := range c.CacheGroups {
		n += len(names)
	}
	return n
}

// items returns the number of items in the lists of a call.
func (c Call) items() int { return len(c.URLs) + len(c.Prefixes) + len(c.SurrogateKeys) + c.groups() }

// Purge removes the named entries from this edge, or marks them stale if the purge is soft. It
// returns how many entries it affected. It also clears the negative cache.
func (p *Purger) Purge(call Call) int {
	p.negative.Clear()
	return p.cache.Purge(call.spec(p.key), p.clock.Now())
}

// Drop removes every cached entry and clears the negative cache.
func (p *Purger) Drop() {
	p.negative.Clear()
	p.cache.InvalidateAll()
}

// readPurge reads and checks the body of a purge. It refuses a body that names nothing, or an item
// that is no path or no key, because such a purge is a mistake of the caller.
func readPurge(body io.Reader) (call Call, err error) {
	b, err := io.ReadAll(body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return call, problem.New(http.StatusRequestEntityTooLarge, "the body may have at most 1048576 bytes")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err != nil || d.Decode(&call) != nil || d.More() {
		return call, problem.New(http.StatusBadRequest,
			`the body must be JSON with "urls", "prefixes" or "surrogate_keys", lists of strings, or "cache_groups", an `+
				`object of such lists by URI origin, and optionally "soft":true`)
	}
	if call.items() == 0 {
		return call, problem.New(http.StatusBadRequest,
			`the body names nothing to purge: give "urls", "prefixes", "surrogate_keys" or "cache_groups"`)
	}
	if n := call.items(); n > MaxItems {
		return call, problem.New(http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the body names %d urls, prefixes, surrogate_keys and cache_groups; at most %d are allowed: split it", n, MaxItems))
	}
	for _, address := range call.URLs {
		if _, err := parseAddress(address); err != nil {
			return call, problem.BadParameter("urls", "each must be a path that begins with a slash, or a URL")
		}
	}
	for _, prefix := range call.Prefixes {
		if _, err := parseAddress(prefix); err != nil {
			return call, problem.BadParameter("prefixes", "each must be the beginning of a path, starting with a "+
				"slash, or a URL with the beginning of a path")
		}
	}
	for _, key := range call.SurrogateKeys {
		if key == "" || strings.ContainsAny(key, " \t") {
			return call, problem.BadParameter("surrogate_keys", "each must be one key, without spaces")
		}
	}
	for origin := range call.CacheGroups {
		if a, err := parseAddress(origin); err != nil || a.host == "" || a.target != "/" || strings.HasSuffix(origin, "/") {
			return call, problem.BadParameter("cache_groups", "each list must be under a URI origin, such as https://shop.example.org")
		}
	}
	return call, nil
}

// An address is what an item of a purge names: a target on one host, or, if it was given as a path,
// on every host.
type address struct{ scheme, host, target string }

// parseAddress reads a path or a whole URL.
func parseAddress(s string) (address, error) {
	if strings.HasPrefix(s, "/") {
		return address{target: s}, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme == "" {
		return address{}, errors.New("neither a path nor a URL")
	}
	return address{u.Scheme, hostport.CanonicalHost(u.Host, u.Scheme), u.RequestURI()}, nil
}

// name returns the host without its port.
func (a address) name() string {
	if u := (&url.URL{Host: a.host}); a.host != "" {
		return u.Hostname()
	}
	return ""
}

// tags returns the surrogate keys of the responses for an address on one host of a site whose cache
// keys have more than the address.
func (a address) tags(site string) []string {
	port := map[string]string{"http": ":80", "https": ":443"}[a.scheme]
	host := strings.TrimSuffix(strings.ToLower(a.host), port)
	return []string{cache.AddressTag(host, a.target), cache.AddressTag(host+port, a.target), cache.SharedTag(site, a.target)}
}

// keys returns the cache keys of an address on one host.
func (a address) keys() []string { return routes.ForwardedKeys(a.scheme, a.host, a.target) }

// spec returns the purge spec of a call. An address on one of the edge's own routes is purged by
// its canonical cache key as well as by the spelling that the caller gave; those keys have no host.
// key is as for New.
func (c Call) spec(key Targets) cache.Purge {
	p := cache.Purge{Tags: slices.Clone(c.SurrogateKeys), Soft: c.Soft}
	for origin, names := range c.CacheGroups {
		p.Tags = append(p.Tags, groupTags(origin, names, key)...)
	}
	for _, s := range c.URLs {
		a, err := parseAddress(s)
		if err != nil {
			continue // readPurge has refused it
		}
		p.Keys = append(p.Keys, a.target)
		if t, ok := routes.Canonical(a.target); ok {
			p.Keys = append(p.Keys, t.Keys()...)
		}
		stored, site := []string{a.target}, ""
		if key != nil {
			stored, site = key(a.name(), a.target)
		}
		for _, target := range stored {
			a.target = target
			if a.host != "" {
				p.Keys = append(p.Keys, a.keys()...)
				p.Tags = append(p.Tags, a.tags(site)...)
			} else if key != nil {
				p.Tags = append(p.Tags, cache.TargetTag(target))
			}
		}
	}
	for _, s := range c.Prefixes {
		if a, err := parseAddress(s); err == nil && a.host != "" {
			p.Prefixes = append(p.Prefixes, a.keys()...)
			p.Prefixes = append(p.Prefixes, routes.ForwardedKey("http", routes.AnyHost, a.target),
				routes.ForwardedKey("https", routes.AnyHost, a.target))
			continue
		}
		p.Prefixes = append(p.Prefixes, s)
	}
	return p
}
