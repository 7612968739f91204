package edge

import (
	"net/http"
	"strings"
	"testing"
)

// A field that the operator passes reaches the origin as the client wrote it, the others do not.
func TestPassField(t *testing.T) {
	s := newSite(map[string]http.HandlerFunc{"/page": says("hello")})
	e := newEdgeTest(t, s, func(c *Config) {
		c.ProxyAll, c.PassFields = true, []string{"cf-connecting-ip", "X-HTTP-Method-Override", "X-Forwarded-Prefix"}
		must(t, c.Validate())
	})
	e.get(t, "/page", "CF-Connecting-IP", "198.51.100.1", "X-HTTP-Method-Override", "DELETE", "X-Forwarded-Prefix",
		"/app", "True-Client-IP", "198.51.100.1", "X-Forwarded-Port", "1", "CF_Connecting_IP", "198.51.100.2")
	seen := s.requests("/page")[0]
	for name, want := range map[string]string{"Cf-Connecting-Ip": "198.51.100.1", "X-Http-Method-Override": "DELETE",
		"X-Forwarded-Prefix": "/app", "True-Client-Ip": "", "X-Forwarded-Port": "", "Cf_connecting_ip": ""} {
		if got := strings.Join(seen[name], "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
