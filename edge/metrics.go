package edge

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/upstream"
)

// An outcome is how a request was answered.
type outcome uint8

const (
	outcomeError     outcome = iota // the origin failed, or something here
	outcomeHit                      // from the cache, fresh
	outcomeStale                    // from the cache, stale: while revalidating, or because the origin failed
	outcomeMiss                     // the origin was asked
	outcomeCollapsed                // another request under way brought it
	outcomePassed                   // the origin's, never kept
	outcomeOwn                      // the edge's own: page, health, preflights
	outcomeRefused                  // malformed, out of range, unknown
	outcomeLimited                  // over the limit
	outcomeDenied                   // on the operator's list
	outcomes                        // how many there are
)

var outcomeNames = [outcomes]string{"error", "hit", "stale", "miss", "collapsed", "passed", "own", "refused", "limited", "denied"}

const statusClasses = 6 // "0xx" is never used: it makes the index plain

// metrics are all that an edge counts. Labels take only values from our own constants, but for the origin's release, of which
// one is kept. Counters are bound ahead: looking a label up costs more than a hit.
type metrics struct {
	registry  *prometheus.Registry
	requests  [protocols][classes][outcomes][statusClasses]prometheus.Counter
	seconds   [classes]prometheus.Observer
	decisions [classes][2]prometheus.Counter // refused, accepted
	origin    [2]prometheus.Counter          // error, ok
	originFor prometheus.Observer
	switches  prometheus.Counter
	absent    prometheus.Counter
	names     prometheus.Gauge
	release   *prometheus.GaugeVec
	checks    [tokenResults]prometheus.Counter
	shakes    [2]prometheus.Counter // handshakes of TLS: failed, well
	certsRead prometheus.Gauge      // 1 if the certificates could be read last time
	certsEnd  prometheus.Gauge
	listsRead [2]prometheus.Gauge // by list: 1 if its file could be read last time
	ranges    [2]prometheus.Gauge // by list
}

// A tokenResult is what came of looking for a licence token.
type tokenResult uint8

const (
	tokenMissing tokenResult = iota
	tokenInvalid
	tokenValid
	tokenUnknown // nobody could say
	tokenResults // how many there are
)

var tokenResultNames = [tokenResults]string{"missing", "invalid", "valid", "unknown"}

// A listName is one of the operator's lists of addresses.
type listName uint8

const (
	listAllow listName = iota
	listDeny
)

func (n listName) String() string { return [...]string{"allow", "deny"}[n] }

func newMetrics(version string) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	requests := m.counters("requests_total", "Requests on the public listeners, by class of limit, outcome, class of status and protocol.", "class", "outcome", "code", "protocol")
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "iconedge_edge_request_seconds", Help: "Time from a request's last byte to its answer, by class of limit.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"class"})
	m.registry.MustRegister(seconds)
	decisions := m.counters("limit_decisions_total", "Requests counted against a limit, by class and decision.", "class", "decision")
	for c := range classes {
		m.seconds[c] = seconds.WithLabelValues(c.String())
		for p := range protocols {
			for o := range outcomes {
				for s := 1; s < statusClasses; s++ {
					m.requests[p][c][o][s] = requests.WithLabelValues(c.String(), outcomeNames[o], strconv.Itoa(s)+"xx", protocolNames[p])
				}
			}
		}
		if c != classNone {
			m.decisions[c] = [2]prometheus.Counter{decisions.WithLabelValues(c.String(), "refused"), decisions.WithLabelValues(c.String(), "accepted")}
		}
	}
	m.ofOrigin()
	m.ofLists()
	m.ofTLS()
	checks := m.counters("token_checks_total", "Calls in which a licence token was looked for, by result.", "result")
	for result, name := range tokenResultNames {
		m.checks[result] = checks.WithLabelValues(name)
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "iconedge_edge_build_info", Help: "1, by version of the program."}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(build)
	return m
}

func (m *metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iconedge_edge_" + name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *metrics) ofOrigin() {
	asked := m.counters("origin_requests_total", "Requests to the origin, by result.", "result")
	m.origin = [2]prometheus.Counter{asked.WithLabelValues("error"), asked.WithLabelValues("ok")}
	seconds := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "iconedge_edge_origin_seconds", Help: "Time that the origin took for an answer.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	})
	m.originFor = seconds
	m.switches = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "iconedge_edge_release_switches_total", Help: "Times that the origin's release was learnt or had changed.",
	})
	m.release = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "iconedge_edge_release_info", Help: "1, by the release of the origin that the edge knows.",
	}, []string{"release"})
	m.absent = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "iconedge_edge_absent_total", Help: "Requests for icons and packs that are not in the release's list of names: the origin was not asked.",
	})
	m.names = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "iconedge_edge_names", Help: "Packs and icons in the list of names that was fetched last; 0 where the origin has none.",
	})
	m.registry.MustRegister(seconds, m.switches, m.release, m.absent, m.names)
}

// ofLists are those of the operator's lists of addresses.
func (m *metrics) ofLists() {
	read := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "iconedge_edge_list_last_reload_successful", Help: "1 while the list of addresses in use is what its file says, 0 while the file can't be used and the list before it stays, by list.",
	}, []string{"list"})
	ranges := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "iconedge_edge_list_ranges", Help: "Ranges of addresses, by list.",
	}, []string{"list"})
	m.registry.MustRegister(read, ranges)
	for _, n := range []listName{listAllow, listDeny} {
		m.listsRead[n], m.ranges[n] = read.WithLabelValues(n.String()), ranges.WithLabelValues(n.String())
		m.listRead(n, 0, true)
	}
}

func (m *metrics) ofTLS() {
	shakes := m.counters("tls_handshakes_total", "Handshakes of TLS over TCP, by result.", "result")
	m.shakes = [2]prometheus.Counter{shakes.WithLabelValues("failed"), shakes.WithLabelValues("ok")}
	m.certsRead = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "iconedge_edge_tls_last_reload_successful", Help: "1 while the certificates in use are what their files say, 0 while those can't be used and the ones before stay.",
	})
	m.certsEnd = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "iconedge_edge_tls_certificate_end_timestamp_seconds", Help: "When the first of the certificates from files will be valid no more, in seconds since 1970; 0: there are none.",
	})
	m.registry.MustRegister(m.certsRead, m.certsEnd)
	m.certsRead.Set(1)
}

// shook counts a handshake.
func (m *metrics) shook(err error) { m.shakes[index(err == nil)].Inc() }

// certificates tells what became of reading them, and when the first of those in use ends.
func (m *metrics) certificates(end time.Time, ok bool) {
	m.certsRead.Set(float64(index(ok)))
	m.certsEnd.Set(float64(end.Unix()))
}

// tokenChecked counts a look for a licence token.
func (m *metrics) tokenChecked(given, valid bool, err error) {
	result := tokenInvalid
	switch {
	case !given:
		result = tokenMissing
	case err != nil:
		result = tokenUnknown
	case valid:
		result = tokenValid
	}
	m.checks[result].Inc()
}

// listRead tells of a list that was read, or could not be.
func (m *metrics) listRead(n listName, ranges int, ok bool) {
	m.listsRead[n].Set(float64(index(ok)))
	m.ranges[n].Set(float64(ranges))
}

// watches adds what other rooms count themselves, read when metrics are asked for.
func (m *metrics) watches(c *cache.Cache, o *upstream.Client, ready func() bool) {
	gauge := func(name, help string, f func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "iconedge_edge_" + name, Help: help}, f))
	}
	counter := func(name, help string, f func() float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "iconedge_edge_" + name, Help: help}, f))
	}
	gauge("cache_entries", "Answers in the cache.", func() float64 { return float64(c.Stats().Entries) })
	gauge("cache_bytes", "Bytes of answers in the cache, as they count against its ceiling.", func() float64 { return float64(c.Stats().Bytes) })
	counter("cache_evictions_total", "Answers that made room for others.", func() float64 { return float64(c.Stats().Evicted) })
	counter("cache_drops_total", "Times that answers were dropped by surrogate key.", func() float64 { return float64(c.Stats().Drops) })
	counter("cache_purged_total", "Answers that purges removed or marked stale.", func() float64 { return float64(c.Stats().Purged) })
	gauge("cache_disk_entries", "Answers on disk.", func() float64 { return float64(c.Stats().DiskEntries) })
	gauge("cache_disk_bytes", "Bytes of answers on disk.", func() float64 { return float64(c.Stats().DiskBytes) })
	counter("cache_disk_hits_total", "Answers that were taken from disk.", func() float64 { return float64(c.Stats().DiskHits) })
	counter("cache_disk_errors_total", "Answers that could not be written to disk or read from it.", func() float64 { return float64(c.Stats().DiskErrors) })
	m.registry.MustRegister(origins{o})
	gauge("origin_connections", "Connections to the origin that are open.", func() float64 { return float64(o.Stats().Open) })
	counter("origin_timeouts_total", "Requests to the origin that were not answered in time.", func() float64 { return float64(o.Stats().Timeouts) })
	counter("origin_retries_total", "Requests to the origin that were sent a second time.", func() float64 { return float64(o.Stats().Retries) })
	gauge("ready", "1 while the edge is ready.", func() float64 {
		if ready() {
			return 1
		}
		return 0
	})
}

// watchesClients adds what is counted of connections and of requests that wait.
func (m *metrics) watchesClients(s *conns, w *waitingRoom) {
	name := func(what string) prometheus.Opts { return prometheus.Opts{Name: "iconedge_edge_" + what} }
	gauge := func(o prometheus.Opts, help string, f func() float64) {
		o.Help = help
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts(o), f))
	}
	counter := func(o prometheus.Opts, help string, f func() int64) {
		o.Help = help
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts(o), func() float64 { return float64(f()) }))
	}
	for phase, label := range phaseNames {
		o := name("connections")
		o.ConstLabels = prometheus.Labels{"state": label}
		gauge(o, "Connections on the public listener, by what they do: idle, reading a request, busy with it, writing a part of its answer.",
			func() float64 { return float64(s.phases()[phase]) })
	}
	for why, label := range refusalNames {
		o := name("connections_refused_total")
		o.ConstLabels = prometheus.Labels{"reason": label}
		counter(o, "Connections that were not taken, by reason: all are in use, the client has as many as it may, no descriptors are left.", s.refused[why].Load)
	}
	gauge(name("connections_max"), "Connections that there may be at a time.", func() float64 { return float64(s.max) })
	counter(name("connections_reclaimed_total"), "Connections that were closed to make room, those first that had been idle longest.", s.madeRoom.Load)
	counter(name("connections_overdue_total"), "Connections that were cut because their client did not take its answers in time.", s.overdue.Load)
	gauge(name("h3_connections"), "Connections that speak HTTP/3; they are not among the others.", func() float64 { return float64(s.overQUIC.Load()) })
	gauge(name("bodies_bytes"), "Bytes of long bodies of requests that are being read.", func() float64 { return float64(s.limits.Bodies.Used()) })
	gauge(name("waiting"), "Requests that wait for the origin.", func() float64 { return float64(w.waiting()) })
	counter(name("shed_total"), "Requests that were refused because too many waited for the origin.", w.shed.Load)
}

// watchesStreams adds what connections of HTTP/2 come to.
func (m *metrics) watchesStreams(s *h2.Server) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "iconedge_edge_h2_connections", Help: "Connections that speak HTTP/2.",
	}, func() float64 { return float64(s.Stats().Connections) }))
	for reason, count := range map[string]func(h2.Stats) uint64{
		"calm":    func(s h2.Stats) uint64 { return s.Calmed },
		"broken":  func(s h2.Stats) uint64 { return s.Broken },
		"stalled": func(s h2.Stats) uint64 { return s.Stalled },
		"refused": func(s h2.Stats) uint64 { return s.Refused },
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "iconedge_edge_h2_ended_total", ConstLabels: prometheus.Labels{"reason": reason},
			Help: "Connections of HTTP/2 that were closed for floods (calm) or for breaking the protocol (broken), and streams that took too long (stalled) or were too many (refused), by reason.",
		}, func() float64 { return float64(count(s.Stats())) }))
	}
}

// origins tells of each origin, by its URL: there are as many as the operator named.
type origins struct{ *upstream.Client }

var (
	originWell     = prometheus.NewDesc("iconedge_edge_origin_well", "1 while an origin is asked, 0 while it is given up for failing, by its URL.", []string{"origin"}, nil)
	originFailures = prometheus.NewDesc("iconedge_edge_origin_failures_total", "Requests that an origin failed to answer, by its URL.", []string{"origin"}, nil)
	breakerOpened  = prometheus.NewDesc("iconedge_edge_origin_breaker_opened_total", "Times that an origin was given up for a while, by its URL.", []string{"origin"}, nil)
)

func (o origins) Describe(to chan<- *prometheus.Desc) {
	to <- originWell
	to <- originFailures
	to <- breakerOpened
}

func (o origins) Collect(to chan<- prometheus.Metric) {
	for _, s := range o.Stats().Origins {
		to <- prometheus.MustNewConstMetric(originWell, prometheus.GaugeValue, float64(index(s.Well)), s.URL)
		to <- prometheus.MustNewConstMetric(originFailures, prometheus.CounterValue, float64(s.Failures), s.URL)
		to <- prometheus.MustNewConstMetric(breakerOpened, prometheus.CounterValue, float64(s.Opened), s.URL)
	}
}

// handler serves the metrics in Prometheus' formats.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// answered counts a request.
func (m *metrics) answered(p protocol, c class, o outcome, status int, took time.Duration) {
	if s := status / 100; 1 <= s && s < statusClasses {
		m.requests[p][c][o][s].Inc()
	}
	m.seconds[c].Observe(took.Seconds())
}

// counted counts a decision of a limit.
func (m *metrics) counted(c class, ok bool) { m.decisions[c][index(ok)].Inc() }

// asked counts a request to the origin.
func (m *metrics) asked(took time.Duration, err error) {
	m.origin[index(err == nil)].Inc()
	m.originFor.Observe(took.Seconds())
}

// switched names the release that is known from now on.
func (m *metrics) switched(release string) {
	m.switches.Inc()
	m.release.Reset()
	m.release.WithLabelValues(release).Set(1)
}

func index(ok bool) int {
	if ok {
		return 1
	}
	return 0
}
