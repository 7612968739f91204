package rules

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/internal/glob"
	"github.com/iconedge/iconedge/internal/hostport"
)

// A Table finds the site of a host. It never changes.
type Table struct {
	Sites []*Site
	exact map[string]*Site
	wild  map[string]*Site // by the suffix, such as .example.org
	last  *Site            // of the host *; nil: none
}

// A Site has the compiled rules of a site.
type Site struct {
	*config.Site
	Defaults  *config.Settings
	KeyRules  string // changes with any rule that decides about cache keys
	rules     []*rule
	index     index
	countries *Countries
	whole     Decision                     // by the settings of the site, before any rule
	queries   map[*config.Query]queryNames // of all keys
	outcomes  outcomes
	signOns   []*SignOn
	identity  identity // fields that no client may send
	pages     pageSets
}

// A rule is a compiled rule.
type rule struct {
	*config.Rule
	match Matcher
	paths []*glob.Glob // any of which the path must match; nil: unknown
	// The compiled actions, in the order of the table. The answers are applied until one answers.
	changes, answers []Action
	names            []string // of all actions
	access           []access // those of answers that depend only on the address of the client
	dynamic          bool     // another action depends on the request: Decide has to apply it
	protects         bool     // it keeps requests from the origin, or may do so
	// Those of changes and answers that an Outcome applies; nil: the rule has none.
	rewrite  *template
	limit    *Limit
	redirect *redirect
	respond  *Answer
}

// A Compiler compiles the rules of a file, and collects findings.
type Compiler struct {
	file     *config.File
	findings config.Findings
	env      *cel.Env
	geo      *Countries
	hosts    config.Strings // of the site
	pages    pageSets
	negated  int  // number of {not: …} around the match
	captures bool // the rule has a use for captures
	captured int  // the least number of captures of the rule's match
}

// Wrong reports an error at a place in the file. The text names the error, then the correct form.
func (c *Compiler) Wrong(path, format string, args ...any) { c.find(false, path, format, args...) }

// Warn reports a warning at a place in the file.
func (c *Compiler) Warn(path, format string, args ...any) { c.find(true, path, format, args...) }

func (c *Compiler) find(warning bool, path, format string, args ...any) {
	f := c.file.Find(path, fmt.Sprintf(format, args...))
	f.Warning = warning
	c.findings.Add(f)
}

var theEnvironment = sync.OnceValue(environment)

// Compile compiles the rules of a file. The findings include warnings; the table is nil if one is
// an error.
func Compile(f *config.File) (*Table, config.Findings) {
	c := &Compiler{file: f, env: theEnvironment(), pages: pageSets{}}
	c.errorPages("defaults.errors", f.Defaults.Errors)
	if f.Geo.Country != "" {
		var err error
		if c.geo, err = OpenCountries(f.Geo.Country); err != nil {
			c.Wrong("geo.country", "%v; must be a readable database in MaxMind's form", err)
		}
	}
	t := &Table{exact: map[string]*Site{}, wild: map[string]*Site{}}
	for i := range f.Sites {
		s := c.site(&f.Sites[i])
		t.Sites = append(t.Sites, s)
		for _, host := range s.Hosts {
			switch suffix, wild := strings.CutPrefix(host, "*"); {
			case host == "*":
				t.last = s
			case wild:
				t.wild[suffix] = s
			default:
				t.exact[host] = s
			}
		}
	}
	if len(c.findings.Errors()) > 0 {
		return nil, c.findings
	}
	return t, c.findings
}

// Find returns the site of a host; nil: none. The host is without a port. Upper and lower case are
// the same, and so is a dot at the end.
func (t *Table) Find(host string) *Site {
	s, _ := t.find(host)
	return s
}

// TakesPort reports whether a site lists a port with a host, or has the host because it has every
// other one.
func (t *Table) TakesPort(host, port string) bool {
	s, as := t.find(host)
	return s != nil && (as == "*" || slices.Contains(s.Ports[as], port))
}

// find returns the site of a host, and as which of its hosts.
func (t *Table) find(host string) (s *Site, as string) {
	host = hostport.CanonicalName(lower(host))
	if s := t.exact[host]; s != nil {
		return s, host
	}
	if len(t.wild) > 0 {
		for at := strings.IndexByte(host, '.'); at >= 0; {
			if s := t.wild[host[at:]]; s != nil && at > 0 {
				return s, "*" + host[at:]
			}
			next := strings.IndexByte(host[at+1:], '.')
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return t.last, "*"
}

func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}

func (c *Compiler) site(s *config.Site) *Site {
	out := &Site{Site: s, Defaults: &c.file.Defaults, countries: c.geo, pages: c.pages}
	c.errorPages(s.At+".errors", s.Errors)
	out.whole.merge(&c.file.Defaults.Changes)
	out.whole.merge(&s.Changes)
	out.whole.Origin = s.Origin
	if ignored := firstOf(s.IgnoreQuery, c.file.Defaults.IgnoreQuery); ignored != nil && out.whole.Key.Query == nil {
		out.whole.Key.Query = &config.Query{Exclude: ignored}
	}
	out.queries = map[*config.Query]queryNames{}
	out.readNames(out.whole.Key.Query)
	used := map[string]bool{"icons": s.Icons != nil && *s.Icons}
	for _, name := range s.Origin.Names() {
		used[name] = true
	}
	stopped := 0
	c.hosts = s.Hosts
	if l := firstLog(s.Log, c.file.Defaults.Log); l != nil && l.Skip != nil {
		out.rules = append(out.rules, c.skip(nil, l, s.At))
	}
	for i := range s.Rules {
		if l := s.Rules[i].Log; l != nil && l.Skip != nil {
			out.rules = append(out.rules, c.skip(s.Rules[i].Match, l, s.Rules[i].At))
		}
		r := c.rule(&s.Rules[i])
		if idle(r.Rule) {
			c.Warn(r.At, "the rule has no action; must have one, such as cache: bypass")
		}
		for _, name := range r.Origin.Names() {
			used[name] = true
		}
		if r.Mirror != nil {
			used[r.Mirror.To] = true
		}
		if stopped > 0 {
			c.Warn(r.At, "never matches, because the rule in line %d always ends the list; must stand before it", stopped)
		}
		if _, all := r.match.(always); all && (r.Stop || r.Redirect != nil || r.Respond != nil) && stopped == 0 {
			stopped = r.Line
		}
		out.rules = append(out.rules, r)
		if r.Key != nil {
			out.readNames(r.Key.Query)
		}
	}
	nameLimits(out.rules)
	for _, name := range slices.Sorted(maps.Keys(s.Origins)) {
		if dir := s.Origins[name].Dir; dir != "" {
			c.folder(s.At+".origins."+name, dir, s.Icons != nil && *s.Icons && name == mainOrigin(s))
		}
		if !used[name] {
			c.Warn(s.At+".origins."+name, "no rule uses the origin; must be used, or be left out")
		}
	}
	out.collectSignOns()
	out.index = newIndex(out.rules)
	out.KeyRules = keyRules(out)
	return out
}

// mainOrigin returns the name of the origin that a site with icons takes them from.
func mainOrigin(s *config.Site) string {
	if _, ok := s.Origins["icons"]; ok {
		return "icons"
	}
	return s.Origin.Names()[0]
}

// folder reports a folder that can't be read, and one from which icons should come.
func (c *Compiler) folder(at, dir string, icons bool) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		c.Wrong(at+".dir", "no folder is there; must be a readable folder")
	}
	if icons {
		c.Wrong(at+".dir", "a folder has no icons; must be another origin of the site, behind a rule")
	}
}

func firstLog(a, b *config.Log) *config.Log {
	if a != nil {
		return a
	}
	return b
}

// skip makes a rule of the requests that a log skips, so that the hit path decides about them as
// about every rule. It stands before the rule that it belongs to, which may end the list.
func (c *Compiler) skip(match *config.Match, l *config.Log, at string) *rule {
	r := &config.Rule{Match: config.Both(match, l.Skip), At: at, Line: c.file.Line(l.Skip.At)}
	r.Log = &config.Log{Never: true}
	return c.rule(r)
}

// queryNames are the compiled names of a key.query.
type queryNames struct{ include, exclude *glob.Names }

func (s *Site) readNames(q *config.Query) {
	if q != nil {
		s.queries[q] = queryNames{glob.NewNames(q.Include), glob.NewNames(q.Exclude)}
	}
}

func firstOf(a, b config.Strings) config.Strings {
	if a != nil {
		return a
	}
	return b
}

// idle reports whether a rule has no action.
func idle(r *config.Rule) bool {
	return reflect.DeepEqual(*r, config.Rule{Match: r.Match, Line: r.Line, At: r.At})
}

// overlap reports whether a host can match both patterns, each of which is a name, *.NAME or *.
func overlap(a, b string) bool {
	a, b = hostport.CanonicalHost(a, ""), hostport.CanonicalHost(b, "")
	endsIn := func(host, pattern string) bool {
		suffix, wild := strings.CutPrefix(pattern, "*")
		return wild && strings.HasSuffix(host, suffix) && (suffix == "" || len(host) > len(suffix))
	}
	return a == b || endsIn(a, b) || endsIn(b, a)
}

// nameLimits names the limits of a site's rules by what they count, so that a rule before them
// changes no name. Of equal ones the first has the same name in every file.
func nameLimits(all []*rule) {
	known := map[string]int{}
	for _, r := range all {
		if r.limit == nil {
			continue
		}
		name := digest(plain(r.Match), r.limit.by)
		known[name]++
		r.limit.Name = fmt.Sprintf("%s %d", name, known[name])
	}
}

// digest returns a hash of parts of a file.
func digest(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // the types have no value that JSON lacks
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// keyRules returns a hash of everything that decides about the cache keys of a site.
func keyRules(s *Site) string {
	type part struct {
		Match   *config.Match
		Key     *config.Key
		Rewrite string
		Stop    bool
		More    map[string]any `json:",omitempty"`
	}
	parts := []any{s.Defaults.Key, s.Site.Settings.Key, s.Defaults.IgnoreQuery, s.IgnoreQuery}
	var ends []any // rules that keep requests from the next rule with a key
	for _, r := range s.rules {
		p := part{plain(r.Match), r.Key, r.Rewrite, r.Stop, r.More}
		if r.Key != nil || r.Rewrite != "" || r.More != nil {
			parts, ends = append(append(parts, ends...), p), nil
		} else if r.Stop {
			ends = append(ends, p)
		}
	}
	return digest(parts...)
}

// plain returns a match without its places in the file.
func plain(m *config.Match) *config.Match {
	if m == nil {
		return nil
	}
	p := *m
	p.At, p.Not, p.Any = "", plain(m.Not), nil
	for _, one := range m.Any {
		p.Any = append(p.Any, plain(one))
	}
	return &p
}

func (c *Compiler) rule(r *config.Rule) *rule {
	out := &rule{Rule: r, match: always{}}
	c.errorPages(r.At+".errors", r.Errors)
	captures := 0
	c.captures = r.Rewrite != "" || r.Redirect != nil || r.More != nil
	if r.Match != nil {
		out.match, captures, out.paths = c.match(r.Match)
	}
	c.actions(out, captures)
	return out
}

func (c *Compiler) undefined(path string, n int) {
	name := "$" + fmt.Sprint(n)
	if n >= 1000 {
		name = "$0"
	}
	c.Wrong(path, "%s is undefined, because the match has %d captures; must have a path with as many * or groups", name, c.captured)
}

func prefixes(all config.Strings) (n networks) {
	for _, one := range all {
		if p, err := hostport.ParsePrefix(one); err == nil {
			n = append(n, p)
		}
	}
	return n
}

// match compiles a match. It returns the least number of its captures, and globs of which the path
// matches one whenever the request matches; nil: there are none.
func (c *Compiler) match(m *config.Match) (out Matcher, captures int, globs []*glob.Glob) {
	switch {
	case m.Expression != "":
		return c.expression(m), 0, nil
	case m.Any != nil:
		return c.any(m)
	}
	return c.entries(m)
}

func (c *Compiler) any(m *config.Match) (out Matcher, captures int, globs []*glob.Glob) {
	all, captures, indexed := anyOf{}, -1, true
	for _, one := range m.Any {
		sub, n, of := c.match(one)
		all = append(all, sub)
		if captures < 0 || n < captures {
			captures = n
		}
		if of == nil {
			indexed = false
		}
		globs = append(globs, of...)
	}
	if !indexed {
		globs = nil
	}
	return all, max(captures, 0), globs
}

func (c *Compiler) expression(m *config.Match) Matcher {
	a, issues := c.env.Compile(m.Expression)
	if issues.Err() != nil {
		c.Wrong(m.At, "%s", expressionError(issues))
		return always{}
	}
	if a.OutputType() != cel.BoolType {
		c.Wrong(m.At, "the expression is of type %s; must be true or false", a.OutputType())
		return always{}
	}
	if a.NativeRep().Expr().AsLiteral() == types.False && c.negated == 0 {
		c.Warn(m.At, "never matches, because the expression is always false; must depend on request")
	}
	e := &expression{text: m.Expression}
	if e.patterns = c.patterns(m.At, a.NativeRep().Expr()); e.patterns == nil {
		return always{}
	}
	worst, err := c.env.EstimateCost(a, sizes{})
	if err == nil {
		e.program, err = c.env.Program(a, cel.EvalOptions(cel.OptOptimize))
	}
	if err != nil {
		c.Wrong(m.At, "the expression can't be used: %v", err)
		return always{}
	}
	if e.worst = worst.Max; e.worst > cheapUnits {
		e.limited = &sync.Pool{New: func() any {
			p := &limitedProgram{limit: limit{cost.TrackerLimit(costLimit)}}
			// It can be made, because e.program was.
			p.Program, _ = c.env.Program(a, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(nil), cel.CostTrackerOptions(&p.limit))
			return p
		}}
	}
	return e
}

// patterns compiles the regular expressions of an expression; nil: one is wrong.
func (c *Compiler) patterns(at string, expr ast.Expr) map[string]*regex {
	all := map[string]*regex{}
	wrong := false
	ast.PostOrderVisit(expr, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != matchesFunction {
			return
		}
		if text, ok := e.AsCall().Args()[1].AsLiteral().(types.String); ok {
			if all[string(text)] = c.regex(at, string(text), false); all[string(text)] == nil {
				wrong = true
			}
		}
	}))
	if wrong {
		return nil
	}
	return all
}

// sizes bounds the values of a request for estimates of cost. A request's head is shorter.
type sizes struct{}

func (sizes) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	if n.ComputedSize() != nil {
		return nil
	}
	most := cost.RangedSizeEstimate(0, 64<<10)
	return &most
}

func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// expressionError returns the first error of an expression in one line.
func expressionError(issues *cel.Issues) string {
	text := issues.Errors()[0].Message
	if name, ok := strings.CutPrefix(text, "undeclared reference to '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if name == "request" || strings.HasPrefix(name, "request.") {
			return fmt.Sprintf("%s is unknown; the fields of request are %s", name, strings.Join(requestFields, ", "))
		}
	}
	text, _, _ = strings.Cut(text, "\n")
	return text + "; must be an expression of CEL over request"
}

func (c *Compiler) entries(m *config.Match) (Matcher, int, []*glob.Glob) {
	all, captures, globs, given := allOf{}, 0, []*glob.Glob(nil), m.Given()
	for _, row := range matches {
		v, ok := given[row.Name]
		if !ok {
			continue
		}
		switch one := row.compile(c, m.At+"."+row.Name, v).(type) {
		case nil: // it is wrong
		case paths:
			all, captures = append(all, one), cmp.Or(one.captures(), captures)
			globs = append(globs, one.globs...)
		case allOf:
			all = append(all, one...)
		default:
			all = append(all, one)
		}
	}
	if m.Not != nil {
		c.negated++
		inner, _, _ := c.match(m.Not)
		c.negated--
		all = append(all, not{inner})
	}
	if len(all) == 0 {
		c.Wrong(m.At, "empty; must have an entry such as path, or match must be left out")
	}
	if len(all) == 1 {
		return all[0], captures, globs
	}
	return all, captures, globs
}

func matchPath(c *Compiler, at string, all config.Strings) Matcher {
	return paths{globs: c.globs(at, all), wanted: c.captures}
}

func matchPathRegex(c *Compiler, at string, all config.Strings) Matcher {
	return paths{regexes: c.regexes(at, all, true), wanted: c.captures}
}

func matchHost(c *Compiler, at string, names config.Strings) Matcher {
	for _, host := range names {
		if c.negated == 0 && !slices.ContainsFunc(c.hosts, func(h string) bool { return overlap(host, h) }) {
			c.Warn(at, "never matches, because no host of the site is %s; must be one of %s", host, strings.Join(c.hosts, ", "))
		}
	}
	return oneOf{"host", func(q *Request) string { return q.Host }, hostOf(names), strings.Join(names, ", ")}
}

func matchMethod(c *Compiler, at string, names config.Strings) Matcher {
	for _, method := range names {
		if upper := strings.ToUpper(method); upper != method && c.negated == 0 {
			c.Warn(at, "%q never matches, because methods are case-sensitive; must be %s", method, upper)
		}
	}
	return oneOf{"method", func(q *Request) string { return q.Method }, exactly(names), strings.Join(names, ", ")}
}

func matchCountry(c *Compiler, at string, names config.Strings) Matcher {
	if c.file.Geo.Country == "" {
		c.Wrong(at, "no database gives the country of a client; must have geo.country too")
	}
	return oneOf{"country", (*Request).countryOf, fold(names), strings.Join(names, ", ")}
}

func matchClient(c *Compiler, at string, all config.Strings) Matcher {
	for i, one := range all {
		if _, err := hostport.ParsePrefix(one); err != nil {
			c.Wrong(fmt.Sprintf("%s[%d]", at, i), "%s", config.NoNetwork(one, err))
		}
	}
	return prefixes(all)
}

func matchQuery(c *Compiler, at string, all config.Conditions) Matcher {
	return c.conditions(at, all, "parameter", (*Request).parameters)
}

func matchHeader(c *Compiler, at string, all config.Conditions) Matcher {
	return c.conditions(at, all, "field", nil)
}

func matchCookie(c *Compiler, at string, all config.Conditions) Matcher {
	return c.conditions(at, all, "cookie", (*Request).cookiePairs)
}

func (c *Compiler) globs(path string, texts config.Strings) (globs []*glob.Glob) {
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", path, i)
		if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
			c.Wrong(at, "%q matches no path; must begin with a slash, such as /static/**", text)
		}
		if Normalise(text) != text && strings.HasPrefix(text, "/") {
			c.Warn(at, "never matches, because %q is not in normalised form; must be %q", text, Normalise(text))
		}
		g := glob.New(text, false)
		if g.Stars() > maxStars {
			c.Wrong(at, "%d asterisks; must have at most %d", g.Stars(), maxStars)
		}
		c.manyStars(at, g)
		globs = append(globs, g)
	}
	return globs
}

// maxStars bounds the asterisks of a path, and those beyond manyStars have a warning.
const maxStars, manyStars = 16, 6

// manyStars warns of a glob that is dear for some texts.
func (c *Compiler) manyStars(at string, g *glob.Glob) {
	if g.Stars() > manyStars {
		c.Warn(at, "%q has %d asterisks, so that some requests cost the rule much time; should have at most %d", g, g.Stars(), manyStars)
	}
}

func (c *Compiler) regexes(path string, texts config.Strings, whole bool) (all []*regex) {
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", path, i)
		if re := c.regex(at, text, whole); re != nil {
			all = append(all, re)
		}
	}
	return all
}

// regex compiles a regular expression of RE2.
func (c *Compiler) regex(at, text string, whole bool) *regex {
	re, insts, err := newRegex(text, whole)
	if err != nil {
		c.Wrong(at, "%s; must be a regular expression of RE2", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	if insts > maxInsts {
		c.Warn(at, "the regular expression becomes a program of %d instructions, so that some requests cost the rule "+
			"much time; should have at most %d", insts, maxInsts)
	}
	return re
}

func (c *Compiler) conditions(path string, all config.Conditions, what string, pairs func(*Request) []pair) (out allOf) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		n := &named{what: what, name: name, pairs: pairs}
		if what == "field" {
			if !config.IsToken(name) {
				c.Wrong(path+"."+name, "%q is no name of a field; must be one, such as X-Debug", name)
			}
			n.name = canonical(name)
		} else if strings.Contains(name, "*") {
			n.names = glob.New(name, true)
			c.manyStars(path+"."+name, n.names)
		}
		for _, text := range all[name] {
			if inner, ok := strings.CutPrefix(text, "/"); ok && strings.HasSuffix(inner, "/") && len(inner) > 1 {
				if re := c.regex(path+"."+name, strings.TrimSuffix(inner, "/"), false); re != nil {
					n.values = append(n.values, value{re: re})
				}
				continue
			}
			g := glob.New(text, true)
			c.manyStars(path+"."+name, g)
			n.values = append(n.values, value{glob: g})
		}
		out = append(out, n)
	}
	return out
}

// An index finds the rules that may match a path, by the segments before the first asterisk of
// their globs.
type index struct {
	root   *node
	always bitset // rules without a path
	words  int
}

type node struct {
	rules    []int
	children map[string]*node
}

// A bitset is a set of rules.
type bitset []uint64

func (b bitset) add(i int) { b[i/64] |= 1 << (i % 64) }

func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }

// all yields the elements in order.
func (b bitset) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(w*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

func newIndex(rules []*rule) index {
	x := index{root: &node{}, words: (len(rules) + 63) / 64}
	x.always = make(bitset, x.words)
	for i, r := range rules {
		if r.paths == nil {
			x.always.add(i)
			continue
		}
		for _, g := range r.paths {
			at := x.root
			for _, segment := range wholeSegments(g.String()) {
				if at.children == nil {
					at.children = map[string]*node{}
				}
				if at.children[segment] == nil {
					at.children[segment] = &node{}
				}
				at = at.children[segment]
			}
			at.rules = append(at.rules, i)
		}
	}
	return x
}

// wholeSegments returns the whole segments of a glob before its first asterisk.
func wholeSegments(text string) (all []string) {
	literal, _, found := strings.Cut(text, "*")
	if found {
		literal = literal[:strings.LastIndexByte(literal, '/')+1]
	}
	for segment := range strings.SplitSeq(literal, "/") {
		if segment != "" {
			all = append(all, segment)
		}
	}
	return all
}

// candidates adds the rules that may match a path to set, which has room for them.
func (x *index) candidates(path string, set bitset) {
	copy(set, x.always)
	at := x.root
	for at != nil {
		for _, i := range at.rules {
			set.add(i)
		}
		if len(at.children) == 0 {
			return
		}
		path = strings.TrimPrefix(path, "/")
		segment, rest, _ := strings.Cut(path, "/")
		at, path = at.children[segment], rest
	}
}
