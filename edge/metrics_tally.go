package edge

import (
	"iter"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const statusClasses = 6 // "0xx" is for statuses that there are not; it makes the index plain

// A tally is all that is counted of the answers of one route, outcome, class of status and protocol. How many there were is the sum
// of its durations, so that a hit costs three additions.
type tally struct {
	durations
	bytes atomic.Uint64 // of bodies
}

// send adds a body.
func (t *tally) send(bytes int) {
	if bytes > 0 {
		t.bytes.Add(uint64(bytes))
	}
}

// tallies are those of all answers, each made when it is first wanted: most never are.
type tallies struct {
	began time.Time
	at    [protocols][routes][outcomes][statusClasses]atomic.Pointer[tally]

	requests, bytes, seconds *prometheus.Desc
}

func newTallies(began time.Time) *tallies {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("iconedge_edge_"+name, help, labels, nil)
	}
	return &tallies{
		began:    began,
		requests: desc("requests_total", "Requests on the public listeners, by route, outcome, class of status and protocol.", "route", "outcome", "code", "protocol"),
		bytes:    desc("response_bytes_total", "Bytes of bodies that were sent, by route.", "route"),
		seconds:  desc("request_duration_seconds", "Time from a request's last byte to its answer, by route.", "route"),
	}
}

// of is the tally of an answer.
func (all *tallies) of(p protocol, r route, o outcome, status int) *tally {
	class := status / 100
	if class < 0 || class >= statusClasses {
		class = 0
	}
	at := &all.at[p][r][o][class]
	if t := at.Load(); t != nil {
		return t
	}
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
			n := took.add(&t.durations)
			bytes += t.bytes.Load()
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
		for p := range protocols {
			for o := range outcomes {
				for class := range statusClasses {
					t := all.at[p][r][o][class].Load()
					if t != nil && !yield([]string{r.String(), outcomeNames[o], strconv.Itoa(class) + "xx", protocolNames[p]}, t) {
						return
					}
				}
			}
		}
	}
}
