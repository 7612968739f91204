package observe

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iconedge/iconedge/icon"
)

// releases collects the metrics of the release that the edge knows. Each scrape reads the release
// once, so that the name and the times in it belong together.
type releases struct{ last atomic.Pointer[knownRelease] }

// knownRelease is the last answer of the origin about its release.
type knownRelease struct {
	release string
	created time.Time // zero: unknown
	at      time.Time // when the answer came
}

var (
	releaseInfo    = desc("release_info", "Always 1, by id of the origin's release that the edge knows.", "release")
	releaseCreated = desc("release_created_timestamp_seconds", "When the release that the edge knows was made, in seconds since 1970.")
	releaseChecked = desc("release_checked_timestamp_seconds", "When the origin last answered about its release, in seconds since 1970.")
)

// ReleaseKnown records the origin's answer about its release, which came at a time.
func (m *Metrics) ReleaseKnown(r icon.ReleaseAnswer, at time.Time) {
	created, err := time.Parse(time.RFC3339, r.Created)
	if err != nil {
		created = time.Time{}
	}
	m.release.last.Store(&knownRelease{r.Release, created, at})
}

// Describe implements prometheus.Collector.
func (r *releases) Describe(to chan<- *prometheus.Desc) {
	to <- releaseInfo
	to <- releaseCreated
	to <- releaseChecked
}

// Collect implements prometheus.Collector. There are no series before the edge knows a release.
func (r *releases) Collect(to chan<- prometheus.Metric) {
	last := r.last.Load()
	if last == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(releaseInfo, 1, last.release)
	if !last.created.IsZero() {
		gauge(releaseCreated, float64(last.created.Unix()))
	}
	gauge(releaseChecked, float64(last.at.UnixMilli())/1e3)
}
