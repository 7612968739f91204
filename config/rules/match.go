package rules

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types/ref"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/internal/glob"
	"github.com/iconedge/iconedge/internal/hostport"
)

// A Matcher is the compiled form of an entry of a match. It never changes, because requests use it
// at the same time. A dear one takes its steps from the budget of the request (Request.Pay).
type Matcher interface {
	// Match reports whether a request matches, and the captures of its path, or nil. It writes the
	// reason in words to why, unless why is nil.
	Match(q *Request, why *string) (captures []string, ok bool)
}

// always matches every request.
type always struct{}

func (always) Match(_ *Request, why *string) ([]string, bool) {
	say(why, "no match is given: always")
	return nil, true
}

func say(why *string, text string) {
	if why != nil {
		*why = text
	}
}

// An anyOf matches if an element does; the first one gives the captures.
type anyOf []Matcher

func (a anyOf) Match(q *Request, why *string) ([]string, bool) {
	for i, m := range a {
		if captures, ok := m.Match(q, why); ok {
			if why != nil {
				*why = "element " + strconv.Itoa(i+1) + ": " + *why
			}
			return captures, true
		}
	}
	say(why, "no element matches")
	return nil, false
}

type not struct{ Matcher }

func (n not) Match(q *Request, why *string) ([]string, bool) {
	_, ok := n.Matcher.Match(q, why)
	if why != nil {
		*why = "not: " + *why
	}
	return nil, !ok
}

// allOf matches if all entries do.
type allOf []Matcher

func (a allOf) Match(q *Request, why *string) (captures []string, ok bool) {
	var reasons []string
	for _, m := range a {
		found, ok := m.Match(q, why)
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

func (o oneOf) Match(q *Request, why *string) ([]string, bool) {
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
	globs   []*glob.Glob
	regexes []*regex
	wanted  bool // the rule has a use for captures
}

func (p paths) Match(q *Request, why *string) ([]string, bool) {
	for _, g := range p.globs {
		if !g.Match(q.path, &q.left) || q.left < 0 {
			continue
		}
		if why != nil {
			*why = fmt.Sprintf("path %q matches %q", q.path, g)
		}
		captures := []string{}
		if p.wanted && g.Stars() > 0 {
			from := len(q.captures) // those of another element may be used yet
			q.captures, _ = g.AppendCaptures(q.captures, q.path, &q.left)
			captures = q.captures[from:]
		}
		return captures, true
	}
	for _, re := range p.regexes {
		var captures []string // without groups, those of a glob beside it stay
		ok := false
		if p.wanted && re.NumSubexp() > 0 {
			captures = re.captures(q, q.path)
			ok = captures != nil
		} else {
			ok = re.matches(q, q.path)
		}
		if !ok {
			continue
		}
		if why != nil {
			*why = fmt.Sprintf("path %q matches %q", q.path, re)
		}
		return captures, true
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
		if n := g.Stars(); least < 0 || n < least {
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
	glob *glob.Glob
	re   *regex
}

func (v value) match(q *Request, s string) bool {
	if v.re != nil {
		return v.re.matches(q, s)
	}
	return v.glob.Match(s, &q.left)
}

// named matches the values of a name. Without values the name must be present.
type named struct {
	what   string // field, or that of pairs
	name   string
	names  *glob.Glob // if the name has an asterisk; it then stands for every name that matches
	values []value
	pairs  func(*Request) []pair // of parameters or cookies; nil: it is a field
}

func (n *named) Match(q *Request, why *string) ([]string, bool) {
	present, ok := false, false
	if n.pairs == nil {
		present, ok = n.matchLines(q)
	} else {
		present, ok = n.matchPairs(q)
	}
	if why != nil {
		state := "is absent"
		switch {
		case ok:
			state = "matches"
		case present:
			state = "has another value"
		}
		*why = fmt.Sprintf("%s %s %s", n.what, n.name, state)
	}
	return nil, ok
}

// matchLines matches a field: its lines joined, and each line.
func (n *named) matchLines(q *Request) (present, ok bool) {
	if n.name == "Host" {
		return true, n.holds(q, q.Host)
	}
	lines := q.Lines(n.name)
	if len(lines) > 1 {
		// A client of HTTP/2 may split a Cookie, which the pipeline joins otherwise.
		q.unsure = q.unsure || n.name == "Cookie" && q.Header == nil
		lines = q.joinedLines(n.name)
	}
	for _, line := range lines {
		if q.left < 0 {
			break
		}
		if n.holds(q, line) {
			return true, true
		}
	}
	return len(lines) > 0, false
}

// matchPairs matches a parameter or a cookie: all that have the name, because the origin may take
// any.
func (n *named) matchPairs(q *Request) (present, ok bool) {
	for _, p := range n.pairs(q) {
		if !q.Pay(pairSteps) {
			break
		}
		if p.name != n.name && (n.names == nil || !n.names.Match(p.name, &q.left)) {
			continue
		}
		if present = true; n.holds(q, p.value) {
			return true, true
		}
	}
	return present, false
}

// holds reports whether a value is one of those that match.
func (n *named) holds(q *Request, s string) bool {
	return n.values == nil || slices.ContainsFunc(n.values, func(v value) bool { return v.match(q, s) })
}

// networks matches the address of the client.
type networks []netip.Prefix

func (n networks) has(addr netip.Addr) bool {
	return slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func (n networks) Match(q *Request, why *string) ([]string, bool) {
	q.Pay(len(n))
	ok := n.has(q.Client)
	if why != nil {
		*why = fmt.Sprintf("client %s %s %v", q.Client, is(ok), []netip.Prefix(n))
	}
	return nil, ok
}

// expression matches by a CEL program.
type expression struct {
	program  cel.Program
	text     string
	patterns map[string]*regex // of matches, that the file has
	worst    uint64            // its cost in CEL's units
	limited  *sync.Pool        // of *limitedProgram, if the worst is not cheap
}

// cheapUnits are so few that an expression which costs at most as much is evaluated without
// counting, because counting doubles the time.
const cheapUnits = 100

// A limitedProgram is a program with the limit of its next evaluation.
type limitedProgram struct {
	cel.Program
	limit limit
}

// A limit is an option that changes, which cel-go reads for each evaluation.
type limit struct{ cost.TrackerOption }

func (e *expression) Match(q *Request, why *string) ([]string, bool) {
	q.patterns = e.patterns
	v, failed := e.eval(q)
	if failed != nil {
		if why != nil {
			*why = "the expression failed: " + failed.Error()
		}
		return nil, false
	}
	ok, _ := v.Value().(bool)
	if why != nil {
		*why = "the expression is " + strconv.FormatBool(ok)
	}
	return nil, ok
}

// eval evaluates the expression within the budget of the request.
func (e *expression) eval(q *Request) (ref.Val, error) {
	if e.limited == nil {
		q.Pay(int(e.worst) * stepsPerUnit)
		v, _, err := e.program.Eval(q)
		return v, err
	}
	p := e.limited.Get().(*limitedProgram)
	defer e.limited.Put(p)
	p.limit.TrackerOption = cost.TrackerLimit(uint64(max(q.left, 0)) / stepsPerUnit)
	v, details, err := p.Eval(q)
	if used := details.ActualCost(); used != nil {
		q.Pay(int(min(*used, 2*costLimit)) * stepsPerUnit)
	}
	return v, err
}

// environment declares the fields of request.
var environment = func() *cel.Env {
	pairs := cel.MapType(cel.StringType, cel.StringType)
	env, err := cel.NewEnv(
		cel.Variable("request.method", cel.StringType), cel.Variable("request.host", cel.StringType),
		cel.Variable("request.path", cel.StringType),
		cel.Variable("request.query", pairs), cel.Variable("request.headers", pairs), cel.Variable("request.cookies", pairs),
		cel.Variable("request.client", cel.StringType), cel.Variable("request.country", cel.StringType),
		cel.Variable("request.tls", cel.BoolType),
		// matches takes its steps from the budget, so that it can stop inside of a text.
		cel.Variable(budgetName, payerType), cel.Macros(cel.ReceiverMacro("matches", 1, withBudget),
			cel.GlobalMacro("matches", 2, withBudget)),
		cel.Function(matchesFunction, cel.Overload("matches_within_budget",
			[]*cel.Type{cel.StringType, cel.StringType, payerType}, cel.BoolType, cel.FunctionBinding(matchesText))),
	)
	if err != nil {
		panic(err)
	}
	return env
}

// The names begin with a character that the names of a file can't have.
const budgetName, matchesFunction = "@budget", "@matches"

// withBudget expands a call of matches.
func withBudget(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if target != nil {
		args = append([]ast.Expr{target}, args...)
	}
	return f.NewCall(matchesFunction, append(args, f.NewIdent(budgetName))...), nil
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
