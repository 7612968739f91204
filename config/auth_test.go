package config

import (
	"strings"
	"testing"
)

// A wrong action auth, mirror or origin is a finding that says what would be right.
func TestAuthFindings(t *testing.T) {
	const file = "version: 1\nsites:\n  - name: a\n    hosts: [a.test]\n    origins: {app: ORIGIN}\n    rules: [RULE]\n"
	const origin, rule = `{urls: ["http://127.0.0.1:1"]}`, "{ttl: 1m}"
	forward := func(rest string) string { return `{auth: {forward: {url: "http://127.0.0.1:1/x"` + rest + `}}}` }
	for _, row := range []struct{ origin, rule, want string }{
		{origin, forward(", headers: [X-User, Authorization, X-Forwarded-User], cache: 30s, any_address: true, timeout: 1s"), ""},
		{origin, `{auth: {jwt: {keys: /k.pem}}}`, ""},
		{origin, `{auth: {jwt: {keys: "https://a.test/jwks", from: cookie x, claims: {a: b}, headers: {sub: X-User}}}}`, ""},
		{origin, `{auth: {}}`, "has 0 ways"},
		{origin, `{auth: {basic: /x, jwt: {keys: /k.pem}}}`, "has 2 ways"},
		{origin, `{auth: {forward: {}}}`, `"" is no URL`},
		{origin, `{auth: {forward: {url: "ftp://a.test"}}}`, "is no URL"},
		{origin, `{auth: {forward: {url: "http://a:secret@b.test"}}}`, `"http://***@b.test" is no URL`},
		{origin, forward(", headers: [Cookie]"), "Cookie has a meaning of its own"},
		{origin, forward(", headers: [X-Forwarded-For]"), "has a meaning of its own"},
		{origin, forward(", headers: [Host]"), "can't be edited"},
		{origin, forward(", headers: [Content-Length]"), "can't be edited"},
		{origin, forward(`, headers: ["a b"]`), "is no name of a field"},
		{origin, forward(", cache: 2h"), "at most 1h"},
		{origin, forward(", timeout: 0"), "would refuse every request"},
		{origin, `{auth: {jwt: {keys: ""}}}`, "missing"},
		{origin, `{auth: {jwt: {keys: "ftp://a.test/k"}}}`, "is no URL"},
		{origin, `{auth: {jwt: {keys: /k.pem, from: token}}}`, "must be header NAME or cookie NAME"},
		{origin, `{auth: {jwt: {keys: /k.pem, claims: {a: []}}}}`, "names no value"},
		{origin, `{auth: {jwt: {keys: /k.pem, headers: {sub: Authorization}}}}`, "has the token"},
		{origin, `{mirror: {to: app, share: 0.1}}`, ""},
		{origin, `{mirror: {to: ap}}`, `"ap" is no origin of the site a; did you mean app?`},
		{origin, `{mirror: {to: app, share: 2}}`, "must be above 0 and at most 1"},
		{origin, `{mirror: {to: app, share: NaN}}`, "must be above 0 and at most 1"},
		{origin, `{mirror: {to: app, share: half}}`, `"half" is no number`},
		{`{urls: ["srv+http://_app._tcp.test", "http://b"], resolve: all}`, rule, ""},
		{`{urls: ["http://b"], resolve: some}`, rule, "must be all"},
		{`{urls: ["srv+http://_app._tcp.test:80"]}`, rule, "must be a name without a port"},
		{`{urls: ["srv+http://127.0.0.1"]}`, rule, "must be a name without a port"},
		{`{urls: ["srv+unix:/x"]}`, rule, "is no URL of an origin"},
	} {
		_, err := Parse("f", []byte(strings.NewReplacer("ORIGIN", row.origin, "RULE", row.rule).Replace(file)), Options{})
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s %s: %v", row.origin, row.rule, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s %s: %v, want %q", row.origin, row.rule, err, row.want)
		}
	}
}
