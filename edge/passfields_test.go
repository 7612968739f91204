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
	e.get(t, "/page", "CF-Connecting-IP", "198.51.100.1", "X-HTTP-Method-Override", "DELETE", "X-Forwarded-Prefix", "/app", "True-Client-IP", "198.51.100.1", "X-Forwarded-Port", "1", "CF_Connecting_IP", "198.51.100.2")
	seen := s.requests("/page")[0]
	for name, want := range map[string]string{"Cf-Connecting-Ip": "198.51.100.1", "X-Http-Method-Override": "DELETE", "X-Forwarded-Prefix": "/app", "True-Client-Ip": "", "X-Forwarded-Port": "", "Cf_connecting_ip": ""} {
		if got := strings.Join(seen[name], "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Only fields that the edge would drop can be passed, and none that the edge writes itself or that
// frames the request.
func TestPassFieldNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"True-Client-IP": true, "x-original-url": true, "X-Forwarded-Port": true, "X-Real-IP": true, "X-HTTP-Method": true,
		"X-Middleware-Subrequest": true, "x-vercel-ip-country": true, "RSC": false, "X-Requested-With": false,
		"X-Forwarded-For": false, "Forwarded": false, "X-Forwarded-Proto": false, "X-Forwarded-Host": false, "Host": false, "Content-Length": false, "Expect": false,
		"Connection": false, "Transfer-Encoding": false, "Proxy": false, "Iconedge-Tier-Secret": false, "X-Mine": false, "": false, "a b": false, "True_Client_IP": false,
	} {
		var cfg Config
		cfg.PassFields = []string{name}
		if err := cfg.Forwarding.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		} else if err != nil && !strings.Contains(err.Error(), "--pass-field") {
			t.Errorf("%q: %v does not name the flag", name, err)
		}
	}
}
