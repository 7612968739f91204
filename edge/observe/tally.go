package observe

import (
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
)

const statusClasses = 6 // "0xx" is for invalid statuses, so that the index is the class itself

// A Tally counts the responses of one route, outcome, class of status and protocol.
//
// A hit on the hit path costs one addition: one word holds the number of hits and the bytes of
// their bodies. There are several such words, because a processor waits for a word that another has
// just changed. Reading the clock takes a tenth of the time of such a hit. So a tally times each of
// the first hits of a word, and then one of every few, which stands for those before it.
type Tally struct {
	durations
	requests atomic.Uint64
	bytes    atomic.Uint64 // of bodies
	settling sync.Mutex    // while the counts of ready move to requests and bytes
	ready    [Stripes]stripe
}

// Stripes is the number of parts of a count that processors change.
const Stripes = 16

// A stripe is a part of a count, with a line of the processor's cache to itself.
type stripe struct {
	atomic.Uint64
	_ [56]byte
}

const (
	bytesBits  = 40              // of ready, below the count
	timedEvery = 13              // a prime, so as not to keep step with batches of requests
	timedFirst = 77 * timedEvery // the hits that are all timed
	settleAt   = 1 << 22         // hits; ready has room for many times as many, and for their bytes
)

// hit counts a hit on the hit path, whose request was received at now.
func (t *Tally) hit(now time.Time, at uint8, bytes int) {
	ready := &t.ready[at%Stripes]
	if n := ready.Add(1<<bytesBits|uint64(bytes)) >> bytesBits; n <= timedFirst || n%timedEvery == 0 {
		t.time(n, now, ready)
	}
}

// time reads the clock and counts the duration of hit n of a stripe.
func (t *Tally) time(n uint64, now time.Time, ready *stripe) {
	stands := 1
	if n > timedFirst {
		stands = timedEvery
	}
	t.took(time.Since(now), stands)
	if n >= settleAt {
		t.settle(ready)
	}
}

// settle moves the counts of a stripe to requests and bytes, before it overflows.
func (t *Tally) settle(ready *stripe) {
	t.settling.Lock()
	defer t.settling.Unlock()
	v := ready.Swap(0)
	t.requests.Add(v >> bytesBits)
	t.bytes.Add(v % (1 << bytesBits))
}

// answered counts a request on the slow path. The caller adds the bytes of its body that were sent.
func (t *Tally) answered(took time.Duration) {
	t.took(took, 1)
	t.requests.Add(1)
}

func (t *Tally) Send(bytes int) { t.bytes.Add(uint64(bytes)) }

// sums returns the number of responses and of their bytes.
func (t *Tally) sums() (requests, bytes uint64) {
	t.settling.Lock()
	defer t.settling.Unlock()
	requests, bytes = t.requests.Load(), t.bytes.Load()
	for i := range t.ready {
		v := t.ready[i].Load()
		requests, bytes = requests+v>>bytesBits, bytes+v%(1<<bytesBits)
	}
	return requests, bytes
}

// tallies holds the tallies of all responses. Each is made when it is first needed, because most
// never are. Those of failures exist from the start: Prometheus does not see the first value of a
// series as an increase, so an alert would miss failures before the first scrape of the series.
type tallies struct {
	began  time.Time
	traced [routes.Routes]exemplars
	at     [exchange.Protocols][routes.Routes][exchange.Outcomes][statusClasses]atomic.Pointer[Tally]

	requests, bytes, seconds *prometheus.Desc
}

func newTallies(began time.Time) *tallies {
	all := &tallies{
		began: began,
		requests: desc("requests_total", "Requests on the public listeners, by route ("+strings.Join(routes.Labels[:], ", ")+"), outcome ("+
			strings.Join(exchange.OutcomeNames[:], ", ")+"), class of status and protocol.", "route", "outcome", "code", "protocol"),
		bytes: desc("response_bytes_total", "Bytes of response bodies that were sent, by route.", "route"),
		seconds: desc("request_duration_seconds", "Time from a request's last byte to its response, by route. Of "+
			"fresh responses from memory one of every few is timed, and stands for those before it.", "route"),
	}
	for p := range exchange.Protocols {
		for _, r := range []routes.Route{routes.CDN, routes.Icon, routes.Search, routes.Suggest, routes.Packs,
			routes.Pack, routes.Verify, routes.Forwarded} {
			all.of(p, r, exchange.Failed, http.StatusBadGateway)
		}
	}
	return all
}

// of returns the tally of a response.
func (all *tallies) of(p exchange.Protocol, r routes.Route, o exchange.Outcome, status int) *Tally {
	at := &all.at[p][r][o][classOf(status)]
	if t := at.Load(); t != nil {
		return t
	}
	return first(at)
}

// classOf returns the class of a status. One of 600 or more counts as an error of the server (RFC
// 9110, section 15).
func classOf(status int) int { return min(max(status/100, 0), statusClasses-1) }

// first makes a tally, unless another goroutine has just done so.
func first(at *atomic.Pointer[Tally]) *Tally {
	at.CompareAndSwap(nil, &Tally{durations: newDurations()})
	return at.Load()
}

// Describe implements prometheus.Collector.
func (all *tallies) Describe(to chan<- *prometheus.Desc) {
	to <- all.requests
	to <- all.bytes
	to <- all.seconds
}

// Collect implements prometheus.Collector.
func (all *tallies) Collect(to chan<- prometheus.Metric) {
	for r := range routes.Routes {
		took, bytes, any := newCounts(), uint64(0), false
		for labels, t := range all.used(r) {
			took.add(&t.durations)
			n, sent := t.sums()
			bytes += sent
			to <- prometheus.MustNewConstMetric(all.requests, prometheus.CounterValue, float64(n), labels...)
			any = true
		}
		if any {
			to <- prometheus.MustNewConstMetric(all.bytes, prometheus.CounterValue, float64(bytes), r.String())
			to <- all.traced[r].on(took.metric(all.seconds, all.began, r.String()))
		}
	}
}

// used yields the existing tallies of a route, each with its label values.
func (all *tallies) used(r routes.Route) iter.Seq2[[]string, *Tally] {
	return func(yield func([]string, *Tally) bool) {
		for p := range exchange.Protocols {
			for o := range exchange.Outcomes {
				for class := range statusClasses {
					t := all.at[p][r][o][class].Load()
					if t != nil && !yield([]string{r.String(), exchange.OutcomeNames[o], strconv.Itoa(class) + "xx", p.String()}, t) {
						return
					}
				}
			}
		}
	}
}
