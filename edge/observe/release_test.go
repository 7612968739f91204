package observe

import (
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
)

// Release ids.
const (
	firstRelease  = "0123456789abcdef0123456789abcdef"
	secondRelease = "fedcba9876543210fedcba9876543210"
)

// While the origin switches between two releases, each page of metrics names one of them, with the
// time when that release was created.
func TestMetricsNameOneRelease(t *testing.T) {
	m := NewMetrics("test")
	made := map[string]time.Time{firstRelease: time.Unix(1_000_000, 0), secondRelease: time.Unix(2_000_000, 0)}
	announce := func(release string) {
		m.ReleaseKnown(icon.ReleaseAnswer{Release: release, Created: made[release].UTC().Format(time.RFC3339)}, time.Unix(3_000_000, 0))
	}
	announce(firstRelease)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				announce(secondRelease)
				announce(firstRelease)
			}
		}
	}()
	seen := map[string]int{}
	for n := 0; n < 300 || n < 10_000 && len(seen) < 2; n++ {
		names, created := m.page(t)
		if len(names) != 1 || !made[names[0]].Equal(created) {
			t.Errorf("page %d names %q, created at %v", n, names, created)
			break
		}
		seen[names[0]]++
	}
	close(stop)
	<-stopped
	if !t.Failed() && len(seen) != 2 {
		t.Errorf("the pages named %v, want both releases", seen)
	}
}

// page returns the release ids on a page of metrics, and the creation time on it.
func (m *Metrics) page(t *testing.T) (names []string, created time.Time) {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			switch f.GetName() {
			case "iconedge_edge_release_info":
				names = append(names, one.GetLabel()[0].GetValue())
			case "iconedge_edge_release_created_timestamp_seconds":
				created = time.Unix(int64(one.GetGauge().GetValue()), 0)
			}
		}
	}
	return names, created
}
