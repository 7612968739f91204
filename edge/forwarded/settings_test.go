package forwarded

import (
	"strings"
	"testing"
)

// Only fields that the edge would drop can be passed, and none that the edge writes itself or that
// frames the request.
func TestPassFieldNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"True-Client-IP": true, "x-original-url": true, "X-Forwarded-Port": true, "X-Real-IP": true, "X-HTTP-Method": true,
		"X-Middleware-Subrequest": true, "x-vercel-ip-country": true, "RSC": false, "X-Requested-With": false,
		"X-Forwarded-For": false, "Forwarded": false, "X-Forwarded-Proto": false, "X-Forwarded-Host": false,
		"Host": false, "Content-Length": false, "Expect": false,
		"Connection": false, "Transfer-Encoding": false, "Proxy": false, "Iconedge-Tier-Secret": false,
		"X-Mine": false, "": false, "a b": false, "True_Client_IP": false,
	} {
		cfg := Forwarding{PassFields: []string{name}}
		if err := cfg.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		} else if err != nil && !strings.Contains(err.Error(), "--pass-field") {
			t.Errorf("%q: %v does not name the flag", name, err)
		}
	}
}
