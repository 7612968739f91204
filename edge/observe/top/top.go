// Package top counts the responses of the last minute by client, path and host, so that an operator
// sees which of them have the most requests now. Its memory is bounded whatever clients send, and
// so is its cost: it records every response of a quiet edge, and a sample of those of a busy one.
package top

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	span    = 10 * time.Second // of a window
	windows = 7                // the current one, and those of a minute before it
	most    = 256              // keys of each kind in a window

	maxPath = 128 // bytes of a path; the rest is cut
	maxHost = 100 // bytes of a host

	// A record takes about a microsecond, so that budget of them take two thousandths of a
	// processor.
	budget = 2000      // records a second
	turns  = 8         // how often in a second the sample is adapted
	rarest = 1<<16 - 1 // the mask of the smallest sample
)

// Longest is the longest time that a report can cover.
const Longest = (windows - 1) * span

// A Response has the properties of a response that Counts records.
type Response struct {
	Client netip.Addr
	Host   []byte
	Path   []byte // without query
	Status int
	Bytes  int // of the body
}

// Counts are the counts of the last minute. Methods may be called at the same time.
type Counts struct {
	mask atomic.Uint32 // one in mask+1 responses is recorded, a power of two

	mu       sync.Mutex
	began    time.Time
	windows  [windows]window
	turn     int64 // the number of the current turn, since 1970
	recorded int   // in it
}

// A window holds the counts of one span.
type window struct {
	number  int64 // of the span, since 1970
	all     Count
	clients *sketch[netip.Prefix]
	limited *sketch[netip.Prefix] // clients by their responses with 429
	paths   *sketch[string]
	hosts   *sketch[string]
}

// New returns empty counts.
func New(now time.Time) *Counts {
	c := &Counts{began: now}
	for i := range c.windows {
		c.windows[i] = window{clients: newSketch[netip.Prefix](most), limited: newSketch[netip.Prefix](most),
			paths: newSketch[string](most), hosts: newSketch[string](most)}
	}
	return c
}

// Sample decides whether a response is recorded. Its result is the number of responses for which
// the recorded one stands; 0: it is not recorded. Nil counts record nothing.
func (c *Counts) Sample() (stands int64) {
	if c == nil {
		return 0
	}
	mask := c.mask.Load()
	if mask == 0 || rand.Uint32()&mask == 0 {
		return int64(mask) + 1
	}
	return 0
}

// Record counts a response that stands for several.
func (c *Counts) Record(now time.Time, r Response, stands int64) {
	by := Count{Requests: stands, Bytes: stands * int64(r.Bytes)}
	if r.Status == http.StatusTooManyRequests {
		by.Refused = stands
	}
	client, path, host := group(r.Client), r.Path[:min(len(r.Path), maxPath)],
		lower(make([]byte, 0, maxHost), r.Host[:min(len(r.Host), maxHost)])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adapt(now)
	w := c.window(now)
	w.all = w.all.plus(by)
	w.clients.add(client, by)
	w.paths.add(text(w.paths, path), by)
	w.hosts.add(text(w.hosts, host), by)
	if by.Refused > 0 {
		w.limited.add(client, by)
	}
}

// lower appends b in lower case.
func lower(dst, b []byte) []byte {
	for _, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// text returns b as a key of s, without an allocation if s has it.
func text(s *sketch[string], b []byte) string {
	if i, known := s.at[string(b)]; known {
		return s.counters[i].key
	}
	return string(b)
}

// group returns the client as limits count it: an IPv4 address or an IPv6 /64.
func group(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	size := 64
	if a.Is4() {
		size = 32
	}
	p, _ := a.Prefix(size)
	return p
}

// window returns the window of now.
func (c *Counts) window(now time.Time) *window {
	number := now.UnixNano() / int64(span)
	w := &c.windows[number%windows]
	if w.number != number {
		w.number, w.all = number, Count{}
		w.clients.reset()
		w.limited.reset()
		w.paths.reset()
		w.hosts.reset()
	}
	return w
}

// adapt halves the sample as soon as a turn has more records than its part of the budget, and
// doubles it for each turn with less than a quarter of that.
func (c *Counts) adapt(now time.Time) {
	turn := now.UnixNano() / int64(time.Second/turns)
	mask := c.mask.Load()
	// Event loops pass times of their own, so an older turn is the current one, unless the clock
	// was set back.
	if turn > c.turn || c.turn-turn > 10*turns {
		passed := turn - c.turn - 1 // turns without any record
		if c.recorded < budget/turns/4 {
			passed++
		}
		if passed < 0 || passed > int64(bits.Len32(mask)) {
			passed = int64(bits.Len32(mask))
		}
		mask >>= passed
		c.turn, c.recorded = turn, 0
	}
	c.recorded++
	if c.recorded > budget/turns {
		mask, c.recorded = min(mask<<1|1, rarest), 0
	}
	c.mask.Store(mask)
}

// A Report lists the clients, paths and hosts with the most requests.
type Report struct {
	Seconds float64 `json:"seconds"` // that it covers
	Sampled float64 `json:"sampled"` // the share of the responses that is recorded now
	Count
	Clients []Row `json:"clients"`
	Paths   []Row `json:"paths"`
	Hosts   []Row `json:"hosts"`
	Limited []Row `json:"limited"` // clients by their responses with 429
}

// A Row has the counts of one client, path or host. It has at least Requests, and at most Uncertain
// more.
type Row struct {
	Name string `json:"name"`
	Count
	Uncertain int64 `json:"uncertain"`
}

// Report returns the counts of the current window and of those that began within the given time
// before it, with at most rows of each kind.
func (c *Counts) Report(now time.Time, within time.Duration, rows int) Report {
	number := now.UnixNano() / int64(span)
	oldest := number - int64((min(within, Longest)+span-1)/span)
	r := Report{Sampled: 1 / float64(c.mask.Load()+1)}
	var clients, limited []*sketch[netip.Prefix]
	var paths, hosts []*sketch[string]
	c.mu.Lock() // for the copies, because clients wait for it
	for i := range c.windows {
		w := &c.windows[i]
		if w.number < oldest || w.number > number {
			continue
		}
		r.Count = r.plus(w.all)
		clients, limited = append(clients, w.clients.copy()), append(limited, w.limited.copy())
		paths, hosts = append(paths, w.paths.copy()), append(hosts, w.hosts.copy())
	}
	c.mu.Unlock()
	from := time.Unix(0, oldest*int64(span))
	if from.Before(c.began) {
		from = c.began
	}
	r.Seconds = max(now.Sub(from).Seconds(), 0)
	r.Clients, r.Limited = list(clients, rows, clientName), list(limited, rows, clientName)
	r.Paths, r.Hosts = list(paths, rows, strings.Clone), list(hosts, rows, strings.Clone)
	return r
}

// list returns the first rows of the sums of several sketches, those with the most certain requests
// first.
func list[K comparable](parts []*sketch[K], rows int, name func(K) string) []Row {
	list := []Row{}
	for _, c := range merge(parts) {
		row := Row{Name: name(c.key), Count: c.Count, Uncertain: c.over}
		row.Requests -= c.over
		list = append(list, row)
	}
	slices.SortFunc(list, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(b.Uncertain, a.Uncertain), strings.Compare(a.Name, b.Name))
	})
	return list[:min(rows, len(list))]
}

// clientName returns an address, or a network of IPv6.
func clientName(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// Stats describe the memory and the sample of counts.
type Stats struct {
	Keys    int     // clients, paths and hosts with a counter
	MaxKeys int     // how many of them there may be
	Sampled float64 // the share of the responses that is recorded now
}

// Stats returns the state of c.
func (c *Counts) Stats() Stats {
	s := Stats{MaxKeys: windows * 4 * most, Sampled: 1 / float64(c.mask.Load()+1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.windows {
		w := &c.windows[i]
		s.Keys += len(w.clients.at) + len(w.limited.at) + len(w.paths.at) + len(w.hosts.at)
	}
	return s
}
