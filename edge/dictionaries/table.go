package dictionaries

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
)

const (
	// largest is the part of the bytes of a table that one dictionary may take.
	largest = 4
	// versions that are kept of a file, by its pattern: of those that clients may have, the ones
	// used last.
	maxVersions = 8
	// perItem is about what a dictionary or a difference takes besides its bytes.
	perItem = 1 << 10
	// maxHashes is the number of stored responses whose hash is remembered.
	maxHashes = 1 << 12
)

// A Scope is where a dictionary holds: a site, and the origin of its address.
type Scope struct{ Site, Scheme, Host string }

// Library is the scope of the responses of the library, which are the same at all its addresses. A
// browser names a dictionary only to the origin that it has it from.
var Library Scope

// A Dictionary is a stored response that clients may have.
type Dictionary struct {
	id
	Declaration
	body []byte

	// These are guarded by the table.
	keyed
	item   *list.Element
	deltas map[target]*list.Element
}

// keyed is what purges need to know of a stored response.
type keyed struct {
	stored *cache.Entry     // with its key and surrogate keys alone
	since  cache.Generation // up to which no purge has removed it
}

func keyedAs(e *cache.Entry, since cache.Generation) keyed {
	return keyed{&cache.Entry{Key: e.Key, Tags: e.Tags}, since}
}

type id struct {
	Scope
	hash Hash
}

// Sum returns the SHA-256 of the dictionary.
func (d *Dictionary) Sum() []byte { return d.hash[:] }

// A target is a body, by its hash, and the coding in which a dictionary compresses it.
type target struct {
	hash   Hash
	coding Coding
}

// A delta is the difference between a dictionary and a target.
type delta struct {
	of   *Dictionary
	to   target
	body []byte // nil: it saves too little
}

// A Table has the dictionaries and the differences that are known, up to a number of bytes. Those
// that were used the longest ago go first. It is safe for concurrent use.
type Table struct {
	cache      *cache.Cache
	compressor *compress.Compressor
	most       int64

	mu     sync.Mutex
	known  map[id]*Dictionary
	scopes map[Scope][]*Dictionary
	used   list.List // of *Dictionary and *delta, the last used first
	bytes  int64
	hashes map[uint64]Hash   // of the identity of stored responses, by their ids
	recent [maxHashes]uint64 // the keys of hashes
	next   int               // where the next key takes the place of the oldest one
	counts counts
}

// New returns a table of at most so many bytes for the responses of a cache. compressor makes the
// differences.
func New(c *cache.Cache, compressor *compress.Compressor, most int64) *Table {
	return &Table{cache: c, compressor: compressor, most: most, known: map[id]*Dictionary{},
		scopes: map[Scope][]*Dictionary{}, hashes: map[uint64]Hash{}}
}

// A Learned describes a stored response that may be a dictionary.
type Learned struct {
	Scope  Scope
	Target string      // of its request
	Header http.Header // as clients get it
	Since  cache.Generation
}

// Learn keeps a stored response, if its fields declare that it is a dictionary and all clients get
// the same.
func (t *Table) Learn(e *cache.Entry, l Learned) {
	id := e.Identity()
	if !mayCode(e) || len(id.Body) == 0 || int64(len(id.Body)) > t.most/largest || !IsShared(l.Header) {
		return
	}
	declared, ok := Declared(l.Header, l.Scope.Scheme+"://"+l.Scope.Host, l.Target)
	if !ok {
		return
	}
	d := &Dictionary{Declaration: declared}
	d.Scope, d.hash = l.Scope, t.hashOf(e)
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.known[d.id]; old != nil && old.match.text == declared.match.text {
		old.keyed = keyedAs(e, l.Since)
		t.use(old)
		return
	} else if old != nil { // a client may have it under either declaration; the newer one counts
		t.remove(old)
	}
	d.body, d.keyed = bytes.Clone(id.Body), keyedAs(e, l.Since)
	t.insert(d)
}

// mayCode reports whether the edge may code a stored response, which is whole.
func mayCode(e *cache.Entry) bool {
	return e.Status == http.StatusOK && !e.Plain && e.Identity() != nil
}

// insert adds a dictionary, in place of the version of the same file that was used the longest ago,
// if there are many.
func (t *Table) insert(d *Dictionary) {
	d.deltas = map[target]*list.Element{}
	var oldest *Dictionary
	versions := 0
	for _, other := range t.scopes[d.Scope] {
		if other.match.text == d.match.text {
			versions++
			oldest = other // the slice is in order of use
		}
	}
	if versions >= maxVersions {
		t.remove(oldest)
	}
	t.known[d.id] = d
	t.scopes[d.Scope] = slices.Insert(t.scopes[d.Scope], 0, d)
	d.item = t.used.PushFront(d)
	t.grow(int64(len(d.body)) + perItem)
}

// grow counts bytes that were added, and removes the items that were used the longest ago until all
// fit.
func (t *Table) grow(by int64) {
	for t.bytes += by; t.bytes > t.most; {
		t.drop(t.used.Back())
	}
}

// drop removes a dictionary, with its differences, or one difference.
func (t *Table) drop(item *list.Element) {
	switch one := item.Value.(type) {
	case *Dictionary:
		t.remove(one)
	case *delta:
		delete(one.of.deltas, one.to)
		t.used.Remove(item)
		t.bytes -= int64(len(one.body)) + perItem
	}
}

func (t *Table) remove(d *Dictionary) {
	for _, item := range d.deltas {
		t.drop(item)
	}
	delete(t.known, d.id)
	t.used.Remove(d.item)
	t.bytes -= int64(len(d.body)) + perItem
	rest := slices.DeleteFunc(t.scopes[d.Scope], func(one *Dictionary) bool { return one == d })
	if t.scopes[d.Scope] = rest; len(rest) == 0 {
		delete(t.scopes, d.Scope)
	}
}

// A Claim is what a client says about the dictionary that it has.
type Claim struct {
	Scope     Scope
	Target    string // of its request
	Available []byte // the value of Available-Dictionary
	Dest      string // the value of Sec-Fetch-Dest; empty: none
}

// Find returns the dictionary that a client has and may use for its request; nil: the table does
// not have it. A dictionary that was purged is forgotten.
func (t *Table) Find(c Claim) *Dictionary {
	if t == nil {
		return nil
	}
	hash, ok := available(c.Available)
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.known[id{c.Scope, hash}]
	if d == nil {
		return nil
	}
	if now := t.cache.Generation(); now != d.since { // otherwise there was no purge since
		if t.cache.Invalidated(d.stored, d.since) {
			t.remove(d)
			return nil
		}
		d.since = now
	}
	if !d.takes(c.Target, c.Dest) {
		return nil
	}
	t.use(d)
	return d
}

// use makes a dictionary the one that was used last.
func (t *Table) use(d *Dictionary) {
	t.used.MoveToFront(d.item)
	all := t.scopes[d.Scope]
	if at := slices.Index(all, d); at > 0 {
		copy(all[1:at+1], all[:at])
		all[0] = d
	}
}

// Concerns reports whether a dictionary of a scope is one for a target.
func (t *Table) Concerns(s Scope, target string) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.scopes[s], func(d *Dictionary) bool { return d.match.Match(target) })
}

// Delta returns the body of a stored response in a coding against a dictionary. If the table does
// not have it, Delta has it made, and returns nil: a later client gets it, unless it saves too
// little.
func (t *Table) Delta(d *Dictionary, e *cache.Entry, c Coding) []byte {
	identity := e.Identity()
	if e.ID == 0 || !mayCode(e) {
		return nil
	}
	to := target{t.hashOf(e), c}
	t.mu.Lock()
	if t.known[d.id] != d {
		t.mu.Unlock()
		return nil
	}
	body, known := t.send(d, to)
	t.mu.Unlock()
	if known {
		return body
	}
	smallest := len(identity.Body)
	for _, v := range e.Variants {
		if v != nil {
			smallest = min(smallest, len(v.Body))
		}
	}
	t.compressor.WantKept(e, compress.Kept{
		Name: pair{d, to}, AtMost: smallest - smallest/worthPart,
		Encode: func() ([]byte, error) { return encode(c, d.hash, d.body, identity.Body) },
		Keep:   func(body []byte) { t.keep(&delta{d, to, body}, len(identity.Body)) },
	})
	return nil
}

// Made returns the body of the stored response with an id in a coding against a dictionary; nil: it
// is not made. known: the table knows that it saves too little, so that Delta would not make it
// either.
func (t *Table) Made(d *Dictionary, id uint64, c Coding) (body []byte, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hash, ok := t.hashes[id]
	if !ok {
		return nil, false
	}
	return t.send(d, target{hash, c})
}

// send returns the difference between a dictionary and a target, and counts it; the result is that
// of Made. t.mu is held.
func (t *Table) send(d *Dictionary, to target) (body []byte, known bool) {
	item := d.deltas[to]
	if item == nil {
		return nil, false
	}
	t.used.MoveToFront(item)
	if body = item.Value.(*delta).body; body != nil {
		t.counts.Sent[to.coding]++
	}
	return body, true
}

// worthPart: a difference must save 1/worthPart of the shortest body that there is.
const worthPart = 8

// A pair names the difference between a dictionary and a target.
type pair struct {
	of *Dictionary
	to target
}

// keep stores a difference, if its dictionary is still there.
func (t *Table) keep(made *delta, length int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := made.of
	if t.known[d.id] != d || d.deltas[made.to] != nil {
		return
	}
	if made.body != nil {
		t.counts.Made[made.to.coding]++
		t.counts.In += uint64(length)
		t.counts.Out += uint64(len(made.body))
	} else {
		t.counts.Useless++
	}
	d.deltas[made.to] = t.used.PushFront(made)
	t.grow(int64(len(made.body)) + perItem)
}

// hashOf returns the hash of the identity of a stored response.
func (t *Table) hashOf(e *cache.Entry) Hash {
	if e.ID != 0 {
		t.mu.Lock()
		hash, ok := t.hashes[e.ID]
		t.mu.Unlock()
		if ok {
			return hash
		}
	}
	hash := sha256.Sum256(e.Identity().Body)
	if e.ID == 0 {
		return hash
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there := t.hashes[e.ID]; there {
		return hash
	}
	delete(t.hashes, t.recent[t.next])
	t.hashes[e.ID], t.recent[t.next] = hash, e.ID
	t.next = (t.next + 1) % maxHashes
	return hash
}

// counts are those of a Table since it was made.
type counts struct {
	Sent, Made [codings]uint64 // differences, by coding
	Useless    uint64          // differences that saved too little
	In, Out    uint64          // bytes of the bodies of Made, before and after
}

// Stats are counts for metrics.
type Stats struct {
	Dictionaries, Deltas int
	Bytes                int64 // of both
	Useless              uint64
	Sent, Made           map[string]uint64 // by coding
	In, Out              uint64
}

// Stats returns the current counts.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.counts
	s := Stats{Dictionaries: len(t.known), Deltas: t.used.Len() - len(t.known), Bytes: t.bytes,
		Useless: c.Useless, In: c.In, Out: c.Out, Sent: map[string]uint64{}, Made: map[string]uint64{}}
	for one := range codings {
		s.Sent[one.String()], s.Made[one.String()] = c.Sent[one], c.Made[one]
	}
	return s
}
