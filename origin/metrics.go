package origin

import (
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/trace"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/api"
	"github.com/iconedge/iconedge/origin/catalog"
)

// metrics holds all metrics of an origin. Labels have only values of our own: routes, statuses that
// package api returns, and the one current release. A series starts with its first value.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	store    *prometheus.HistogramVec
	failures *prometheus.CounterVec // of the store
	bound    sync.Map               // boundRoute by route and status
}

func newMetrics(version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: counters("requests_total", "Requests answered, by route and status.", "route", "status"),
		bytes:    counters("response_bytes_total", "Bytes of response bodies, by route.", "route"),
		took:     histograms("request_duration_seconds", "Time to answer a request, by route.", "route"),
		store: histograms("store_request_duration_seconds",
			"Time until the object store begins its response, by operation.", "operation"),
		failures: counters("store_request_errors_total", "Failed requests to the object store, including responses "+
			"that broke off, by operation. A request for an absent object does not count.", "operation"),
	}
	m.store.WithLabelValues(operationOpen)
	m.failures.WithLabelValues(operationOpen)
	m.registry.MustRegister(m.requests, m.bytes, m.took, m.store, m.failures, buildInfo(version),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iconedge_origin_" + name, Help: help}, labels)
}

// histograms have classic buckets, and native ones for a Prometheus that accepts the protobuf
// format.
func histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "iconedge_origin_" + name, Help: help,
		Buckets:                     []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
	}, labels)
}

// addCatalog adds the metrics of the catalog.
func (m *metrics) addCatalog(cat *catalog.Catalog) { m.registry.MustRegister(releases{cat}) }

// meter returns store with metrics for its requests.
func (m *metrics) meter(store objectstore.Reader) metered {
	return metered{store,
		func(operation string, took time.Duration) { m.store.WithLabelValues(operation).Observe(took.Seconds()) },
		func(operation string) { m.failures.WithLabelValues(operation).Inc() }}
}

// addAdmin adds the metric of the admin token.
func (m *metrics) addAdmin(a *admin.Access) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "iconedge_origin_admin_token_last_reload_successful",
		Help: "1 while the admin token in use is that of its file, or none is configured; 0 while the file can't be " +
			"used and the previous token stays valid.",
	}, func() float64 {
		if a.TokenInUse() {
			return 1
		}
		return 0
	}))
}

// addTracer adds the counts of spans by their result.
func (m *metrics) addTracer(t *trace.Tracer) {
	for result, count := range map[string]func(trace.Stats) int64{
		"exported": func(s trace.Stats) int64 { return s.Exported },
		"dropped":  func(s trace.Stats) int64 { return s.Dropped },
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "iconedge_origin_trace_spans_total", ConstLabels: prometheus.Labels{"result": result},
			Help: "Spans of traced requests, by result: exported to the collector, or dropped.",
		}, func() float64 { return float64(count(t.Stats())) }))
	}
}

func buildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "iconedge_origin_build_info", Help: "Always 1, by version of the program and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	}, func() float64 { return 1 })
}

// handler serves the metrics in Prometheus' formats, and in OpenMetrics, which has exemplars.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, EnableOpenMetrics: true})
}

// count wraps the public handler.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		route := api.Route(r)
		// The status stays 500 if next panics.
		s := &countedWriter{ResponseWriter: w, status: http.StatusInternalServerError}
		defer func() {
			bound := m.boundTo(route, s.status)
			bound.observe(time.Since(began), s.trace)
			bound.requests.Inc()
			bound.bytes.Add(float64(s.bytes))
		}()
		next.ServeHTTP(s, r)
	})
}

// A boundRoute has the series of one route and status.
type boundRoute struct {
	took            prometheus.Observer
	requests, bytes prometheus.Counter
}

// observe counts a duration. A traced request is an exemplar.
func (b *boundRoute) observe(took time.Duration, traceID string) {
	if traced, ok := b.took.(prometheus.ExemplarObserver); ok && traceID != "" {
		traced.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": traceID})
		return
	}
	b.took.Observe(took.Seconds())
}

// boundTo returns the series of a route and status. Looking their labels up for every request would
// cost more than the rest of count.
func (m *metrics) boundTo(route string, status int) *boundRoute {
	type labels struct {
		route  string
		status int
	}
	key := labels{route, status}
	if b, ok := m.bound.Load(key); ok {
		return b.(*boundRoute)
	}
	b, _ := m.bound.LoadOrStore(key, &boundRoute{m.took.WithLabelValues(route),
		m.requests.WithLabelValues(route, strconv.Itoa(status)), m.bytes.WithLabelValues(route)})
	return b.(*boundRoute)
}

// A countedWriter records the status and the number of bytes of a response.
type countedWriter struct {
	http.ResponseWriter
	status int
	bytes  int
	trace  string // id of the trace; empty: none
}

func (s *countedWriter) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.bytes += n
	return n, err
}

func (s *countedWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.MaxBytesReader and http.ResponseController reach the connection.
func (s *countedWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// releases collects the metrics of a catalog. Only the current release is the value of a label;
// series of earlier releases end.
type releases struct{ catalog *catalog.Catalog }

var (
	descReady    = desc("ready", "1 while the origin has a release, else 0.")
	descFollows  = desc("store_followed", "1 if the last check of the store for a new release succeeded, else 0.")
	descRelease  = desc("release_info", "Always 1, by id of the current release.", "release")
	descCreated  = desc("release_created_timestamp_seconds", "When the current release was made.")
	descPacks    = desc("release_packs", "Packs of the current release, including hidden ones.")
	descSwitches = desc("release_switches_total", "Releases that became current since the start, including the first.")
	descRefused  = desc("release_refused_total",
		"Failed switches to a release, because one of its objects is damaged, missing or unreachable.")
	descErrors  = desc("store_errors_total", "Failed checks of the store for a new release.")
	descFetched = desc("mirror_fetched_bytes_total", "Bytes copied from the store into the mirror.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("iconedge_origin_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (r releases) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descReady, descFollows, descRelease, descCreated, descPacks, descSwitches,
		descRefused, descErrors, descFetched} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (r releases) Collect(ch chan<- prometheus.Metric) {
	s := r.catalog.Stats()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	gauge(descReady, truth(s.Release != ""))
	gauge(descFollows, truth(s.Err == ""))
	if s.Release != "" {
		gauge(descRelease, 1, s.Release)
		gauge(descCreated, float64(s.Created.Unix()))
		gauge(descPacks, float64(s.Packs))
	}
	counter(descSwitches, s.Switches)
	counter(descRefused, s.Refused)
	counter(descErrors, s.StoreErrors)
	counter(descFetched, s.Fetched)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
