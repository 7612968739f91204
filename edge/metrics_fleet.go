package edge

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iconedge/iconedge/edge/fleet"
)

// redisChecks adds a histogram of the time of checks in Redis, and returns the function that counts
// one.
func (m *metrics) redisChecks() func(time.Duration) {
	took := m.histogram("redis_check_duration_seconds", "Time that Redis took to count a request against a limit.")
	return func(d time.Duration) { took.Observe(d.Seconds()) }
}

// watchesFleet adds the metrics of the state that edges share.
func (m *metrics) watchesFleet(stats func() fleet.Stats) { m.registry.MustRegister(shares(stats)) }

// shares collects the metrics of the state that edges share.
type shares func() fleet.Stats

var (
	redisUp     = desc("redis_up", "1 while Redis answers, else 0. Exists only with --redis.")
	redisChecks = desc("redis_checks_total", "Requests counted against a limit, by place: shared in Redis, or local while Redis does not answer.", "result")
	fleetEvents = desc("fleet_events_total", "Purges and releases that edges announced to each other, by kind and direction: sent, received at once, or replayed after this edge was disconnected.", "kind", "direction")
	fleetLost   = desc("fleet_log_lost_total", "Times that the edge dropped its cache, because the log of purges did not reach back to the last event that it had received.")
)

// Describe implements prometheus.Collector.
func (s shares) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{redisUp, redisChecks, fleetEvents, fleetLost} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s shares) Collect(to chan<- prometheus.Metric) {
	now := s()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	to <- prometheus.MustNewConstMetric(redisUp, prometheus.GaugeValue, float64(index(now.Up)))
	count(redisChecks, now.Shared, "shared")
	count(redisChecks, now.Local, "local")
	for kind, e := range now.Events {
		count(fleetEvents, e.Sent, string(kind), "sent")
		count(fleetEvents, e.Received, string(kind), "received")
		count(fleetEvents, e.Replayed, string(kind), "replayed")
	}
	count(fleetLost, now.Lost)
}
