package edge

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iconedge/iconedge/icon"
)

// releases tell the release that the edge knows. They read it when metrics are asked for, so that every page names one, and the times that go with it.
type releases struct{ last atomic.Pointer[releaseTold] }

// releaseTold is what the origin told last of its release, and when.
type releaseTold struct {
	release string
	created time.Time // zero: it did not say
	at      time.Time
}

var (
	releaseInfo    = desc("release_info", "1, by the release of the origin that the edge knows.", "release")
	releaseCreated = desc("release_created_timestamp_seconds", "When the release that the edge knows was made, in seconds since 1970.")
	releaseChecked = desc("release_checked_timestamp_seconds", "When the origin last told its release, in seconds since 1970.")
)

// told names the release that is known now, which the origin told at a time.
func (m *metrics) told(r icon.ReleaseAnswer, at time.Time) {
	created, err := time.Parse(time.RFC3339, r.Created)
	if err != nil {
		created = time.Time{}
	}
	m.release.last.Store(&releaseTold{r.Release, created, at})
}

// Describe is that of a prometheus.Collector.
func (r *releases) Describe(to chan<- *prometheus.Desc) {
	to <- releaseInfo
	to <- releaseCreated
	to <- releaseChecked
}

// Collect is that of a prometheus.Collector. There are no series before a release is known.
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
