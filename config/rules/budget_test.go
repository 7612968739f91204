package rules

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dearRule takes more than the rules of a request may cost, and for other requests little.
const dearRule = `request.query.all(a, request.query.all(b, a + b != "x"))`

// dear returns a request for a path, for which dearRule costs too much.
func dear(path string, fields ...string) *Request {
	var query strings.Builder
	for i := range 900 {
		fmt.Fprintf(&query, "&p%d=1", i)
	}
	return get(path+"?"+query.String(), fields...)
}

// TestStopped: rules that cost too much are stopped. A request that an undecided rule might keep
// from the origin gets a 503; any other one goes on, uncached.
func TestStopped(t *testing.T) {
	const denied, stopped = http.StatusForbidden, http.StatusServiceUnavailable
	dearest := "  - {match: '" + dearRule + "', ttl: 1m}\n"
	for _, row := range []struct {
		rules  string
		status int // 0: the origin's
		line   int
	}{
		{dearest + `  - {deny: [192.0.2.0/24]}`, stopped, 8},
		{`  - {deny: [192.0.2.0/24]}` + "\n" + dearest, denied, 0},
		{dearest + `  - {match: {path: /x}, allow: [10.0.0.0/8]}`, stopped, 8},
		// Another path, so that the second rule is decided.
		{dearest + `  - {match: {path: /other}, deny: [192.0.2.0/24]}`, 0, 8},
		{dearest + `  - {signed: {secret: key, param: sig, expires: exp}}`, stopped, 8},
		{dearest + `  - {limit: {rate: 1/1s}}`, stopped, 8},
		{dearest + `  - {respond: {status: 404}}`, stopped, 8},
		{dearest + `  - {respond: {status: 200}}`, 0, 8},
		{dearest + `  - {cache: force}`, 0, 8},
		{`  - {cache: force}` + "\n" + dearest, 0, 9},
		{`  - {match: '` + dearRule + `', deny: [192.0.2.0/24]}`, stopped, 8},
		{`  - {match: {not: '` + dearRule + `'}, deny: [192.0.2.0/24]}`, stopped, 8},
		{`  - {match: [{path: /x, not: {path: "/*"}}, '` + dearRule + `'], deny: [192.0.2.0/24]}`, stopped, 8},
	} {
		s := compile(t, row.rules+"\n")
		for explained, decide := range map[bool]func(*Request) Decision{false: s.Decide,
			true: func(q *Request) Decision { d, _ := s.Explain(q); return d }} {
			d := decide(dear("/x"))
			status, line := 0, 0
			if d.Answer != nil {
				status = d.Answer.Status
			}
			if d.Stopped != nil {
				line = d.Stopped.Line
				if d.Stopped.Refused != (status == stopped) || d.Cache != "bypass" {
					t.Errorf("%s: %+v, cache %q", row.rules, d.Stopped, d.Cache)
				}
			}
			if status != row.status || line != row.line {
				t.Errorf("%s, explained %v: status %d, stopped in line %d; want %d, %d", row.rules, explained, status,
					line, row.status, row.line)
			}
			if d := decide(get("/x?a=1")); d.Stopped != nil {
				t.Errorf("%s, explained %v: stopped for a short request", row.rules, explained)
			}
		}
		q := dear("/x")
		q.Unanswered = true
		if d := s.Decide(q); d.Answer != nil {
			t.Errorf("%s: %+v for a purge", row.rules, d.Answer)
		}
	}
}

// TestExplainStopped: the explanation names the rule at which the rules were stopped.
func TestExplainStopped(t *testing.T) {
	s := compile(t, "  - {match: {path: /x}, ttl: 1m}\n  - {match: '"+dearRule+"', ttl: 1m}\n  - {deny: [192.0.2.0/24]}\n")
	_, steps := s.Explain(dear("/x"))
	for i, want := range []string{"matches", "stopped: ", "not decided: the rules were stopped in line 9"} {
		if !strings.Contains(steps[i].Why, want) {
			t.Errorf("rule %d: %+v, want %q", i+1, steps[i], want)
		}
	}
}

// kind is a match with a request of 32 kB that it is dear for.
type kind struct{ name, match, target, field, value string }

// dearKinds are matches that cost most: each takes the whole text, and finds nothing.
func dearKinds() []kind {
	const long = 32 << 10
	fill := func(s string) string { return strings.Repeat(s, long/len(s)) }
	return []kind{
		{"stars in a segment", `{path: "/slug/*-*-*/p/*"}`, "/slug/" + fill("-"), "", ""},
		{"stars across", `{path: "/two/**/x/**/y/**"}`, "/two" + fill("/x"), "", ""},
		{"stars and segments", `{path: "**/x/*/x/*/x/*/x/*/x/*/x/*/y/**"}`, fill("/x"), "", ""},
		{"near misses", `{path: "**aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab**"}`, "/" + fill("a"), "", ""},
		{"field", `{header: {User-Agent: "*bot*http*"}}`, "/", "User-Agent", fill("bot")},
		{"cookie", `{cookie: {a: "*x*"}}`, "/", "Cookie", fill("a=y;")},
		{"names of cookies", `{cookie: {"*x": "1"}}`, "/", "Cookie", fill("a=y;")},
		{"parameters", `{query: {a: "*x*"}}`, "/?" + fill("a&"), "", ""},
		{"names of parameters", `{query: "a*b*c"}`, "/?" + fill("ab&"), "", ""},
		{"regular expression of paths", `{path_regex: "/(a|aa|aaa)*b"}`, "/" + fill("a"), "", ""},
		{"large regular expression", `{path_regex: "/.*a.{400}b"}`, "/" + fill("a"), "", ""},
		{"regular expression of fields", `{header: {A: "/(x+x+)+y/"}}`, "/", "A", fill("x")},
		{"expression with matches", `'request.path.matches("(x+x+)+y")'`, "/" + fill("x"), "", ""},
		{"expression with contains", `'request.path.contains("abcd")'`, "/" + fill("abc"), "", ""},
		{"expression with maps", `'"x" in request.query'`, "/?" + fill("a&"), "", ""},
		{"expression with a path in a loop",
			`'[1,2,3,4,5,6,7,8,9].exists(a, [1,2,3,4,5,6,7,8,9].exists(b, [1,2,3,4,5,6,7,8,9].exists(c, request.path == "x")))'`,
			"/" + fill("a"), "", ""},
		{"expression with a loop", `'request.query.exists(a, a == "x")'`, "/?" + fill("a&"), "", ""},
	}
}

// request returns the request of a kind.
func (k *kind) request() *Request {
	if k.field == "" {
		return get(k.target)
	}
	return get(k.target, k.field, k.value)
}

// TestDearRules: 200 rules of each kind end within the budget, or are stopped and refuse the
// request. One of a glob is far below.
func TestDearRules(t *testing.T) {
	for _, k := range dearKinds() {
		one := "  - {match: " + k.match + ", deny: [192.0.2.0/24]}\n"
		for _, n := range []int{1, 200} {
			s := compile(t, strings.Repeat(one, n))
			q := k.request()
			d := s.Decide(q)
			if d.Stopped == nil && (q.left < 0 || d.Answer != nil) || d.Stopped != nil && d.Answer.Status != http.StatusServiceUnavailable {
				t.Errorf("%s, %d rules: %+v, %+v", k.name, n, d.Stopped, d.Answer)
			}
			// What the last one takes too much is little.
			if q.left < -stepsPerRequest/5 {
				t.Errorf("%s, %d rules: %d steps more than the budget", k.name, n, -q.left)
			}
		}
	}
}

// TestRegexWithinBudget: an expression finds within a budget what it finds without one.
func TestRegexWithinBudget(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	pieces := []string{"a", "b", "(a|b)", "a*", "[ab]+?", "(b.)*", "ab", ".", `\xff`, "é", "(?i)A", "$", "^", `\b`}
	texts := []string{"a", "b", "ab", "é", "\xff", "\n", "c"}
	text := func(of []string, n int) (s string) {
		for range r.IntN(n + 1) {
			s += of[r.IntN(len(of))]
		}
		return s
	}
	for range 4000 {
		expr, s := text(pieces, 5), text(texts, 12)
		for _, anchored := range []bool{false, true} {
			re, _, err := newRegex(expr, anchored)
			if err != nil {
				break
			}
			plain := regexp.MustCompile(expr)
			if anchored {
				plain = regexp.MustCompile("^(?:" + expr + ")$")
			}
			want := plain.FindStringSubmatch(s)
			q := &Request{left: stepsPerRequest}
			counted := !decidedByPrefix(re, s) && re.MatchReader(q.read(s, 1)) != (want != nil)
			captures := re.captures(q, s)
			if re.matches(q, s) != (want != nil) || counted || (captures != nil) != (want != nil) {
				t.Fatalf("%q, anchored %v, %q: %q, want %q", expr, anchored, s, captures, want)
			}
			if want != nil && strings.Join(captures, "\x00") != strings.Join(want[1:], "\x00") {
				t.Fatalf("%q, anchored %v, %q: groups %q, want %q", expr, anchored, s, captures, want[1:])
			}
		}
	}
}

func decidedByPrefix(re *regex, s string) bool {
	decided, _ := re.byPrefix(&Request{left: stepsPerRequest}, s)
	return decided
}

// TestDynamicPattern: a regular expression that the request has is bounded.
func TestDynamicPattern(t *testing.T) {
	s := compile(t, "  - {match: 'request.path.matches(request.query[\"re\"])', respond: {status: 299}}\n")
	for pattern, want := range map[string]bool{"^/a%2B$": true, "b": false, "(": false, strings.Repeat("a%3F", 200): false} {
		if d := s.Decide(get("/aa?re=" + pattern)); (d.Answer != nil) != want || d.Stopped != nil {
			t.Errorf("%.20q matches: %v, stopped %v", pattern, d.Answer != nil, d.Stopped)
		}
	}
	if d := s.Decide(get("/aa?re=" + strings.Repeat("(x%3Fy){900}", 9))); d.Stopped == nil {
		t.Error("a large expression of a request is not stopped")
	}
}

// cpuTime returns the time that all threads of the process have computed.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDearRules measures requests of 32 kB with 200 rules, or until they are stopped.
func BenchmarkDearRules(b *testing.B) {
	for _, k := range dearKinds() {
		for _, n := range []int{1, 200} {
			b.Run(fmt.Sprintf("%s/%d", k.name, n), func(b *testing.B) {
				s := compile(b, strings.Repeat("  - {match: "+k.match+", ttl: 1m}\n", n))
				var spent float64
				began := cpuTime(b)
				for b.Loop() {
					q := k.request()
					s.Decide(q)
					spent = float64(stepsPerRequest - q.left)
				}
				cpu := float64((cpuTime(b) - began).Nanoseconds()) / float64(b.N)
				b.ReportMetric(spent, "steps")
				b.ReportMetric(cpu, "cpu-ns/op")
				b.ReportMetric(cpu/spent, "cpu-ns/step")
			})
		}
	}
}
