package extend

import (
	"fmt"

	"github.com/iconedge/iconedge/config/rules"
)

// scheme matches requests over TLS, or those without.
type scheme struct{ tls bool }

func (s scheme) Match(q *rules.Request, why *string) (captures []string, ok bool) {
	if why != nil { // for config explain alone
		*why = fmt.Sprintf("over TLS: %v", q.TLS)
	}
	return nil, q.TLS == s.tls
}

func compileScheme(c *rules.Compiler, at, name string) rules.Matcher {
	if name != "http" && name != "https" {
		c.Wrong(at, "%q is no scheme; must be http or https", name)
	}
	return scheme{name == "https"}
}

func init() {
	rules.AddMatch(rules.MatchOf("scheme", "the client uses `http`, or `https`", compileScheme))
}
