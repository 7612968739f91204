package origin

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/api"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/trace"
)

// metrics is every metric of an origin. Labels take only values of our own: routes, statuses that the api answers, and the one
// current release. Series are made when they are first used.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	store    *prometheus.HistogramVec
	faults   *prometheus.CounterVec
}

func newMetrics(version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: counters("requests_total", "Requests answered, by route and status.", "route", "status"),
		bytes:    counters("response_bytes_total", "Bytes of bodies that were sent, by route.", "route"),
		took:     histograms("request_duration_seconds", "Time to answer a request, by route.", "route"),
		store:    histograms("store_request_duration_seconds", "Time that the object store took to begin its answer, by operation.", "operation"),
		faults:   counters("store_request_errors_total", "Requests to the object store that failed, also after the answer had begun, by operation. That there is no such object is no failure.", "operation"),
	}
	m.store.WithLabelValues(operationOpen)
	m.faults.WithLabelValues(operationOpen)
	m.registry.MustRegister(m.requests, m.bytes, m.took, m.store, m.faults, buildInfo(version),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iconedge_origin_" + name, Help: help}, labels)
}

// histograms have classic buckets and native ones, which Prometheus asks for in a format of its own.
func histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "iconedge_origin_" + name, Help: help,
		Buckets:                     []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
	}, labels)
}

// watches adds what the catalog counts itself.
func (m *metrics) watches(cat *catalog.Catalog) { m.registry.MustRegister(releases{cat}) }

// meter counts what is asked of a store.
func (m *metrics) meter(store objectstore.Reader) metered {
	return metered{store,
		func(operation string, took time.Duration) { m.store.WithLabelValues(operation).Observe(took.Seconds()) },
		func(operation string) { m.faults.WithLabelValues(operation).Inc() }}
}

// watchesAdmin adds whether the admin token in use is that of its file.
func (m *metrics) watchesAdmin(a *admin.Access) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "iconedge_origin_admin_token_last_reload_successful",
		Help: "1 while the admin token in use is what its file says, or there is none; 0 while the file can't be used and the token before it stays.",
	}, func() float64 {
		if a.TokenInUse() {
			return 1
		}
		return 0
	}))
}

// watchesTraces adds what became of spans.
func (m *metrics) watchesTraces(t *trace.Tracer) {
	for result, count := range map[string]func(trace.Stats) int64{
		"exported": func(s trace.Stats) int64 { return s.Exported },
		"dropped":  func(s trace.Stats) int64 { return s.Dropped },
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "iconedge_origin_trace_spans_total", ConstLabels: prometheus.Labels{"result": result},
			Help: "Spans of requests that were traced, by whether the collector took them, or they were dropped.",
		}, func() float64 { return float64(count(t.Stats())) }))
	}
}

func buildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "iconedge_origin_build_info", Help: "Always 1, by version of the program and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	}, func() float64 { return 1 })
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// count wraps the public handler.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		route := api.Route(r)
		s := &countedWriter{ResponseWriter: w, status: http.StatusInternalServerError} // that of a handler that panics
		defer func() {
			m.took.WithLabelValues(route).Observe(time.Since(began).Seconds())
			m.requests.WithLabelValues(route, strconv.Itoa(s.status)).Inc()
			m.bytes.WithLabelValues(route).Add(float64(s.bytes))
		}()
		next.ServeHTTP(s, r)
	})
}

// A countedWriter knows what was answered.
type countedWriter struct {
	http.ResponseWriter
	status int
	bytes  int
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

// releases turns what the catalog has counted into metrics. Only the current release is a label's value: earlier ones go.
type releases struct{ catalog *catalog.Catalog }

var (
	descReady    = desc("ready", "1 when there is a release to answer from, else 0.")
	descFollows  = desc("store_followed", "1 when the last look at the store went well, else 0.")
	descRelease  = desc("release_info", "Always 1, by id of the current release.", "release")
	descCreated  = desc("release_created_timestamp_seconds", "When the current release was made.")
	descPacks    = desc("release_packs", "Packs of the current release, hidden ones included.")
	descSwitches = desc("release_switches_total", "Releases made current since the start.")
	descRefused  = desc("release_refused_total", "Tries to switch to a release that was refused: an object of it is damaged, missing or out of reach.")
	descErrors   = desc("store_errors_total", "Looks at the store that failed.")
	descFetched  = desc("mirror_fetched_bytes_total", "Bytes copied from the store into the mirror.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("iconedge_origin_"+name, help, labels, nil)
}

// Describe is prometheus.Collector's.
func (r releases) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descReady, descFollows, descRelease, descCreated, descPacks, descSwitches, descRefused, descErrors, descFetched} {
		ch <- d
	}
}

// Collect is prometheus.Collector's.
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
