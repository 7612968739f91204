package edge

import (
	"net/http"
	"runtime"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// An outcome is how a request was answered.
type outcome uint8

const (
	outcomeError     outcome = iota // the origin or the edge failed
	outcomeHit                      // from the cache, fresh
	outcomeStale                    // from the cache, stale (revalidating, or the origin failed)
	outcomeMiss                     // fetched from the origin
	outcomeCollapsed                // from the fetch of another request (collapsed)
	outcomePassed                   // relayed from the origin, not from the cache
	outcomeOwn                      // made by the edge: page, health, preflights
	outcomeRefused                  // malformed, out of range, unknown
	outcomeLimited                  // over a limit
	outcomeDenied                   // the client is on the deny list
	outcomes                        // the number of outcomes
)

var outcomeNames = [outcomes]string{"error", "hit", "stale", "miss", "collapsed", "passed", "own", "refused", "limited", "denied"}

// metrics holds all metrics of an edge. Labels take only values from our own constants, except the
// origins' URLs, which the operator sets, and the origin's release, of which only the last has a
// series. answers counts requests, because client_golang is too slow for hits.
type metrics struct {
	registry   *prometheus.Registry
	answers    *tallies
	decisions  [routes.Classes][2]prometheus.Counter // refused, accepted
	upstream   [2]prometheus.Counter                 // error, ok
	took       prometheus.Observer                   // time to the origin's response
	switches   prometheus.Counter
	absent     prometheus.Counter
	names      prometheus.Gauge
	release    releases
	checks     [tokenResults]prometheus.Counter
	handshakes [2]prometheus.Counter // TLS handshakes: failed, ok
	certsRead  prometheus.Gauge      // 1 if the last reading of the certificates succeeded
	certsEnd   prometheus.Gauge
	listsRead  [2]prometheus.Gauge // by list: 1 if the last reading of its file succeeded
	ranges     [2]prometheus.Gauge // by list
}

// A tokenResult is the result of checking the licence token of a request.
type tokenResult uint8

const (
	tokenMissing tokenResult = iota
	tokenInvalid
	tokenValid
	tokenUnknown // the check failed
	tokenResults // the number of results
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
	for c := routes.ClassSearch; c < routes.Classes; c++ {
		m.decisions[c] = [2]prometheus.Counter{decisions.WithLabelValues(c.String(), "refused"), decisions.WithLabelValues(c.String(), "accepted")}
	}
	m.ofOrigin()
	m.ofRelease()
	m.ofLists()
	m.ofTLS()
	checks := m.counters("token_checks_total", "Checks of the licence token of a request, by result: valid, invalid, missing, or unknown because the check failed.", "result")
	for result, name := range tokenResultNames {
		m.checks[result] = checks.WithLabelValues(name)
	}
	m.gauges("build_info", "Always 1, by version of the program and of Go.", "version", "go").WithLabelValues(version, runtime.Version()).Set(1)
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

// desc returns the description of a metric of a collector.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("iconedge_edge_"+name, help, labels, nil)
}

// gaugeOf adds a gauge that calls f when it is scraped. Gauges with the same name must differ in
// their labels.
func (m *metrics) gaugeOf(name, help string, labels prometheus.Labels, f func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "iconedge_edge_" + name, Help: help, ConstLabels: labels}, f))
}

// counterOf adds a counter that calls f when it is scraped.
func (m *metrics) counterOf(name, help string, labels prometheus.Labels, f func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "iconedge_edge_" + name, Help: help, ConstLabels: labels}, f))
}

// histogram adds a histogram of durations, with classic and native buckets.
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
	m.took = m.histogram("upstream_request_duration_seconds", "Time until the origin began its response.")
}

// ofRelease adds the metrics of the origin's release and its list of names.
func (m *metrics) ofRelease() {
	m.switches = m.counters("release_switches_total", "Releases that the edge switched to, including the first that it learnt from the origin.").WithLabelValues()
	m.registry.MustRegister(&m.release)
	m.absent = m.counters("absent_total", "Requests for icons and packs that are not in the release's list of names, answered without a request to the origin.").WithLabelValues()
	m.names = m.gauges("names", "Packs and icons in the last list of names; 0 if the origin has no such list.").WithLabelValues()
}

// ofLists adds the metrics of the operator's lists of addresses.
func (m *metrics) ofLists() {
	read := m.gauges("list_last_reload_successful", "1 while the list of addresses in use is that of its file, 0 while the file can't be used and the previous list stays valid, by list.", "list")
	ranges := m.gauges("list_ranges", "Address ranges in use, by list.", "list")
	for _, n := range []listName{listAllow, listDeny} {
		m.listsRead[n], m.ranges[n] = read.WithLabelValues(n.String()), ranges.WithLabelValues(n.String())
		m.listRead(n, 0, true)
	}
}

func (m *metrics) ofTLS() {
	shakes := m.counters("tls_handshakes_total", "TLS handshakes over TCP, by result.", "result")
	m.handshakes = [2]prometheus.Counter{shakes.WithLabelValues("failed"), shakes.WithLabelValues("ok")}
	m.certsRead = m.gauges("tls_last_reload_successful", "1 while the certificates in use are those of their files, 0 while the files can't be used and the previous certificates stay in use.").WithLabelValues()
	m.certsEnd = m.gauges("tls_certificate_end_timestamp_seconds", "When the first of the certificates from files expires, in seconds since 1970; 0 if there are none.").WithLabelValues()
	m.certsRead.Set(1)
}

// handshakeDone counts a TLS handshake.
func (m *metrics) handshakeDone(err error) { m.handshakes[index(err == nil)].Inc() }

// certificates records whether reading the certificates succeeded, and when the first of those in
// use expires.
func (m *metrics) certificates(end time.Time, ok bool) {
	m.certsRead.Set(float64(index(ok)))
	m.certsEnd.Set(float64(end.Unix()))
}

// tokenChecked counts a check of a licence token.
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

// listRead records whether reading a list succeeded, and the number of ranges in use.
func (m *metrics) listRead(n listName, ranges int, ok bool) {
	m.listsRead[n].Set(float64(index(ok)))
	m.ranges[n].Set(float64(ranges))
}

// handler returns a handler that serves the metrics in Prometheus' formats.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// answered counts a request. The caller adds the bytes of its body that were sent.
func (m *metrics) answered(p exchange.Protocol, r routes.Route, o outcome, status int, took time.Duration) *tally {
	t := m.answers.of(p, r, o, status)
	t.answered(took)
	return t
}

// hit counts a request that was received at now and answered on the fast path.
func (m *metrics) hit(p exchange.Protocol, meeting *fastHit, now time.Time, bytes int) {
	m.answers.of(p, meeting.target.route, outcomeHit, meeting.status).hit(now, bytes)
}

// counted counts a decision of a rate limit.
func (m *metrics) counted(c routes.Class, ok bool) { m.decisions[c][index(ok)].Inc() }

// fetched counts a request to the origin.
func (m *metrics) fetched(took time.Duration, err error) {
	m.upstream[index(err == nil)].Inc()
	m.took.Observe(took.Seconds())
}

func index(ok bool) int {
	if ok {
		return 1
	}
	return 0
}
