package origin

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iconedge/iconedge/origin/api"
	"github.com/iconedge/iconedge/origin/catalog"
)

// metrics is every metric of an origin. Labels take only values of our own: classes of addresses, statuses that the api
// answers, and the one current release.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  map[string]prometheus.Observer // by class, bound ahead
}

func newMetrics(cat *catalog.Catalog, version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "iconedge_origin_requests_total", Help: "Requests answered, by class of address and status.",
		}, []string{"class", "status"}),
		seconds: map[string]prometheus.Observer{},
	}
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "iconedge_origin_request_seconds", Help: "Time to answer a request, by class of address.",
		Buckets: []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3},
	}, []string{"class"})
	for _, class := range api.Classes {
		m.seconds[class] = seconds.WithLabelValues(class)
	}
	m.registry.MustRegister(m.requests, seconds, buildInfo(version), releases{cat},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
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
		class := api.Class(r)
		s := &statusWriter{ResponseWriter: w, status: http.StatusInternalServerError} // that of a handler that panics
		defer func() {
			m.seconds[class].Observe(time.Since(began).Seconds())
			m.requests.WithLabelValues(class, strconv.Itoa(s.status)).Inc()
		}()
		next.ServeHTTP(s, r)
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.MaxBytesReader and http.ResponseController reach the connection.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

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
