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

// watches adds what other rooms count themselves, read when metrics are asked for. The cache takes at most so many bytes.
func (m *metrics) watches(c *cache.Cache, maxBytes int64, o *upstream.Client, ready func() bool) {
	gauge := func(name, help string, f func() float64) { m.gaugeOf(name, help, nil, f) }
	counter := func(name, help string, f func() float64) { m.counterOf(name, help, nil, f) }
	gauge("cache_entries", "Answers in the cache.", func() float64 { return float64(c.Stats().Entries) })
	gauge("cache_bytes", "Bytes of answers in the cache, as they count against its ceiling.", func() float64 { return float64(c.Stats().Bytes) })
	gauge("cache_max_bytes", "Bytes that the cache may take in memory.", func() float64 { return float64(maxBytes) })
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
	gauge("ready", "1 while the edge is ready.", func() float64 { return float64(index(ready())) })
}

// watchesClients adds what is counted of connections and of requests that wait.
func (m *metrics) watchesClients(s *conns, w *waitingRoom) {
	for phase, label := range phaseNames {
		m.gaugeOf("connections", "Connections on the public listener, by what they do: idle, reading a request, busy with it, writing a part of its answer.",
			prometheus.Labels{"state": label}, func() float64 { return float64(s.phases()[phase]) })
	}
	counter := func(name, help string, labels prometheus.Labels, n *atomic.Int64) {
		m.counterOf(name, help, labels, func() float64 { return float64(n.Load()) })
	}
	for why, label := range refusalNames {
		counter("connections_refused_total", "Connections that were not taken, by reason: all are in use, the client has as many as it may, no descriptors are left.",
			prometheus.Labels{"reason": label}, &s.refused[why])
	}
	m.gaugeOf("connections_max", "Connections that there may be at a time.", nil, func() float64 { return float64(s.max) })
	counter("connections_reclaimed_total", "Connections that were closed to make room, over TCP or QUIC: of the client that held most, those first on which no request was in flight.", nil, &s.madeRoom)
	counter("connections_overdue_total", "Connections that were cut because their client did not take its answers in time.", nil, &s.overdue)
	m.gaugeOf("h3_connections", "Connections that speak HTTP/3; they are not among the others.", nil, func() float64 { return float64(s.overQUIC.Load()) })
	m.gaugeOf("bodies_bytes", "Bytes of long bodies of requests that are being read.", nil, func() float64 { return float64(s.limits.Bodies.Used()) })
	m.gaugeOf("waiting", "Requests that wait for the origin.", nil, func() float64 { return float64(w.waiting()) })
	counter("shed_total", "Requests that were refused because too many waited for the origin.", nil, &w.shed)
}

// watchesLimits adds how many windows the limits keep.
func (m *metrics) watchesLimits(all iter.Seq[*ratelimit.Limiter]) {
	m.gaugeOf("limit_clients", "Clients that have a window in memory, each counted once for each limit that it has used.", nil, func() (n float64) {
		for l := range all {
			n += float64(l.Stats().Clients)
		}
		return n
	})
}

// watchesTiers adds what is counted of edges behind this one.
func (m *metrics) watchesTiers(t *tiers) {
	m.counterOf("tier_requests_total", "Requests of edges behind this one, which proved themselves by the secret between tiers or by a certificate.", nil,
		func() float64 { return float64(t.requests.Load()) })
}

// watchesAdmin adds whether the admin token in use is that of its file.
func (m *metrics) watchesAdmin(a *admin.Access) {
	m.gaugeOf("admin_token_last_reload_successful", "1 while the admin token in use is what its file says, or there is none; 0 while the file can't be used and the token before it stays.", nil,
		func() float64 { return float64(index(a.TokenInUse())) })
}

// watchesReports adds what became of lines of the access log, and of spans.
func (m *metrics) watchesReports(r reports) {
	count := func(name, help, result string, f func() int64) {
		m.counterOf(name, help, prometheus.Labels{"result": result}, func() float64 { return float64(f()) })
	}
	const lines, spans = "Lines of the access log, by whether they were written, or dropped because they could not be.",
		"Spans of requests that were traced, by whether the collector took them, or they were dropped."
	count("access_log_lines_total", lines, "written", func() int64 { return r.lines.Stats().Written })
	count("access_log_lines_total", lines, "dropped", func() int64 { return r.lines.Stats().Dropped })
	count("trace_spans_total", spans, "exported", func() int64 { return r.tracer.Stats().Exported })
	count("trace_spans_total", spans, "dropped", func() int64 { return r.tracer.Stats().Dropped })
}

// watchesStreams adds what connections of HTTP/2 come to.
func (m *metrics) watchesStreams(s *h2.Server) {
	m.gaugeOf("h2_connections", "Connections that speak HTTP/2.", nil, func() float64 { return float64(s.Stats().Connections) })
	for reason, count := range map[string]func(h2.Stats) uint64{
		"calm":    func(s h2.Stats) uint64 { return s.Calmed },
		"broken":  func(s h2.Stats) uint64 { return s.Broken },
		"stalled": func(s h2.Stats) uint64 { return s.Stalled },
		"refused": func(s h2.Stats) uint64 { return s.Refused },
	} {
		m.counterOf("h2_ended_total", "Connections of HTTP/2 that were closed for floods (calm) or for breaking the protocol (broken), and streams that took too long (stalled) or were too many (refused), by reason.",
			prometheus.Labels{"reason": reason}, func() float64 { return float64(count(s.Stats())) })
	}
}

// origins tells of each origin, by its URL: there are as many as the operator named.
type origins struct{ *upstream.Client }

var (
	originWell     = desc("origin_well", "1 while an origin is asked, 0 while it is given up for failing, by its URL.", "origin")
	originFailures = desc("origin_failures_total", "Requests that an origin failed to answer, by its URL.", "origin")
	breakerOpened  = desc("origin_breaker_opened_total", "Times that an origin was given up for a while, by its URL.", "origin")
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
