package observe

import "github.com/prometheus/client_golang/prometheus"

// SignOns counts the requests whose sender must have signed on.
type SignOns struct {
	by map[[2]string]prometheus.Counter
}

func newSignOns(counters func(name, help string, labels ...string) *prometheus.CounterVec) *SignOns {
	checks := counters("sign_ons_total", "Requests whose sender must have signed on, by way (forward, jwt) and by "+
		"result: passed, recalled (by a decision about another request), refused, or failed (nobody could decide).", "way", "result")
	s := &SignOns{map[[2]string]prometheus.Counter{}}
	for _, way := range []string{"forward", "jwt"} {
		for _, result := range []string{"passed", "recalled", "refused", "failed"} {
			if way == "forward" || result != "recalled" {
				s.by[[2]string{way, result}] = checks.WithLabelValues(way, result)
			}
		}
	}
	return s
}

// SignedOn counts a request.
func (s *SignOns) SignedOn(way, result string) { s.by[[2]string{way, result}].Inc() }
