package edge

import (
	"github.com/iconedge/iconedge/edge/exchange"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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

// metrics are all that an edge counts. Labels take only values from our own constants, but for the origin's release, of which
// one is kept. What is counted of a hit is in answers, all else is client_golang's.
type metrics struct {
	registry  *prometheus.Registry
	answers   *tallies
	decisions [classes][2]prometheus.Counter // refused, accepted
	upstream  [2]prometheus.Counter          // error, ok
	took      prometheus.Observer            // of the origin
	switches  prometheus.Counter
	absent    prometheus.Counter
	names     prometheus.Gauge
	release   releases
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
	m := &metrics{registry: prometheus.NewRegistry(), answers: newTallies(time.Now())}
	m.registry.MustRegister(m.answers, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	decisions := m.counters("limit_decisions_total", "Requests counted against a limit, by class of limit and decision.", "class", "decision")
	for c := classSearch; c < classes; c++ {
		m.decisions[c] = [2]prometheus.Counter{decisions.WithLabelValues(c.String(), "refused"), decisions.WithLabelValues(c.String(), "accepted")}
	}
	m.ofOrigin()
	m.ofRelease()
	m.ofLists()
	m.ofTLS()
	checks := m.counters("token_checks_total", "Calls in which a licence token was looked for, by result.", "result")
	for result, name := range tokenResultNames {
		m.checks[result] = checks.WithLabelValues(name)
	}
	m.gauges("build_info", "1, by version of the program and of Go.", "version", "go").WithLabelValues(version, runtime.Version()).Set(1)
	return m
}

func (m *metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iconedge_edge_" + name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "iconedge_edge_" + name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

// desc describes what a collector tells.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("iconedge_edge_"+name, help, labels, nil)
}

// gaugeOf is one that is read when metrics are asked for; of those with the same name each has labels of its own.
func (m *metrics) gaugeOf(name, help string, labels prometheus.Labels, f func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "iconedge_edge_" + name, Help: help, ConstLabels: labels}, f))
}

// counterOf is a counter that is read likewise.
func (m *metrics) counterOf(name, help string, labels prometheus.Labels, f func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "iconedge_edge_" + name, Help: help, ConstLabels: labels}, f))
}

// histogram is one of durations, of both kinds.
func (m *metrics) histogram(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "iconedge_edge_" + name, Help: help,
		Buckets: durationBuckets, NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets,
	})
	m.registry.MustRegister(h)
	return h
}

func (m *metrics) ofOrigin() {
	asked := m.counters("upstream_requests_total", "Requests to the origin, by result.", "result")
	m.upstream = [2]prometheus.Counter{asked.WithLabelValues("error"), asked.WithLabelValues("ok")}
	m.took = m.histogram("upstream_request_duration_seconds", "Time that the origin took to begin its answer.")
}

// ofRelease are those of the origin's release.
func (m *metrics) ofRelease() {
	m.switches = m.counters("release_switches_total", "Times that the origin's release was learnt or had changed.").WithLabelValues()
	m.registry.MustRegister(&m.release)
	m.absent = m.counters("absent_total", "Requests for icons and packs that are not in the release's list of names: the origin was not asked.").WithLabelValues()
	m.names = m.gauges("names", "Packs and icons in the list of names that was fetched last; 0 where the origin has none.").WithLabelValues()
}

// ofLists are those of the operator's lists of addresses.
func (m *metrics) ofLists() {
	read := m.gauges("list_last_reload_successful", "1 while the list of addresses in use is what its file says, 0 while the file can't be used and the list before it stays, by list.", "list")
	ranges := m.gauges("list_ranges", "Ranges of addresses, by list.", "list")
	for _, n := range []listName{listAllow, listDeny} {
		m.listsRead[n], m.ranges[n] = read.WithLabelValues(n.String()), ranges.WithLabelValues(n.String())
		m.listRead(n, 0, true)
	}
}

func (m *metrics) ofTLS() {
	shakes := m.counters("tls_handshakes_total", "Handshakes of TLS over TCP, by result.", "result")
	m.shakes = [2]prometheus.Counter{shakes.WithLabelValues("failed"), shakes.WithLabelValues("ok")}
	m.certsRead = m.gauges("tls_last_reload_successful", "1 while the certificates in use are what their files say, 0 while those can't be used and the ones before stay.").WithLabelValues()
	m.certsEnd = m.gauges("tls_certificate_end_timestamp_seconds", "When the first of the certificates from files will be valid no more, in seconds since 1970; 0: there are none.").WithLabelValues()
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

// handler serves the metrics in Prometheus' formats.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// answered counts a request. What was sent of its body is for the caller to add.
func (m *metrics) answered(p exchange.Protocol, r route, o outcome, status int, took time.Duration) *tally {
	t := m.answers.of(p, r, o, status)
	t.answered(took)
	return t
}

// hit counts a request that came at a time, and was answered on the short way.
func (m *metrics) hit(p exchange.Protocol, meeting *meeting, now time.Time, bytes int) {
	m.answers.of(p, meeting.target.route, outcomeHit, meeting.status).hit(now, bytes)
}

// counted counts a decision of a limit.
func (m *metrics) counted(c class, ok bool) { m.decisions[c][index(ok)].Inc() }

// asked counts a request to the origin.
func (m *metrics) asked(took time.Duration, err error) {
	m.upstream[index(err == nil)].Inc()
	m.took.Observe(took.Seconds())
}

func index(ok bool) int {
	if ok {
		return 1
	}
	return 0
}
