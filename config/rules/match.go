package rules

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/hostport"
)

// A matcher reports whether a request matches, the captures of its path, and the reason in words if
// explain is set.
type matcher interface {
	match(q *Request, explain *string) (captures []string, ok bool)
}

// always matches every request.
type always struct{}

func (always) match(_ *Request, why *string) ([]string, bool) {
	say(why, "no match is given: always")
	return nil, true
}

func say(why *string, text string) {
	if why != nil {
		*why = text
	}
}

// any matches if an element does; the first one gives the captures.
type anyOf []matcher

func (a anyOf) match(q *Request, why *string) ([]string, bool) {
	for i, m := range a {
		if captures, ok := m.match(q, why); ok {
			if why != nil {
				*why = "element " + strconv.Itoa(i+1) + ": " + *why
			}
			return captures, true
		}
	}
	say(why, "no element matches")
	return nil, false
}

type not struct{ matcher }

func (n not) match(q *Request, why *string) ([]string, bool) {
	_, ok := n.matcher.match(q, why)
	if why != nil {
		*why = "not: " + *why
	}
	return nil, !ok
}

// allOf matches if all entries do.
type allOf []matcher

func (a allOf) match(q *Request, why *string) (captures []string, ok bool) {
	var reasons []string
	for _, m := range a {
		found, ok := m.match(q, why)
		if !ok {
			return nil, false
		}
		if found != nil {
			captures = found
		}
		if why != nil {
			reasons = append(reasons, *why)
		}
	}
	say(why, strings.Join(reasons, "; "))
	return captures, true
}

// oneOf matches one value of a request against texts.
type oneOf struct {
	what  string
	get   func(*Request) string
	holds func(value string) bool
	form  string
}

func (o oneOf) match(q *Request, why *string) ([]string, bool) {
	value := o.get(q)
	ok := o.holds(value)
	if why != nil {
		*why = fmt.Sprintf("%s %q %s %s", o.what, value, is(ok), o.form)
	}
	return nil, ok
}

func is(ok bool) string {
	if ok {
		return "is one of"
	}
	return "is none of"
}

// paths matches the path by globs or regular expressions.
type paths struct {
	globs   []*glob
	regexes []*regexp.Regexp
}

func (p paths) match(q *Request, why *string) ([]string, bool) {
	for _, g := range p.globs {
		if captures, ok := g.match(q.path); ok {
			if why != nil {
				*why = fmt.Sprintf("path %q matches %q", q.path, g.text)
			}
			if captures == nil {
				captures = []string{}
			}
			return captures, true
		}
	}
	for _, re := range p.regexes {
		if m := re.FindStringSubmatch(q.path); m != nil {
			if why != nil {
				*why = fmt.Sprintf("path %q matches %q", q.path, re)
			}
			if len(m) == 1 {
				return nil, true // those of a glob beside it stay
			}
			return m[1:], true
		}
	}
	if why != nil {
		*why = fmt.Sprintf("path %q does not match", q.path)
	}
	return nil, false
}

// captures returns the least number of captures.
func (p paths) captures() int {
	least := -1
	for _, g := range p.globs {
		if n := g.captures(); least < 0 || n < least {
			least = n
		}
	}
	for _, re := range p.regexes {
		if n := re.NumSubexp(); least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}

// A value matches the value of a parameter, field or cookie.
type value struct {
	glob *glob
	re   *regexp.Regexp
}

func (v value) match(s string) bool {
	if v.re != nil {
		return v.re.MatchString(s)
	}
	_, ok := v.glob.match(s)
	return ok
}

// named matches the values of a name. Without values the name must be present.
type named struct {
	what, name string
	values     []value
	get        func(q *Request, name string) (values []string)
}

func (n named) match(q *Request, why *string) ([]string, bool) {
	got := n.get(q, n.name)
	ok := len(got) > 0
	if n.values != nil {
		ok = slices.ContainsFunc(got, func(s string) bool {
			return slices.ContainsFunc(n.values, func(v value) bool { return v.match(s) })
		})
	}
	if why != nil {
		state := "is absent"
		switch {
		case ok:
			state = "matches"
		case len(got) > 0:
			state = "has another value"
		}
		*why = fmt.Sprintf("%s %s %s", n.what, n.name, state)
	}
	return nil, ok
}

// fieldValues returns the values of a field: its lines joined, and each line.
func fieldValues(q *Request, name string) []string {
	if name == "Host" {
		return []string{q.Host}
	}
	lines := q.Header[name]
	if len(lines) > 1 {
		return append([]string{strings.Join(lines, ", ")}, lines...)
	}
	return lines
}

// pairValues returns the function that gives the values of a parameter or cookie: all of them,
// because the origin may take any. A name with an asterisk stands for every name that matches.
func pairValues(of func(*Request) []pair) func(*Request, string) []string {
	return func(q *Request, name string) (values []string) {
		var g *glob
		if strings.Contains(name, "*") {
			g = newGlob(name, true)
		}
		for _, p := range of(q) {
			ok := p.name == name
			if !ok && g != nil {
				_, ok = g.match(p.name)
			}
			if ok {
				values = append(values, p.value)
			}
		}
		return values
	}
}

// networks matches the address of the client.
type networks []netip.Prefix

func (n networks) has(addr netip.Addr) bool {
	return slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func (n networks) match(q *Request, why *string) ([]string, bool) {
	ok := n.has(q.Client)
	if why != nil {
		*why = fmt.Sprintf("client %s %s %v", q.Client, is(ok), []netip.Prefix(n))
	}
	return nil, ok
}

// expression matches by a CEL program.
type expression struct {
	program cel.Program
	text    string
}

func (e expression) match(q *Request, why *string) ([]string, bool) {
	v, _, err := e.program.Eval(q)
	if err != nil {
		if why != nil {
			*why = "the expression failed: " + err.Error()
		}
		return nil, false
	}
	ok, _ := v.Value().(bool)
	if why != nil {
		*why = "the expression is " + strconv.FormatBool(ok)
	}
	return nil, ok
}

// costLimit bounds the cost of one evaluation of an expression, in CEL's units. It is some
// milliseconds.
const costLimit = 100_000

// environment declares the fields of request.
var environment = func() *cel.Env {
	pairs := cel.MapType(cel.StringType, cel.StringType)
	env, err := cel.NewEnv(
		cel.Variable("request.method", cel.StringType), cel.Variable("request.host", cel.StringType), cel.Variable("request.path", cel.StringType),
		cel.Variable("request.query", pairs), cel.Variable("request.headers", pairs), cel.Variable("request.cookies", pairs),
		cel.Variable("request.client", cel.StringType), cel.Variable("request.country", cel.StringType), cel.Variable("request.tls", cel.BoolType),
	)
	if err != nil {
		panic(err)
	}
	return env
}

// requestFields are the fields of request in expressions.
var requestFields = []string{"method", "host", "path", "query", "headers", "cookies", "client", "country", "tls"}

// Parent makes a Request an activation of CEL.
func (q *Request) Parent() cel.Activation { return nil }

// hostOf matches hosts, also by wildcard.
func hostOf(names config.Strings) func(string) bool {
	patterns := make([]string, len(names))
	for i, name := range names {
		patterns[i] = hostport.CanonicalHost(name, "")
	}
	return func(host string) bool {
		return slices.ContainsFunc(patterns, func(name string) bool {
			if suffix, ok := strings.CutPrefix(name, "*"); ok && suffix != "" {
				return len(host) > len(suffix) && strings.HasSuffix(host, suffix)
			}
			return name == "*" || strings.EqualFold(name, host)
		})
	}
}

func fold(names config.Strings) func(string) bool {
	return func(s string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, s) })
	}
}

func exactly(names config.Strings) func(string) bool {
	return func(s string) bool { return slices.Contains(names, s) }
}

var canonical = http.CanonicalHeaderKey
