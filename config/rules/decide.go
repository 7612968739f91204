package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/config"
)

// A Decision says what happens with a request.
type Decision struct {
	Answer *Answer       // the response, without an origin; nil: the origin's
	Origin *config.Split // the origins that share the requests
	Target string        // path and query towards the origin; empty: the client's own

	RequestEdits        []*config.Edits         // in order
	ResponseEdits       []*config.ResponseEdits // in order
	Key                 config.Key
	TTL, DefaultTTL     *config.TTL
	Grace, StaleIfError *config.Duration
	Cache               string // on, bypass, never or force; empty: on
	AnyUser             bool   // ttl counts although the request has Cookie
	StripAll            bool
	StripCookies        []string
	Compress            *config.Compress
	Dictionaries        *config.Dictionaries
	EarlyHints, Tags    []string
	MaxBody             *config.Size
	Timeout             *config.Duration
	Mirror              string // the origin that gets a copy of a GET; empty: none
	Authorized          bool   // a rule has checked the credentials, which go no further
	// Identity has the fields by which the origin learns the name of the person who sent the
	// request; nil: it does not learn that. A name without lines is a field that the request must
	// not have.
	Identity http.Header
	// SignOns are those that were not asked, because the request has no SignOn.
	SignOns []*SignOn
	Stopped *Stop // the rules cost too much; nil: all were decided
	chosen  string

	ErrorPages []*config.ErrorPages // in order; see Site.ErrorPage
	LogSample  *config.Fraction     // of lines in the access log; nil: that of all sites
	Unlogged   bool                 // no line at all

	ServerTiming *bool
}

// ShowsTiming reports whether the response says how long it took.
func (d *Decision) ShowsTiming() bool { return d != nil && d.ServerTiming != nil && *d.ServerTiming }

// An Answer is a response that the edge makes itself.
type Answer struct {
	Status int
	Type   string
	Body   []byte
	Name   string // of a field of the response; empty: none
	Value  string
	Text   string      // of a problem; empty: Body is the body
	Fields http.Header // more fields, of a service of sign-on
	Err    error       // of Request.Guess or Request.SignOn, which is the whole answer; nil: none
	Denied bool        // by allow, deny, auth or signed
	Failed bool        // nothing could be decided
	Over   bool        // a limit
}

// merge applies the actions that sites and rules share.
func (d *Decision) merge(c *config.Changes) {
	if c.RequestHeaders != nil {
		d.RequestEdits = append(slices.Clip(d.RequestEdits), c.RequestHeaders)
	}
	if c.ResponseHeaders != nil {
		d.ResponseEdits = append(slices.Clip(d.ResponseEdits), c.ResponseHeaders)
	}
	if k := c.Key; k != nil {
		if k.Query != nil {
			d.Key.Query = k.Query
		}
		if k.Headers != nil {
			d.Key.Headers = k.Headers
		}
		if k.Cookies != nil {
			d.Key.Cookies = k.Cookies
		}
		if k.Host != nil {
			d.Key.Host = k.Host
		}
		if k.Body != nil {
			d.Key.Body = k.Body
		}
	}
	set(&d.TTL, c.TTL)
	set(&d.DefaultTTL, c.DefaultTTL)
	set(&d.Grace, c.Grace)
	set(&d.StaleIfError, c.StaleIfError)
	set(&d.Compress, c.Compress)
	set(&d.Dictionaries, c.Dictionaries)
	set(&d.MaxBody, c.MaxBody)
	set(&d.Timeout, c.Timeout)
	set(&d.ServerTiming, c.ServerTiming)
	if c.StripCookies != nil {
		d.StripAll, d.StripCookies = c.StripCookies.All, c.StripCookies.Names
	}
	if c.EarlyHints != nil {
		d.EarlyHints = c.EarlyHints
	}
	if c.Tags != nil {
		d.Tags = c.Tags
	}
	if c.Log != nil {
		set(&d.LogSample, c.Log.Sample)
		d.Unlogged = d.Unlogged || c.Log.Never
	}
	if c.Errors != nil {
		d.ErrorPages = append(slices.Clip(d.ErrorPages), c.Errors)
	}
}

func set[T any](to **T, v *T) {
	if v != nil {
		*to = v
	}
}

// A Step is a rule and why it matches or not.
type Step struct {
	Line    int      `json:"line"`
	Matched bool     `json:"matched"`
	Why     string   `json:"why"`
	Actions []string `json:"actions,omitempty"` // that it applies to the request, by name
}

// Decide returns the decision about a request.
func (s *Site) Decide(q *Request) (d Decision) {
	s.DecideInto(&d, q)
	return d
}

// DecideInto is Decide for a caller that has room for the decision.
func (s *Site) DecideInto(d *Decision, q *Request) {
	q.prepare(s)
	*d = s.whole
	if d.Answer = s.unclear(q); d.Answer != nil {
		return
	}
	var room [4]uint64
	set := s.candidates(q.path, &room)
	if at, stopped := s.walk(q, set, func(_ int, r *rule, captures []string) (ends bool) { return r.apply(d, q, captures) }); stopped {
		d.stop(q, s.undecided(set, at))
	}
}

// walk calls do with each rule of a set that matches a request, in order, until one ends the list.
// If the rules cost too much, it has stopped before rule at.
func (s *Site) walk(q *Request, set bitset, do func(i int, r *rule, captures []string) (ends bool)) (at int, stopped bool) {
	for i := range set.all() {
		r := s.rules[i]
		var captures []string
		ok := q.Pay(ruleSteps)
		if ok {
			captures, ok = r.match.Match(q, nil)
		}
		if q.left < 0 {
			return i, true
		}
		if ok && do(i, r, captures) {
			break
		}
	}
	return 0, false
}

// undecided returns the rules of a set from rule first on.
func (s *Site) undecided(set bitset, first int) (all []*rule) {
	for i := range set.all() {
		if i >= first {
			all = append(all, s.rules[i])
		}
	}
	return all
}

// Explain returns the decision and the reason of every rule. Rules behind the end of the list have
// the reason that the list ended.
func (s *Site) Explain(q *Request) (d Decision, steps []Step) {
	q.prepare(s)
	d = s.whole
	var room [4]uint64
	set := s.candidates(q.path, &room)
	ended := ""
	if d.Answer = s.unclear(q); d.Answer != nil {
		ended = "not reached: " + d.Answer.Text
	}
	for i, r := range s.rules {
		step := Step{Line: r.Line, Why: ended}
		switch candidate := set.has(i); {
		case ended != "":
		case !candidate: // another path, which costs Decide nothing
			left := q.left
			_, _ = r.match.Match(q, &step.Why)
			q.left = left
		default:
			var captures []string
			if q.Pay(ruleSteps) {
				captures, step.Matched = r.match.Match(q, &step.Why)
			}
			if q.left < 0 {
				d.stop(q, s.undecided(set, i))
				step.Matched, step.Why = false, "stopped: the rules up to this one cost more than a request may"
				ended = fmt.Sprintf("not decided: the rules were stopped in line %d", r.Line)
			} else if step.Matched {
				step.Actions = r.names
				if !r.apply(&d, q, captures) {
					break
				}
				ended = fmt.Sprintf("not reached: the rule in line %d ended the list", r.Line)
			}
		}
		steps = append(steps, step)
	}
	return d, steps
}

// apply applies the actions of a rule, and reports whether it ends the list.
func (r *rule) apply(d *Decision, q *Request, captures []string) (ends bool) {
	d.merge(&r.Changes)
	for _, a := range r.changes {
		a.Apply(d, q, captures)
	}
	if !q.Unanswered {
		for _, a := range r.answers {
			if d.Answer = a.Apply(d, q, captures); d.Answer != nil {
				break
			}
		}
	}
	return d.Answer != nil || r.Stop
}

// LogShare returns the fraction of the responses below 500 that have a line in the access log; nil:
// that of all sites.
func (d *Decision) LogShare() *float64 {
	switch {
	case d == nil:
		return nil
	case d.Unlogged:
		return &never
	}
	return (*float64)(d.LogSample)
}

var never = 0.0

// Choose returns the name of the origin for a request.
func (d *Decision) Choose(q *Request) string {
	if d.chosen != "" {
		return d.chosen
	}
	if len(d.Origin.Weights) == 1 {
		for name := range d.Origin.Weights {
			d.chosen = name
		}
		return d.chosen
	}
	var room [8]string
	names := d.Origin.AppendNames(room[:0])
	draw := q.Random
	cookie, byCookie := strings.CutPrefix(d.Origin.Sticky, "cookie ")
	switch {
	case d.Origin.Sticky == "client":
		draw = q.hashClient()
	case byCookie:
		draw = q.hashClient()
		if at := slices.IndexFunc(q.cookiePairs(), func(p pair) bool { return p.name == cookie }); at >= 0 {
			draw = hash([]byte(q.cookies[at].value))
		}
	}
	total := uint64(0)
	for _, name := range names {
		total += uint64(d.Origin.Weights[name])
	}
	at := draw % max(total, 1)
	for _, name := range names {
		w := uint64(d.Origin.Weights[name])
		if at < w {
			d.chosen = name
			break
		}
		at -= w
	}
	return d.chosen
}

// hashClient returns the hash of the client's address.
func (q *Request) hashClient() uint64 {
	var room [64]byte
	return hash(q.Client.AppendTo(room[:0]))
}

// hash returns a hash of a text that is the same in every process.
func hash(s []byte) uint64 {
	sum := sha256.Sum256(s)
	return binary.BigEndian.Uint64(sum[:])
}

// RuleLimits returns the limits of a site's rules.
func (s *Site) RuleLimits() (all []*Limit) {
	for _, r := range s.rules {
		if r.limit != nil {
			all = append(all, r.limit)
		}
	}
	return all
}

// candidates returns the rules that may match a path. There is room for 256 rules without an
// allocation.
func (s *Site) candidates(path string, room *[4]uint64) bitset {
	set := bitset(room[:])
	if s.index.words > len(room) {
		set = make(bitset, s.index.words)
	}
	set = set[:s.index.words]
	s.index.candidates(path, set)
	return set
}

// LogShare returns that of the site itself; see Decision.LogShare.
func (s *Site) LogShare() *float64 { return s.whole.LogShare() }

// ResponseEdits returns the edits of responses by the site itself.
func (s *Site) ResponseEdits() []*config.ResponseEdits { return s.whole.ResponseEdits }

// Grace returns the grace of the site itself, which rules may replace.
func (s *Site) Grace() *config.Duration { return s.whole.Grace }

// StripRequest removes the cookies that the rules strip from the fields of a request, before its
// key is made.
func (d *Decision) StripRequest(h http.Header) {
	if !d.StripsAny() || len(h["Cookie"]) == 0 {
		return
	}
	kept := d.appendKept(nil, h["Cookie"])
	delete(h, "Cookie")
	if len(kept) > 0 {
		h["Cookie"] = []string{string(kept)}
	}
}

// appendKept appends the cookies that are not stripped, as one line; nothing: there are none.
func (d *Decision) appendKept(dst []byte, lines []string) []byte {
	for _, line := range lines {
		for pair := range strings.SplitSeq(line, ";") {
			if pair = strings.Trim(pair, " \t"); pair == "" || d.Strips(pair) {
				continue
			}
			if len(dst) > 0 {
				dst = append(dst, "; "...)
			}
			dst = append(dst, pair...)
		}
	}
	return dst
}
