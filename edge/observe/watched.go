package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/observe/top"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/guesses"
	"github.com/iconedge/iconedge/internal/trace"
)

// A component collects the metrics of one component, whose state S it reads once for each scrape.
type component[S any] struct {
	read func() S
	of   []watched[S]
}

// A watched metric is computed from the state of its component.
type watched[S any] struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	value  func(S) float64
	labels []string // values
}

// gauge returns a gauge. labels holds the names of labels and their values, alternately.
func gauge[S any](name, help string, value func(S) float64, labels ...string) watched[S] {
	return watchedMetric(prometheus.GaugeValue, name, help, value, labels)
}

// counter returns a counter; see gauge.
func counter[S any](name, help string, value func(S) float64, labels ...string) watched[S] {
	return watchedMetric(prometheus.CounterValue, name, help, value, labels)
}

func watchedMetric[S any](kind prometheus.ValueType, name, help string, value func(S) float64, labels []string) watched[S] {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	return watched[S]{desc(name, help, names...), kind, value, values}
}

// Describe implements prometheus.Collector.
func (c component[S]) Describe(to chan<- *prometheus.Desc) {
	for _, w := range c.of {
		to <- w.desc
	}
}

// Collect implements prometheus.Collector.
func (c component[S]) Collect(to chan<- prometheus.Metric) {
	state := c.read()
	for _, w := range c.of {
		to <- prometheus.MustNewConstMetric(w.desc, w.kind, w.value(state), w.labels...)
	}
}

// WatchCache adds the metrics of the cache. maxBytes is its limit in memory.
func (m *Metrics) WatchCache(read func() cache.Stats, maxBytes int64) {
	type s = cache.Stats
	m.Registry.MustRegister(component[s]{read, []watched[s]{
		gauge("cache_entries", "Responses in the cache.", func(c s) float64 { return float64(c.Entries) }),
		gauge("cache_bytes", "Bytes of responses in the cache, as they count against its limit.",
			func(c s) float64 { return float64(c.Bytes) }),
		gauge("cache_max_bytes", "Limit of the cache in memory, in bytes.", func(s) float64 { return float64(maxBytes) }),
		counter("cache_evictions_total", "Responses that were evicted to make room for others.",
			func(c s) float64 { return float64(c.Evicted) }),
		counter("cache_drops_total", "Times that responses were dropped by surrogate key.", func(c s) float64 { return float64(c.Drops) }),
		counter("cache_purged_total", "Responses that purges removed or marked stale.", func(c s) float64 { return float64(c.Purged) }),
		gauge("cache_disk_entries", "Responses on disk.", func(c s) float64 { return float64(c.DiskEntries) }),
		gauge("cache_disk_bytes", "Bytes of responses on disk.", func(c s) float64 { return float64(c.DiskBytes) }),
		gauge("cache_disk_slices", "Slices of large objects on disk.", func(c s) float64 { return float64(c.DiskSlices) }),
		counter("cache_disk_hits_total", "Responses that were read from disk for a request.",
			func(c s) float64 { return float64(c.DiskHits) }),
		counter("cache_disk_errors_total", "Responses that could not be written to disk or read from it.",
			func(c s) float64 { return float64(c.DiskErrors) }),
	}})
}

// WatchOrigins adds the metrics of the origins.
func (m *Metrics) WatchOrigins(read func() upstream.Stats) {
	type s = upstream.Stats
	m.Registry.MustRegister(origins(read), component[s]{read, []watched[s]{
		gauge("origin_connections", "Open connections to the origin.", func(o s) float64 { return float64(o.Open) }),
		counter("origin_requests_failed_total",
			"Requests for which no origin gave a complete response: none at all, or one that broke off.",
			func(o s) float64 { return float64(o.Failures) }),
		counter("origin_broken_total", "Responses that an origin broke off after their header fields, or in which it "+
			"paused for too long (--idle).", func(o s) float64 { return float64(o.Broken) }),
		counter("origin_timeouts_total", "Requests to the origin that timed out.", func(o s) float64 { return float64(o.Timeouts) }),
		counter("origin_retries_total", "Requests to the origin that were sent again.", func(o s) float64 { return float64(o.Retries) }),
	}})
}

// ConnStats is the state of the public listeners.
type ConnStats struct {
	States  map[string]int   // connections over TCP, by what they do
	Refused map[string]int64 // connections, by reason
	// Of Refused those over QUIC.
	RefusedQUIC map[string]int64
	Max         int   // connections at a time
	Reclaimed   int64 // connections that were closed to make room
	Overdue     int64 // connections that were cut because their client was too slow
	OverQUIC    int64 // open connections of HTTP/3
	// Requests of HTTP/3, because of their client's share of streams.
	Rejected    int64
	BodiesBytes int64 // memory for long request bodies
	// Memory that all clients hold together, by kind: requests, responses.
	Memory map[string]PoolStats
	// Memory that clients are charged with for HTTP/3, by use.
	MemoryQUIC map[string]int64
	Clients    int // clients whose connections count against a limit
}

// A PoolStats is the memory that all clients hold together for one kind of thing.
type PoolStats struct {
	Held, Max int64 // bytes; Max 0: no limit
	Refused   int64 // requests and responses for which there was no room
	Ended     int64 // those that were ended to make room
}

// Open returns the number of open connections over TCP.
func (s ConnStats) Open() (n int) {
	for _, of := range s.States {
		n += of
	}
	return n
}

// WatchConns adds the metrics of connections. Each state and each reason that it can have must be
// present from the start.
func (m *Metrics) WatchConns(read func() ConnStats) {
	type s = ConnStats
	now := read()
	var all []watched[s]
	for state := range now.States {
		all = append(all, gauge("connections", "Connections on the public listener, by state: idle, reading a "+
			"request, busy with it, writing a part of its response.",
			func(c s) float64 { return float64(c.States[state]) }, "state", state))
	}
	for reason := range now.Refused {
		all = append(all, counter("connections_refused_total", "Refused connections, by reason: all are in use "+
			"(total), the client has as many as it may (client), no descriptors are left (descriptors).",
			func(c s) float64 { return float64(c.Refused[reason]) }, "reason", reason))
	}
	for reason := range now.RefusedQUIC {
		all = append(all, counter("h3_connections_refused_total", "Those of iconedge_edge_connections_refused_total "+
			"that were over QUIC; browsers then use HTTP/2.",
			func(c s) float64 { return float64(c.RefusedQUIC[reason]) }, "reason", reason))
	}
	for use := range now.MemoryQUIC {
		all = append(all, gauge("h3_memory_bytes", "Bytes of memory that clients are charged with for HTTP/3, without "+
			"garbage, by use: handshakes, connections, requests in flight, receive windows that have grown.",
			func(c s) float64 { return float64(c.MemoryQUIC[use]) }, "use", use))
	}
	for kind := range now.Memory {
		all = append(all,
			gauge("client_memory_bytes", "Bytes of memory that clients hold together (--client-memory), by kind: "+
				"requests without a response, responses that clients do not take.",
				func(c s) float64 { return float64(c.Memory[kind].Held) }, "kind", kind),
			gauge("client_memory_max_bytes", "Limit of these bytes.",
				func(c s) float64 { return float64(c.Memory[kind].Max) }, "kind", kind),
			counter("client_memory_refused_total", "Requests and responses that were refused because clients held too many of these bytes.",
				func(c s) float64 { return float64(c.Memory[kind].Refused) }, "kind", kind),
			counter("client_memory_ended_total", "Requests and responses of the client that held most of these bytes "+
				"that were ended to make room for other clients.",
				func(c s) float64 { return float64(c.Memory[kind].Ended) }, "kind", kind))
	}
	m.Registry.MustRegister(component[s]{read, append(all,
		gauge("connections_max", "Limit of connections at a time.", func(c s) float64 { return float64(c.Max) }),
		counter("connections_reclaimed_total", "Connections over TCP or QUIC that were closed to make room: those of "+
			"the client with the most, idle ones first.", func(c s) float64 { return float64(c.Reclaimed) }),
		counter("connections_overdue_total", "Connections that were cut because their client did not take its responses in time.",
			func(c s) float64 { return float64(c.Overdue) }),
		gauge("h3_connections", "Open HTTP/3 connections, which iconedge_edge_connections does not count.",
			func(c s) float64 { return float64(c.OverQUIC) }),
		counter("h3_requests_rejected_total", "Requests of HTTP/3 that were rejected (H3_REQUEST_REJECTED), because "+
			"their client has as many streams as it may.", func(c s) float64 { return float64(c.Rejected) }),
		gauge("bodies_bytes", "Bytes of memory for long request bodies that are being read.",
			func(c s) float64 { return float64(c.BodiesBytes) }),
	)})
}

// ServiceStats is the state of the edge as a whole.
type ServiceStats struct {
	Ready        bool
	Waiting      int   // requests that wait for the origin
	Shed         int64 // requests that were refused because too many waited
	LimitClients int   // windows of limits in memory
	TierRequests int64 // requests of edges behind this one
	TokenInUse   bool  // the admin token in use is that of its file
	Passwords    guesses.Stats
}

// WatchService adds the metrics of the edge as a whole.
func (m *Metrics) WatchService(read func() ServiceStats) {
	type s = ServiceStats
	m.Registry.MustRegister(component[s]{read, []watched[s]{
		gauge("ready", "1 while the edge is ready, else 0.", func(e s) float64 { return float64(index(e.Ready)) }),
		gauge("waiting", "Requests that wait for the origin.", func(e s) float64 { return float64(e.Waiting) }),
		counter("shed_total", "Requests that were refused because too many waited for the origin.",
			func(e s) float64 { return float64(e.Shed) }),
		gauge("password_checks_waiting", "Passwords that wait for their comparison with a hash.",
			func(e s) float64 { return float64(e.Passwords.Waiting) }),
		counter("password_comparisons_total", "Passwords that were compared with a hash, which takes a core of the "+
			"processor for tens of milliseconds.", func(e s) float64 { return float64(e.Passwords.Begun) }),
		gauge("limit_clients", "Clients with a window in memory, counted once for each limit that they have used.",
			func(e s) float64 { return float64(e.LimitClients) }),
		counter("tier_requests_total", "Requests of edges behind this one, which authenticated with the secret "+
			"between tiers or with a certificate.", func(e s) float64 { return float64(e.TierRequests) }),
		gauge("admin_token_last_reload_successful", "1 while the admin token in use is that of its file, or none is "+
			"configured; 0 while the file can't be used and the previous token stays valid.",
			func(e s) float64 { return float64(index(e.TokenInUse)) }),
	}})
}

// WatchReports adds the metrics of the access log, of traces and of the busiest clients.
func (m *Metrics) WatchReports(r Reports) {
	const lines, spans = "Lines of the access log, by result: written, or dropped because they could not be written.",
		"Spans of traced requests, by result: exported to the collector, or dropped."
	m.Registry.MustRegister(component[accesslog.Stats]{r.Lines.Stats, []watched[accesslog.Stats]{
		counter("access_log_lines_total", lines, func(l accesslog.Stats) float64 { return float64(l.Written) }, "result", "written"),
		counter("access_log_lines_total", lines, func(l accesslog.Stats) float64 { return float64(l.Dropped) }, "result", "dropped"),
	}}, component[trace.Stats]{r.Tracer.Stats, []watched[trace.Stats]{
		counter("trace_spans_total", spans, func(t trace.Stats) float64 { return float64(t.Exported) }, "result", "exported"),
		counter("trace_spans_total", spans, func(t trace.Stats) float64 { return float64(t.Dropped) }, "result", "dropped"),
	}}, component[top.Stats]{r.Top.Stats, []watched[top.Stats]{
		gauge("top_keys", "Clients, paths and hosts that GET /top counts.", func(t top.Stats) float64 { return float64(t.Keys) }),
		gauge("top_max_keys", "Limit of iconedge_edge_top_keys.", func(t top.Stats) float64 { return float64(t.MaxKeys) }),
		gauge("top_sampled_ratio", "Share of the responses that GET /top counts; each stands for several while the edge is busy.",
			func(t top.Stats) float64 { return t.Sampled }),
	}})
}

// WatchStreams adds the metrics of connections of HTTP/2.
func (m *Metrics) WatchStreams(read func() h2.Stats) {
	type s = h2.Stats
	ended := func(reason string, value func(s) uint64) watched[s] {
		return counter("h2_ended_total", "HTTP/2 connections that were closed for floods (calm) or for protocol "+
			"errors (broken), and HTTP/2 streams that took too long (stalled) or were too many (refused), by reason.",
			func(h s) float64 { return float64(value(h)) }, "reason", reason)
	}
	m.Registry.MustRegister(component[s]{read, []watched[s]{
		gauge("h2_connections", "Open HTTP/2 connections.", func(h s) float64 { return float64(h.Connections) }),
		ended("calm", func(h s) uint64 { return h.Calmed }),
		ended("broken", func(h s) uint64 { return h.Broken }),
		ended("stalled", func(h s) uint64 { return h.Stalled }),
		ended("refused", func(h s) uint64 { return h.Refused }),
	}})
}

// WatchObjects adds the metrics of large objects.
func (m *Metrics) WatchObjects(read func() objects.Stats) {
	type s = objects.Stats
	m.Registry.MustRegister(component[s]{read, []watched[s]{
		gauge("object_transfers", "Transfers of large objects from the origin whose slices are stored as they arrive.",
			func(o s) float64 { return float64(o.Transfers) }),
		counter("object_transfers_failed_total", "Transfers of large objects that ended early: the origin ended or "+
			"changed the body, or its slices could not be stored.", func(o s) float64 { return float64(o.Failed) }),
		counter("object_slices_stored_total", "Slices of large objects that were stored as they arrived from the origin.",
			func(o s) float64 { return float64(o.Received) }),
		counter("object_slices_read_total", "Slices of large objects that were read from disk for a client.",
			func(o s) float64 { return float64(o.Read) }),
		counter("objects_dropped_total", "Large objects that were dropped, because they did not arrive completely or "+
			"the origin has another version.", func(o s) float64 { return float64(o.Dropped) }),
	}})
}

// WatchTunnels adds the metrics of tunnels.
func (m *Metrics) WatchTunnels(read func() tunnel.Stats) {
	type s = tunnel.Stats
	const bytes = "Bytes that tunnels have carried, by the end that sent them: client or origin."
	m.Registry.MustRegister(component[s]{read, []watched[s]{
		gauge("tunnels", "Open tunnels, such as WebSockets, with those that wait for the origin.",
			func(t s) float64 { return float64(t.Open) }),
		counter("tunnels_opened_total", "Tunnels that were opened, because the origin switched to another protocol.",
			func(t s) float64 { return float64(t.Opened) }),
		counter("tunnels_refused_total",
			"Requests for tunnels that were answered 503, because there were too many in all or of one client.",
			func(t s) float64 { return float64(t.Refused) }),
		counter("tunnels_idle_total", "Tunnels that were closed because no bytes moved for too long.",
			func(t s) float64 { return float64(t.Idle) }),
		counter("tunnel_bytes_total", bytes, func(t s) float64 { return float64(t.FromClient) }, "from", "client"),
		counter("tunnel_bytes_total", bytes, func(t s) float64 { return float64(t.FromOrigin) }, "from", "origin"),
	}})
}

// WatchCompression adds the metrics of the content codings of responses.
func (m *Metrics) WatchCompression(read func() compress.Stats) {
	type s = compress.Stats
	const bytes = "Bytes of the stored responses of forwarded paths that were compressed, before (identity) and after (coded)."
	const sent = "Bytes of the responses of forwarded paths that were compressed while they were sent, before (identity) and after (coded)."
	all := []watched[s]{
		gauge("codings_pending", "Content codings of stored responses that wait to be made, or are being made.",
			func(c s) float64 { return float64(c.Pending) }),
		counter("codings_useless_total", "Content codings that were not stored, because they saved too little.",
			func(c s) float64 { return float64(c.Useless) }),
		counter("codings_postponed_total", "Requests that wanted a content coding while too many others waited to be made.",
			func(c s) float64 { return float64(c.Dropped) }),
		counter("coded_bytes_total", bytes, func(c s) float64 { return float64(c.In) }, "form", "identity"),
		counter("coded_bytes_total", bytes, func(c s) float64 { return float64(c.Out) }, "form", "coded"),
		counter("sent_bytes_total", sent, func(c s) float64 { return float64(c.Sent.In) }, "form", "identity"),
		counter("sent_bytes_total", sent, func(c s) float64 { return float64(c.Sent.Out) }, "form", "coded"),
		counter("sent_uncoded_total",
			"Responses of forwarded paths that were sent uncompressed, because too many others were being compressed.",
			func(c s) float64 { return float64(c.Sent.Busy) }),
	}
	for coding := range read().Made {
		all = append(all, counter("codings_total", "Content codings of stored responses of forwarded paths that were made, by coding.",
			func(c s) float64 { return float64(c.Made[coding]) }, "coding", coding))
	}
	for coding := range read().Sent.Sent {
		all = append(all, counter("sent_codings_total",
			"Responses of forwarded paths that were compressed while they were sent, by coding.",
			func(c s) float64 { return float64(c.Sent.Sent[coding]) }, "coding", coding))
	}
	m.Registry.MustRegister(component[s]{read, all})
}

// WatchDictionaries adds the metrics of dictionaries of clients.
func WatchDictionaries(m *Metrics, read func() dictionaries.Stats) {
	type s = dictionaries.Stats
	const bytes = "Bytes of the stored responses that were compressed against a dictionary, before (identity) and after (coded)."
	all := []watched[s]{
		gauge("dictionaries", "Stored responses that are kept because clients may have them as dictionaries.",
			func(d s) float64 { return float64(d.Dictionaries) }),
		gauge("deltas", "Differences between a dictionary and a stored response that are kept, with those that save too little.",
			func(d s) float64 { return float64(d.Deltas) }),
		gauge("dictionary_bytes", "Bytes that dictionaries and differences take.", func(d s) float64 { return float64(d.Bytes) }),
		counter("deltas_useless_total", "Differences that are not sent, because they save too little.",
			func(d s) float64 { return float64(d.Useless) }),
		counter("delta_bytes_total", bytes, func(d s) float64 { return float64(d.In) }, "form", "identity"),
		counter("delta_bytes_total", bytes, func(d s) float64 { return float64(d.Out) }, "form", "coded"),
	}
	for coding := range read().Made {
		all = append(all, counter("deltas_made_total", "Differences between a dictionary and a stored response that were made, by coding.",
			func(d s) float64 { return float64(d.Made[coding]) }, "coding", coding),
			counter("deltas_sent_total", "Responses that were a difference to the dictionary of the client, by coding.",
				func(d s) float64 { return float64(d.Sent[coding]) }, "coding", coding))
	}
	m.Registry.MustRegister(component[s]{read, all})
}

// RedisChecks adds a histogram of the time of checks in Redis, and returns the function that counts
// one.
func (m *Metrics) RedisChecks() func(time.Duration) {
	took := m.histogram("redis_check_duration_seconds", "Time that Redis took to count a request against a limit.")
	return func(d time.Duration) { took.Observe(d.Seconds()) }
}

// WatchFleet adds the metrics of the state that edges share through Redis.
func (m *Metrics) WatchFleet(read func() fleet.Stats) {
	type s = fleet.Stats
	const checks = "Requests counted against a limit, by place: shared in Redis, or local while Redis does not answer."
	all := []watched[s]{
		gauge("redis_up", "1 while Redis answers, else 0. Exists only with --redis.", func(f s) float64 { return float64(index(f.Up)) }),
		counter("redis_checks_total", checks, func(f s) float64 { return float64(f.Shared) }, "result", "shared"),
		counter("redis_checks_total", checks, func(f s) float64 { return float64(f.Local) }, "result", "local"),
		counter("fleet_log_lost_total", "Times that the edge dropped its cache, because the log of purges did not "+
			"reach back to the last event that it had received.", func(f s) float64 { return float64(f.Lost) }),
	}
	for kind := range read().Events {
		event := func(direction string, value func(fleet.EventStats) uint64) watched[s] {
			return counter("fleet_events_total", "Purges and releases that edges announced to each other, by kind and "+
				"direction: sent, received at once, or replayed after this edge was disconnected.",
				func(f s) float64 { return float64(value(f.Events[kind])) }, "kind", string(kind), "direction", direction)
		}
		all = append(all, event("sent", func(e fleet.EventStats) uint64 { return e.Sent }),
			event("received", func(e fleet.EventStats) uint64 { return e.Received }),
			event("replayed", func(e fleet.EventStats) uint64 { return e.Replayed }))
	}
	m.Registry.MustRegister(component[s]{read, all})
}

// origins collects the metrics of each origin, by its URL. The operator sets the URLs, so the
// number of series is bounded.
type origins func() upstream.Stats

var (
	originWell = desc("origin_well", "1 while an origin is healthy, 0 while its health check fails or its circuit "+
		"breaker is open, by its URL.", "origin")
	originFailures = desc("origin_failures_total", "Failed requests to an origin, by its URL.", "origin")
	breakerOpened  = desc("origin_breaker_opened_total", "Times that the circuit breaker of an origin opened, by its URL.", "origin")
)

// Describe implements prometheus.Collector.
func (o origins) Describe(to chan<- *prometheus.Desc) {
	to <- originWell
	to <- originFailures
	to <- breakerOpened
}

// Collect implements prometheus.Collector.
func (o origins) Collect(to chan<- prometheus.Metric) {
	for _, s := range o().Origins {
		to <- prometheus.MustNewConstMetric(originWell, prometheus.GaugeValue, float64(index(s.Healthy)), s.URL)
		to <- prometheus.MustNewConstMetric(originFailures, prometheus.CounterValue, float64(s.Failures), s.URL)
		to <- prometheus.MustNewConstMetric(breakerOpened, prometheus.CounterValue, float64(s.Opened), s.URL)
	}
}
