package observe

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificates are the metrics of the certificates from files and from an ACME authority.
type certificates struct {
	end     prometheus.Gauge
	missing prometheus.Gauge
	failed  prometheus.Counter

	mu   sync.Mutex
	ends [2]time.Time // of those from files and from the authority; zero: there are none
}

func (m *Metrics) ofCertificates() {
	m.certs.end = m.gauges("tls_certificate_end_timestamp_seconds", "When the first of the certificates expires, from "+
		"files and from an ACME authority, in seconds since 1970; 0 if there are none.").WithLabelValues()
	m.certs.missing = m.gauges("acme_certificates_missing",
		"Hosts of --acme-host, without those below wildcards, that have no certificate yet.").WithLabelValues()
	m.certs.failed = m.counters("acme_failures_total", "Requests to the ACME authority that failed: no response, an "+
		"error, or a host that it could not verify.").WithLabelValues()
}

// Certificates records whether reading the files succeeded, and when the first of the certificates
// in use expires.
func (m *Metrics) Certificates(end time.Time, ok bool) {
	m.CertsRead.Set(float64(index(ok)))
	m.certs.ending(0, end)
}

// AuthorityCertificates records how many hosts wait for a certificate of the ACME authority, and
// when the first of its certificates expires.
func (m *Metrics) AuthorityCertificates(missing int, end time.Time) {
	m.certs.missing.Set(float64(missing))
	m.certs.ending(1, end)
}

// AuthorityFailed counts a failed request to the ACME authority.
func (m *Metrics) AuthorityFailed() { m.certs.failed.Inc() }

// ending records the first end of the certificates of one source.
func (c *certificates) ending(source int, end time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[source] = end
	first := c.ends[0]
	if first.IsZero() || !c.ends[1].IsZero() && c.ends[1].Before(first) {
		first = c.ends[1]
	}
	if first.IsZero() {
		c.end.Set(0)
		return
	}
	c.end.Set(float64(first.Unix()))
}
