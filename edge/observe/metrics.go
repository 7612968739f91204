package observe

import (
	"errors"
	"net/http"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/guesses"
)

// Metrics holds all metrics of an edge. Labels take only values from our own constants, except the
// origins' URLs, which the operator sets, and the origin's release, of which only the last has a
// series. answers counts requests, because client_golang is too slow for hits.
type Metrics struct {
	SignOns      *SignOns
	config       sync.Once // of configOK
	configOK     *prometheus.GaugeVec
	rulesStopped *prometheus.CounterVec // by site and result; nil without a configuration file
	bySite       *siteCounters
	Registry     *prometheus.Registry
	answers      *tallies
	decisions    [routes.Classes][2]prometheus.Counter // refused, accepted
	upstream     [2]prometheus.Counter                 // error, ok
	took         prometheus.Observer                   // time to the origin's response
	Groups       [2]prometheus.Counter                 // names of cache groups: followed, ignored
	switches     prometheus.Counter
	absent       prometheus.Counter
	names        prometheus.Gauge
	release      releases
	checks       [tokenResults]prometheus.Counter
	passwords    map[string]prometheus.Counter // by result
	Handshakes   [2]prometheus.Counter         // TLS handshakes: failed, ok
	CertsRead    prometheus.Gauge              // 1 if the certificates were read the last time
	certs        certificates
	listsRead    map[string]prometheus.Gauge // by list: 1 if its file was read the last time
	ranges       map[string]prometheus.Gauge // by list
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

func NewMetrics(version string) *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry(), answers: newTallies(time.Now())}
	m.Registry.MustRegister(m.answers, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: waits})))
	decisions := m.counters("limit_decisions_total",
		"Requests counted against a limit, by class of limit and decision.", "class", "decision")
	for c := routes.ClassSearch; c < routes.Classes; c++ {
		m.decisions[c] = [2]prometheus.Counter{decisions.WithLabelValues(c.String(), "refused"),
			decisions.WithLabelValues(c.String(), "accepted")}
	}
	m.ofOrigin()
	m.ofRelease()
	m.ofLists()
	m.ofTLS()
	checks := m.counters("token_checks_total", "Checks of the licence token of a request, by result: valid, invalid, "+
		"missing, or unknown because the check failed.", "result")
	for result, name := range tokenResultNames {
		m.checks[result] = checks.WithLabelValues(name)
	}
	m.ofPasswords()
	m.SignOns = newSignOns(m.counters)
	m.gauges("build_info", "Always 1, by version of the program and of Go.", "version", "go").WithLabelValues(version,
		runtime.Version()).Set(1)
	return m
}

// waits are metrics of the runtime besides those of every program: the time for which goroutines
// wait for locks, and for a processor.
var waits = regexp.MustCompile("^/(sync/mutex/wait/total|sched/latencies):seconds$")

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iconedge_edge_" + name, Help: help}, labels)
	m.Registry.MustRegister(v)
	return v
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "iconedge_edge_" + name, Help: help}, labels)
	m.Registry.MustRegister(v)
	return v
}

// desc returns the description of a metric of a collector.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("iconedge_edge_"+name, help, labels, nil)
}

// histogram adds a histogram of durations, with classic and native buckets.
func (m *Metrics) histogram(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "iconedge_edge_" + name, Help: help,
		Buckets: durationBuckets, NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets,
	})
	m.Registry.MustRegister(h)
	return h
}

func (m *Metrics) ofOrigin() {
	asked := m.counters("upstream_requests_total", "Requests to the origin, by result.", "result")
	m.upstream = [2]prometheus.Counter{asked.WithLabelValues("error"), asked.WithLabelValues("ok")}
	groups := m.counters("cache_groups_total", "Names in Cache-Groups and Cache-Group-Invalidation of forwarded "+
		"responses (RFC 9875), by whether they were followed, or ignored because they were too many or too long.", "result")
	m.Groups = [2]prometheus.Counter{groups.WithLabelValues("followed"), groups.WithLabelValues("ignored")}
	m.took = m.histogram("upstream_request_duration_seconds", "Time until the origin began its response.")
}

// ofRelease adds the metrics of the origin's release and its list of names.
func (m *Metrics) ofRelease() {
	m.switches = m.counters("release_switches_total",
		"Releases that the edge switched to, including the first that it learnt from the origin.").WithLabelValues()
	m.Registry.MustRegister(&m.release)
	m.absent = m.counters("absent_total", "Requests for icons and packs that are not in the release's list of names, "+
		"answered without a request to the origin.").WithLabelValues()
	m.names = m.gauges("names", "Packs and icons in the last list of names; 0 if the origin has no such list.").WithLabelValues()
}

// ofLists adds the metrics of the operator's lists of addresses.
func (m *Metrics) ofLists() {
	read := m.gauges("list_last_reload_successful", "1 while the list of addresses in use is that of its file, 0 "+
		"while the file can't be used and the previous list stays valid, by list.", "list")
	ranges := m.gauges("list_ranges", "Address ranges in use, by list.", "list")
	m.listsRead, m.ranges = map[string]prometheus.Gauge{}, map[string]prometheus.Gauge{}
	for _, n := range []string{"allow", "deny"} {
		m.listsRead[n], m.ranges[n] = read.WithLabelValues(n), ranges.WithLabelValues(n)
		m.ListRead(n, 0, true)
	}
}

func (m *Metrics) ofTLS() {
	shakes := m.counters("tls_handshakes_total", "TLS handshakes over TCP, by result.", "result")
	m.Handshakes = [2]prometheus.Counter{shakes.WithLabelValues("failed"), shakes.WithLabelValues("ok")}
	m.CertsRead = m.gauges("tls_last_reload_successful", "1 while the certificates in use are those of their files, 0 "+
		"while the files can't be used and the previous certificates stay in use.").WithLabelValues()
	m.ofCertificates()
	m.CertsRead.Set(1)
}

// HandshakeDone counts a TLS handshake.
func (m *Metrics) HandshakeDone(err error) { m.Handshakes[index(err == nil)].Inc() }

// TokenChecked counts a check of a licence token.
func (m *Metrics) TokenChecked(given, valid bool, err error) {
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

// ofPasswords adds the metric of passwords that clients send.
func (m *Metrics) ofPasswords() {
	checks := m.counters("password_checks_total", "Passwords of requests, by result: right, wrong, or without a "+
		"verdict: client (too many of this client were waiting), full (of all clients), late (it waited too long), "+
		"gone (its client left before).", "result")
	m.passwords = map[string]prometheus.Counter{}
	for _, result := range []string{"right", "wrong", "client", "full", "late", "gone"} {
		m.passwords[result] = checks.WithLabelValues(result)
	}
}

// PasswordChecked counts a password that a client sent.
func (m *Metrics) PasswordChecked(right bool, err error) {
	result := "wrong"
	switch {
	case right:
		result = "right"
	case errors.Is(err, guesses.ErrClient):
		result = "client"
	case errors.Is(err, guesses.ErrFull):
		result = "full"
	case errors.Is(err, guesses.ErrLate):
		result = "late"
	case errors.Is(err, guesses.ErrGone):
		result = "gone"
	}
	m.passwords[result].Inc()
}

// ListRead records whether reading a list succeeded, and the number of ranges in use.
func (m *Metrics) ListRead(n string, ranges int, ok bool) {
	m.listsRead[n].Set(float64(index(ok)))
	m.ranges[n].Set(float64(ranges))
}

// ReleaseSwitched counts a switch to another release.
func (m *Metrics) ReleaseSwitched() { m.switches.Inc() }

// NamesKnown records the number of names in the list of names.
func (m *Metrics) NamesKnown(n int) { m.names.Set(float64(n)) }

// NameAbsent counts a request for a name that is not in the list of names.
func (m *Metrics) NameAbsent() { m.absent.Inc() }

// Handler returns a handler that serves the metrics in Prometheus' formats, and in OpenMetrics,
// which has exemplars.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Answered counts a request. The caller adds the bytes of its body that were sent.
func (m *Metrics) Answered(p exchange.Protocol, r routes.Route, o exchange.Outcome, status int, took time.Duration) *Tally {
	t := m.answers.of(p, r, o, status)
	t.answered(took)
	return t
}

// Traced makes a traced request an exemplar of the durations of its route.
func (m *Metrics) Traced(r routes.Route, took time.Duration, traceID string) {
	m.answers.traced[r].add(took, traceID, time.Now())
}

// Hit counts a request that was received at now and answered on the hit path, by a fresh or a
// stale response.
func (m *Metrics) Hit(h *Hit, now time.Time) {
	m.answers.of(h.Protocol, h.Route, h.Outcome, h.Status).hit(now, h.Stripe, h.Bytes)
}

// Counted counts a decision of a rate limit.
func (m *Metrics) Counted(c routes.Class, ok bool) { m.decisions[c][index(ok)].Inc() }

// Fetched counts a request to the origin.
func (m *Metrics) Fetched(took time.Duration, err error) {
	m.upstream[index(err == nil)].Inc()
	m.took.Observe(took.Seconds())
}

func index(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// ConfigReloaded records whether the configuration file could be used when it was last read.
func (m *Metrics) ConfigReloaded(ok bool) {
	m.config.Do(func() {
		m.bySite = &siteCounters{parts: map[prometheus.Counter]*hitCounter{}, CounterVec: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "iconedge_edge_site_responses_total", Help: "Responses for each site of the configuration file, " +
				"by the use of the cache and the class of the status."}, []string{"site", "cache", "status"})}
		m.rulesStopped = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iconedge_edge_site_rules_stopped_total",
			Help: "Requests whose rules cost too much and were stopped, for each site of the configuration file: " +
				"refused with 503, because a rule that keeps requests from the origin was not decided, or passed on uncached."},
			[]string{"site", "result"})
		m.Registry.MustRegister(m.bySite, m.rulesStopped)
		m.configOK = m.gauges("config_last_reload_successful",
			"Whether the configuration file could be used when it was last read, at the start or by a reload.")
	})
	value := 0.0
	if ok {
		value = 1
	}
	m.configOK.WithLabelValues().Set(value)
}

// RulesStopped counts a request of a site of the configuration file whose rules cost too much.
func (m *Metrics) RulesStopped(site string, refused bool) {
	m.rulesStopped.WithLabelValues(site, stopResults[index(refused)]).Inc()
}

// SiteUsed makes the counters of a site of the configuration file begin with zero.
func (m *Metrics) SiteUsed(site string) {
	for _, result := range stopResults {
		m.rulesStopped.WithLabelValues(site, result)
	}
}

// stopResults are what happens with a request whose rules were stopped.
var stopResults = [...]string{"passed", "refused"}

// SiteAnswered counts a response of the pipeline for a site of the configuration file, whose name
// bounds the label.
func (m *Metrics) SiteAnswered(site string, o exchange.Outcome, status int) {
	m.bySite.WithLabelValues(site, exchange.OutcomeNames[o], classes[classOf(status)]).Inc()
}

// classes are the classes of statuses.
var classes = [...]string{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"}

// SiteHits counts hits of one site on the hit path, by the class of their status. The zero value
// counts nothing.
type SiteHits struct {
	fresh, stale [statusClasses]*hitCounter
}

// SiteHits returns the counters of a site of the configuration file.
func (m *Metrics) SiteHits(site string) (s SiteHits) {
	for class := 2; class < statusClasses; class++ { // no hit has another class
		s.fresh[class] = m.bySite.counter(site, exchange.OutcomeNames[exchange.Hit], classes[class])
		s.stale[class] = m.bySite.counter(site, exchange.OutcomeNames[exchange.Stale], classes[class])
	}
	return s
}

// Count counts a response in a stripe.
func (s *SiteHits) Count(at uint8, o exchange.Outcome, status int) {
	counters := &s.fresh
	if o == exchange.Stale {
		counters = &s.stale
	}
	if c := counters[classOf(status)]; c != nil {
		c.add(at)
	}
}

// A hitCounter is a part of a counter that the processors change apart.
type hitCounter struct {
	whole prometheus.Counter
	parts atomic.Pointer[[Stripes]stripe] // nil until the first hit: most sites lack most kinds
}

func (c *hitCounter) add(at uint8) {
	parts := c.parts.Load()
	if parts == nil {
		c.parts.CompareAndSwap(nil, new([Stripes]stripe))
		parts = c.parts.Load()
	}
	parts[at%Stripes].Add(1)
}

// settle adds the parts to the whole.
func (c *hitCounter) settle() {
	parts := c.parts.Load()
	if parts == nil {
		return
	}
	for i := range parts {
		if n := parts[i].Swap(0); n > 0 {
			c.whole.Add(float64(n))
		}
	}
}

// siteCounters are the counters of the sites' responses, some of which have parts for hits.
type siteCounters struct {
	*prometheus.CounterVec
	mu    sync.Mutex
	parts map[prometheus.Counter]*hitCounter
}

// counter returns a counter with parts.
func (c *siteCounters) counter(labels ...string) *hitCounter {
	whole := c.WithLabelValues(labels...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts[whole] == nil {
		c.parts[whole] = &hitCounter{whole: whole}
	}
	return c.parts[whole]
}

// Collect implements prometheus.Collector.
func (c *siteCounters) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	for _, h := range c.parts {
		h.settle()
	}
	c.mu.Unlock()
	c.CounterVec.Collect(to)
}
