package edge

import (
	"github.com/iconedge/iconedge/edge/exchange"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const statusClasses = 6 // "0xx" is for statuses that there are not; it makes the index plain

// A tally is all that is counted of the answers of one route, outcome, class of status and protocol.
//
// A hit on the short way costs one addition: ready holds how many there were and the bytes of their bodies, in one word. To read the
// clock costs a tenth of such a hit, so that it is read for each of the first of them, and then for one of every few, which stands
// for those before it.
type tally struct {
	durations
	requests atomic.Uint64
	bytes    atomic.Uint64 // of bodies
	ready    atomic.Uint64
	settling sync.Mutex // while what is in ready goes to the others
}

const (
	bytesBits  = 40              // of ready, below the count
	timedEvery = 13              // a prime, so as not to keep step with clients that send several requests at once
	timedFirst = 77 * timedEvery // that are timed each
	settleAt   = 1 << 22         // hits: the bodies of four times as many, of maxReady bytes, have room
)

// hit counts one on the short way, that came at a time.
func (t *tally) hit(now time.Time, bytes int) {
	if n := t.ready.Add(1<<bytesBits|uint64(bytes)) >> bytesBits; n <= timedFirst || n%timedEvery == 0 {
		t.time(n, now)
	}
}

// time reads the clock for hit n.
func (t *tally) time(n uint64, now time.Time) {
	stands := 1
	if n > timedFirst {
		stands = timedEvery
	}
	t.took(time.Since(now), stands)
	if n >= settleAt {
		t.settle()
	}
}

// settle makes room in ready.
func (t *tally) settle() {
	t.settling.Lock()
	defer t.settling.Unlock()
	v := t.ready.Swap(0)
	t.requests.Add(v >> bytesBits)
	t.bytes.Add(v % (1 << bytesBits))
}

// answered counts one on the long way. What is sent of its body is for the caller to add.
func (t *tally) answered(took time.Duration) {
	t.took(took, 1)
	t.requests.Add(1)
}

func (t *tally) send(bytes int) { t.bytes.Add(uint64(bytes)) }

// sums are how many answers and bytes there were.
func (t *tally) sums() (requests, bytes uint64) {
	t.settling.Lock()
	defer t.settling.Unlock()
	v := t.ready.Load()
	return t.requests.Load() + v>>bytesBits, t.bytes.Load() + v%(1<<bytesBits)
}

// tallies are those of all answers, each made when it is first wanted: most never are. Those of failures are there from the beginning: to Prometheus the first value
// of a series is no increase, and an alert would miss what failed before it was first seen.
type tallies struct {
	began time.Time
	at    [exchange.Protocols][routes][outcomes][statusClasses]atomic.Pointer[tally]

	requests, bytes, seconds *prometheus.Desc
}

func newTallies(began time.Time) *tallies {
	all := &tallies{
		began: began,
		requests: desc("requests_total", "Requests on the public listeners, by route ("+strings.Join(routeLabels[:], ", ")+"), outcome ("+
			strings.Join(outcomeNames[:], ", ")+"), class of status and protocol.", "route", "outcome", "code", "protocol"),
		bytes:   desc("response_bytes_total", "Bytes of bodies that were sent, by route.", "route"),
		seconds: desc("request_duration_seconds", "Time from a request's last byte to its answer, by route. Of fresh answers from memory one of every few is timed, and stands for those before it.", "route"),
	}
	for p := range exchange.Protocols {
		for _, r := range []route{routeCDN, routeIcon, routeSearch, routeSuggest, routePacks, routePack, routeVerify, routeForwarded} {
			all.of(p, r, outcomeError, http.StatusBadGateway)
		}
	}
	return all
}

// of is the tally of an answer.
func (all *tallies) of(p exchange.Protocol, r route, o outcome, status int) *tally {
	class := status / 100
	if class < 0 || class >= statusClasses {
		class = 0
	}
	at := &all.at[p][r][o][class]
	if t := at.Load(); t != nil {
		return t
	}
	return first(at)
}

// first makes a tally, unless somebody else has just done so.
func first(at *atomic.Pointer[tally]) *tally {
	at.CompareAndSwap(nil, &tally{durations: newDurations()})
	return at.Load()
}

// Describe is prometheus.Collector's.
func (all *tallies) Describe(to chan<- *prometheus.Desc) {
	to <- all.requests
	to <- all.bytes
	to <- all.seconds
}

// Collect is prometheus.Collector's.
func (all *tallies) Collect(to chan<- prometheus.Metric) {
	for r := range routes {
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
			to <- took.metric(all.seconds, all.began, r.String())
		}
	}
}

// used are the tallies of a route that there are, by the labels of their requests.
func (all *tallies) used(r route) iter.Seq2[[]string, *tally] {
	return func(yield func([]string, *tally) bool) {
		for p := range exchange.Protocols {
			for o := range outcomes {
				for class := range statusClasses {
					t := all.at[p][r][o][class].Load()
					if t != nil && !yield([]string{r.String(), outcomeNames[o], strconv.Itoa(class) + "xx", p.String()}, t) {
						return
					}
				}
			}
		}
	}
}
