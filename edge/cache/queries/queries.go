// Package queries decides which addresses share a stored response because their queries differ only
// in parameters that the responses for their host and path ignore, by No-Vary-Search.
//
// Such addresses have a shared key, beside the key of each address: host, path and the rule with
// the canonical query. A response is stored under the shared key of its own rule. A request is
// looked up under the shared keys of the last rules for its host and path, most often one.
//
// A purge names addresses. Widen adds their shared keys, by the rules that the table has at that
// moment. A rule that the table learns later, also again, is used only for entries whose requests
// began after that, or since when there was no purge (Rule.Answers). So the table may forget a rule
// at any time.
package queries

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

const (
	places    = 1 << 15 // hosts and paths with rules; a new one replaces that with the same hash
	maxPlace  = 512     // bytes of a host and a path with rules
	maxRules  = 3       // rules of a host and a path
	maxText   = 1 << 10 // bytes of a field; a longer one is ignored
	maxTexts  = 1 << 10 // different fields that rules share
	markBytes = 8       // of the hash of a field in shared keys
)

// A Table has the rules that were seen last. It is safe for concurrent use.
type Table struct {
	current func() invalidation.Generation
	seed    maphash.Seed
	places  atomic.Pointer[[places]atomic.Pointer[place]] // nil: no rule was learned
	learned atomic.Uint64                                 // how many rules were
	sites   sync.Map                                      // by name: *Site

	mu    sync.Mutex // held while a rule is learned
	texts map[string]*meaning
}

// New returns a table without rules; current returns the newest generation of purges.
func New(current func() invalidation.Generation) *Table {
	return &Table{current: current, seed: maphash.MakeSeed(), texts: map[string]*meaning{}}
}

// A Site says whether any response of a site has had a rule.
type Site struct {
	table *Table
	known atomic.Bool
}

// Site returns the site with a name. It is the same one for every generation of the settings.
func (t *Table) Site(name string) *Site {
	if s, ok := t.sites.Load(name); ok {
		return s.(*Site)
	}
	s, _ := t.sites.LoadOrStore(name, &Site{table: t})
	return s.(*Site)
}

// A place is a host and a path with rules, the newest first. It never changes.
type place struct {
	name  string
	rules []*Rule
}

// A Rule is what responses for a host and a path have said about queries.
type Rule struct {
	path string
	*meaning
	since atomic.Uint64 // the generation at which purges began to consider the rule
}

// A meaning is the parsed form of a field.
type meaning struct {
	text     string
	mark     string // which the shared keys have
	variance cachepolicy.SearchVariance
}

// Of returns the rules for a cache key with a scheme and a host, the newest first.
func (s *Site) Of(key string) []*Rule {
	if !s.known.Load() {
		return nil
	}
	return s.table.at(placeOf(key))
}

// at returns the rules for a host and a path.
func (t *Table) at(name string) []*Rule {
	all := t.places.Load()
	if all == nil {
		return nil
	}
	if p := t.slot(all, name).Load(); p != nil && p.name == name {
		return p.rules
	}
	return nil
}

func (t *Table) slot(all *[places]atomic.Pointer[place], name string) *atomic.Pointer[place] {
	return &all[maphash.String(t.seed, name)%places]
}

// Learn records the No-Vary-Search lines of a response for a cache key, and returns their rule;
// nil: there is none, or the lines or the address are too long.
func (s *Site) Learn(key string, lines []string) *Rule {
	if len(lines) == 0 {
		return nil
	}
	t, text, name := s.table, strings.Join(lines, ", "), placeOf(key)
	if name == "" || len(name) > maxPlace || len(text) > maxText {
		return nil
	}
	r := find(t.at(name), text)
	if r == nil {
		variance, ok := cachepolicy.ParseNoVarySearch(lines)
		if !ok {
			return nil
		}
		r = t.learn(name, text, variance)
	}
	s.known.Store(true)
	return r
}

// find returns the rule with a text; nil: none has it.
func find(rules []*Rule, text string) *Rule {
	for _, r := range rules {
		if r.text == text {
			return r
		}
	}
	return nil
}

func (t *Table) learn(name, text string, variance cachepolicy.SearchVariance) *Rule {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.at(name)
	if r := find(known, text); r != nil {
		return r
	}
	m := t.texts[text]
	if m == nil {
		if len(t.texts) >= maxTexts {
			clear(t.texts)
		}
		sum := sha256.Sum256([]byte(text))
		m = &meaning{text, hex.EncodeToString(sum[:markBytes]), variance}
		t.texts[text] = m
	}
	all := t.places.Load()
	if all == nil {
		all = new([places]atomic.Pointer[place])
		t.places.Store(all)
	}
	p := &place{name: strings.Clone(name)}
	r := &Rule{path: p.name[strings.IndexByte(p.name, '/'):], meaning: m}
	p.rules = append([]*Rule{r}, known[:min(len(known), maxRules-1)]...)
	r.since.Store(math.MaxUint64)
	t.slot(all, name).Store(p)
	// A purge that finds the count unchanged at its end is of a generation up to since.
	t.learned.Add(1)
	r.since.Store(uint64(t.current()))
	return r
}

// Answers reports whether a request for the cache key of an address may have a response that is
// stored under its shared key, and whose own request began at a generation: all purges since then
// have considered the rule, and a response for a request with credentials is public, because its
// query may name the user, or was fetched for the same address.
func (r *Rule) Answers(e *entry.Entry, g invalidation.Generation, q cachepolicy.Request, address string) bool {
	if uint64(g) < r.since.Load() {
		return false
	}
	return cachepolicy.MayShareError(q) || e.IsPublic() || slices.ContainsFunc(e.Tags, func(tag string) bool {
		of, ok := strings.CutPrefix(tag, fetchedFor)
		return ok && of == address
	})
}

// fetchedFor begins the surrogate key that names the address for which a response was fetched. No
// response can name it, because surrogate keys have no spaces.
const fetchedFor = " ="

// Is reports whether lines of No-Vary-Search are those of the rule.
func (r *Rule) Is(lines []string) bool { return strings.Join(lines, ", ") == r.text }

// sharedMark begins the query of a shared key. No target has this byte.
const sharedMark = "?\x01"

// AppendKey appends the shared key of a cache key.
func (r *Rule) AppendKey(dst []byte, key string) []byte {
	target, rest := key, ""
	if at := strings.IndexByte(key, 0); at >= 0 { // what the rules of a file add to keys
		target, rest = key[:at], key[at:]
	}
	before, query, _ := strings.Cut(target, "?")
	dst = append(append(append(dst, before...), sharedMark...), r.mark...)
	dst = r.variance.AppendCanonical(append(dst, '?'), query)
	return append(dst, rest...)
}

// Key returns the shared key of a cache key.
func (r *Rule) Key(key string) string { return string(r.AppendKey(nil, key)) }

// AppendTags appends to the surrogate keys of an entry with the rule those by which purges of
// addresses with the same shared key find it, and the cache key of the address for which it was
// fetched.
func (r *Rule) AppendTags(tags []string, address string) []string {
	for _, tag := range tags {
		if _, target, ok := cutTag(tag); ok && pathOf(target) == r.path {
			tags = append(tags, tag[:len(tag)-len(target)]+r.Key(target))
		}
	}
	return append(tags, fetchedFor+address)
}

// placeOf returns the host and the path in a cache key; empty: it has no host.
func placeOf(key string) string {
	at := strings.IndexByte(key, ':')
	if at <= 0 || key[0] == '/' || !strings.HasPrefix(key[at:], "://") {
		return ""
	}
	if rest := pathOf(key[at+len("://"):]); strings.IndexByte(rest, '/') >= 0 {
		return rest
	}
	return ""
}

// pathOf returns the part before the query.
func pathOf(target string) string {
	if at := strings.IndexByte(target, '?'); at >= 0 {
		target = target[:at]
	}
	if at := strings.IndexByte(target, 0); at >= 0 { // there is no query
		target = target[:at]
	}
	return target
}
