package edge

import (
	"iter"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/upstream"
)

// watches adds the metrics of the cache and the origins, which are read at each scrape. maxBytes is
// the limit of the cache in memory.
func (m *metrics) watches(c *cache.Cache, maxBytes int64, o *upstream.Client, ready func() bool) {
	gauge := func(name, help string, f func() float64) { m.gaugeOf(name, help, nil, f) }
	counter := func(name, help string, f func() float64) { m.counterOf(name, help, nil, f) }
	gauge("cache_entries", "Responses in the cache.", func() float64 { return float64(c.Stats().Entries) })
	gauge("cache_bytes", "Bytes of responses in the cache, as they count against its limit.", func() float64 { return float64(c.Stats().Bytes) })
	gauge("cache_max_bytes", "Limit of the cache in memory, in bytes.", func() float64 { return float64(maxBytes) })
	counter("cache_evictions_total", "Responses that were evicted to make room for others.", func() float64 { return float64(c.Stats().Evicted) })
	counter("cache_drops_total", "Times that responses were dropped by surrogate key.", func() float64 { return float64(c.Stats().Drops) })
	counter("cache_purged_total", "Responses that purges removed or marked stale.", func() float64 { return float64(c.Stats().Purged) })
	gauge("cache_disk_entries", "Responses on disk.", func() float64 { return float64(c.Stats().DiskEntries) })
	gauge("cache_disk_bytes", "Bytes of responses on disk.", func() float64 { return float64(c.Stats().DiskBytes) })
	counter("cache_disk_hits_total", "Responses that were read from disk for a request.", func() float64 { return float64(c.Stats().DiskHits) })
	counter("cache_disk_errors_total", "Responses that could not be written to disk or read from it.", func() float64 { return float64(c.Stats().DiskErrors) })
	m.registry.MustRegister(origins{o})
	gauge("origin_connections", "Open connections to the origin.", func() float64 { return float64(o.Stats().Open) })
	counter("origin_timeouts_total", "Requests to the origin that timed out.", func() float64 { return float64(o.Stats().Timeouts) })
	counter("origin_retries_total", "Requests to the origin that were sent again.", func() float64 { return float64(o.Stats().Retries) })
	gauge("ready", "1 while the edge is ready, else 0.", func() float64 { return float64(index(ready())) })
}

// watchesClients adds the metrics of connections and of requests that wait for the origin.
func (m *metrics) watchesClients(s *conns, w *concurrencyLimiter) {
	for phase, label := range phaseNames {
		m.gaugeOf("connections", "Connections on the public listener, by state: idle, reading a request, busy with it, writing a part of its response.",
			prometheus.Labels{"state": label}, func() float64 { return float64(s.phases()[phase]) })
	}
	counter := func(name, help string, labels prometheus.Labels, n *atomic.Int64) {
		m.counterOf(name, help, labels, func() float64 { return float64(n.Load()) })
	}
	for why, label := range refusalNames {
		counter("connections_refused_total", "Refused connections, by reason: all are in use (total), the client has as many as it may (client), no descriptors are left (descriptors).",
			prometheus.Labels{"reason": label}, &s.refused[why])
	}
	m.gaugeOf("connections_max", "Limit of connections at a time.", nil, func() float64 { return float64(s.max) })
	counter("connections_reclaimed_total", "Connections over TCP or QUIC that were closed to make room: those of the client with the most, idle ones first.", nil, &s.madeRoom)
	counter("connections_overdue_total", "Connections that were cut because their client did not take its responses in time.", nil, &s.overdue)
	m.gaugeOf("h3_connections", "Open HTTP/3 connections, which iconedge_edge_connections does not count.", nil, func() float64 { return float64(s.overQUIC.Load()) })
	m.gaugeOf("bodies_bytes", "Bytes of memory for long request bodies that are being read.", nil, func() float64 { return float64(s.limits.Bodies.Used()) })
	m.gaugeOf("waiting", "Requests that wait for the origin.", nil, func() float64 { return float64(w.waiting()) })
	counter("shed_total", "Requests that were refused because too many waited for the origin.", nil, &w.shed)
}

// watchesLimits adds the number of windows that the limits hold in memory.
func (m *metrics) watchesLimits(all iter.Seq[*ratelimit.Limiter]) {
	m.gaugeOf("limit_clients", "Clients with a window in memory, counted once for each limit that they have used.", nil, func() (n float64) {
		for l := range all {
			n += float64(l.Stats().Clients)
		}
		return n
	})
}

// watchesTiers adds the metrics of edges behind this one.
func (m *metrics) watchesTiers(t *tiers) {
	m.counterOf("tier_requests_total", "Requests of edges behind this one, which authenticated with the secret between tiers or with a certificate.", nil,
		func() float64 { return float64(t.requests.Load()) })
}

// watchesAdmin adds the gauge of the admin token's file.
func (m *metrics) watchesAdmin(a *admin.Access) {
	m.gaugeOf("admin_token_last_reload_successful", "1 while the admin token in use is that of its file, or none is configured; 0 while the file can't be used and the previous token stays valid.", nil,
		func() float64 { return float64(index(a.TokenInUse())) })
}

// watchesReports adds the metrics of the access log and of traces.
func (m *metrics) watchesReports(r reports) {
	count := func(name, help, result string, f func() int64) {
		m.counterOf(name, help, prometheus.Labels{"result": result}, func() float64 { return float64(f()) })
	}
	const lines, spans = "Lines of the access log, by result: written, or dropped because they could not be written.",
		"Spans of traced requests, by result: exported to the collector, or dropped."
	count("access_log_lines_total", lines, "written", func() int64 { return r.lines.Stats().Written })
	count("access_log_lines_total", lines, "dropped", func() int64 { return r.lines.Stats().Dropped })
	count("trace_spans_total", spans, "exported", func() int64 { return r.tracer.Stats().Exported })
	count("trace_spans_total", spans, "dropped", func() int64 { return r.tracer.Stats().Dropped })
}

// watchesStreams adds the metrics of connections of HTTP/2.
func (m *metrics) watchesStreams(s *h2.Server) {
	m.gaugeOf("h2_connections", "Open HTTP/2 connections.", nil, func() float64 { return float64(s.Stats().Connections) })
	for reason, count := range map[string]func(h2.Stats) uint64{
		"calm":    func(s h2.Stats) uint64 { return s.Calmed },
		"broken":  func(s h2.Stats) uint64 { return s.Broken },
		"stalled": func(s h2.Stats) uint64 { return s.Stalled },
		"refused": func(s h2.Stats) uint64 { return s.Refused },
	} {
		m.counterOf("h2_ended_total", "HTTP/2 connections that were closed for floods (calm) or for protocol errors (broken), and HTTP/2 streams that took too long (stalled) or were too many (refused), by reason.",
			prometheus.Labels{"reason": reason}, func() float64 { return float64(count(s.Stats())) })
	}
}

// origins collects the metrics of each origin, by its URL. The operator sets the URLs, so the
// number of series is bounded.
type origins struct{ *upstream.Client }

var (
	originWell     = desc("origin_well", "1 while an origin is healthy, 0 while its health check fails or its circuit breaker is open, by its URL.", "origin")
	originFailures = desc("origin_failures_total", "Failed requests to an origin, by its URL.", "origin")
	breakerOpened  = desc("origin_breaker_opened_total", "Times that the circuit breaker of an origin opened, by its URL.", "origin")
)

func (o origins) Describe(to chan<- *prometheus.Desc) {
	to <- originWell
	to <- originFailures
	to <- breakerOpened
}

func (o origins) Collect(to chan<- prometheus.Metric) {
	for _, s := range o.Stats().Origins {
		to <- prometheus.MustNewConstMetric(originWell, prometheus.GaugeValue, float64(index(s.Healthy)), s.URL)
		to <- prometheus.MustNewConstMetric(originFailures, prometheus.CounterValue, float64(s.Failures), s.URL)
		to <- prometheus.MustNewConstMetric(breakerOpened, prometheus.CounterValue, float64(s.Opened), s.URL)
	}
}
