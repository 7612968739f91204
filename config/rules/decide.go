package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/internal/glob"
)

// A Decision says what happens with a request.
type Decision struct {
	Answer *Answer       // the response, without an origin; nil: the origin's
	Origin *config.Split // the origins that share the requests
	Target string        // path and query towards the origin; empty: the client's own

	RequestEdits, ResponseEdits []*config.Edits // in order
	Key                         config.Key
	TTL                         *config.TTL
	Grace, StaleIfError         *config.Duration
	Cache                       string // on, bypass, never or force; empty: on
	AnyUser                     bool   // ttl counts although the request has Cookie
	StripAll                    bool
	StripCookies                []string
	Compress                    *bool
	EarlyHints, Tags            []string
	MaxBody                     *config.Size
	Timeout                     *config.Duration
	Authorized                  bool  // a rule has checked the credentials, which go no further
	Stopped                     *Stop // the rules cost too much; nil: all were decided
	chosen                      string
}

// An Answer is a response that the edge makes itself.
type Answer struct {
	Status int
	Type   string
	Body   []byte
	Header http.Header
	Text   string // of a problem; empty: Body is the body
	Err    error  // of Request.Guess, which is the whole answer; nil: none
	Denied bool   // by allow, deny, auth or signed
	Over   bool   // a limit
}

// A Limit bounds the requests that match a rule. State belongs to the caller.
type Limit struct {
	Rate     string // as in a file
	Name     string // unique in the site; a reload keeps it if the rule counts the same requests
	ByClient bool   // it counts by the address of the client, and not by the key
	State    any
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
	}
	set(&d.TTL, c.TTL)
	set(&d.Grace, c.Grace)
	set(&d.StaleIfError, c.StaleIfError)
	set(&d.Compress, c.Compress)
	set(&d.MaxBody, c.MaxBody)
	set(&d.Timeout, c.Timeout)
	if c.StripCookies != nil {
		d.StripAll, d.StripCookies = c.StripCookies.All, c.StripCookies.Names
	}
	if c.EarlyHints != nil {
		d.EarlyHints = c.EarlyHints
	}
	if c.Tags != nil {
		d.Tags = c.Tags
	}
}

func set[T any](to **T, v *T) {
	if v != nil {
		*to = v
	}
}

// A Step is a rule and why it matches or not.
type Step struct {
	Line    int    `json:"line"`
	Matched bool   `json:"matched"`
	Why     string `json:"why"`
}

// Decide returns the decision about a request.
func (s *Site) Decide(q *Request) Decision {
	q.prepare(s.countries)
	d := s.whole
	var room [4]uint64
	set := s.candidates(q.path, &room)
	for i := range set.all() {
		r := s.rules[i]
		var captures []string
		ok := q.pay(ruleSteps)
		if ok {
			captures, ok = r.match.match(q, nil)
		}
		if q.left < 0 {
			d.stop(q, s.undecided(set, i))
			return d
		}
		if ok && r.apply(&d, q, captures) {
			return d
		}
	}
	return d
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
	q.prepare(s.countries)
	d = s.whole
	var room [4]uint64
	set := s.candidates(q.path, &room)
	ended := ""
	for i, r := range s.rules {
		step := Step{Line: r.Line, Why: ended}
		switch candidate := set.has(i); {
		case ended != "":
		case !candidate: // another path, which costs Decide nothing
			left := q.left
			_, _ = r.match.match(q, &step.Why)
			q.left = left
		default:
			var captures []string
			if q.pay(ruleSteps) {
				captures, step.Matched = r.match.match(q, &step.Why)
			}
			if q.left < 0 {
				d.stop(q, s.undecided(set, i))
				step.Matched, step.Why = false, "stopped: the rules up to this one cost more than a request may"
				ended = fmt.Sprintf("not decided: the rules were stopped in line %d", r.Line)
			} else if step.Matched && r.apply(&d, q, captures) {
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
	if r.Origin != nil {
		d.Origin = r.Origin
	}
	if r.Rule.Rewrite != "" {
		d.Target = r.rewrite.fill(captures, q.rawQuery)
		q.pay((hashSteps + len(captures)) * len(d.Target))
	}
	if r.Cache != "" {
		d.Cache = r.Cache
	}
	if r.Rule.Cookies != "" {
		d.AnyUser = r.Rule.Cookies == "ignore"
	}
	if !q.Unanswered {
		d.Answer = r.answer(d, q, captures)
	}
	return d.Answer != nil || r.Stop
}

// answer returns the response of a rule that answers at once; nil: it does not.
func (r *rule) answer(d *Decision, q *Request, captures []string) *Answer {
	q.pay(len(r.deny) + len(r.allow))
	switch {
	case r.deny != nil && r.deny.has(q.Client), r.allow != nil && !r.allow.has(q.Client):
		return &Answer{Status: http.StatusForbidden, Text: "requests from this address are denied", Denied: true}
	case r.Signed != nil && !r.signed(q):
		return &Answer{Status: http.StatusForbidden, Text: "the address is not signed, or its time is over", Denied: true}
	}
	// Before the password, so that a limit bounds guesses.
	if r.limit != nil && q.Allow != nil {
		key := r.limitKey(q)
		q.pay(hashSteps * len(key))
		if ok, wait := q.Allow(r.limit, key); !ok {
			seconds := strconv.FormatInt(max(1, int64((wait+time.Second-1)/time.Second)), 10)
			return &Answer{Status: http.StatusTooManyRequests, Text: "over the limit of requests; try again in " + seconds + " s", Over: true, Header: http.Header{"Retry-After": {seconds}}}
		}
	}
	if r.auth != nil {
		for _, line := range q.linesOf("Authorization") {
			q.pay(hashSteps * len(line))
		}
		if refusal := r.auth.check(q); refusal != nil {
			return refusal
		}
		d.Authorized = true
	}
	if r.Redirect != nil {
		return &Answer{Status: r.Redirect.Status, Header: http.Header{"Location": {r.redirect.fill(captures, q.rawQuery)}}}
	}
	return r.respond
}

// limitKey returns the text whose requests the limit of a rule counts together.
func (r *rule) limitKey(q *Request) string {
	field, isField := strings.CutPrefix(r.Rule.Limit.Key, "header ")
	switch {
	case isField:
		return strings.Join(q.linesOf(canonical(field)), ", ")
	case r.Rule.Limit.Key == "path":
		return q.path
	}
	return ""
}

// signed reports whether an address has a valid signature whose time is not over.
func (r *rule) signed(q *Request) bool {
	q.pay(hashSteps * len(q.rawPath))
	params, err := q.strictParameters()
	sig, exp := params[r.Signed.Param], params[r.Signed.Expires]
	if err != nil || len(sig) != 1 || len(exp) != 1 {
		return false
	}
	until, err := strconv.ParseInt(exp[0], 10, 64)
	if err != nil || q.Now.Unix() > until {
		return false
	}
	return hmac.Equal([]byte(Sign(r.secret, q.rawPath, exp[0])), []byte(sig[0]))
}

// Sign returns the signature of a path until a time in Unix seconds: the lower-case hex of
// HMAC-SHA256 over path, a line feed and the time.
func Sign(secret []byte, path, expires string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(path + "\n" + expires))
	return hex.EncodeToString(mac.Sum(nil))
}

// maxRespond is the length of the longest file of respond, in bytes.
const maxRespond = 1 << 20

// newRespond returns the answer of respond.
func newRespond(r *config.Respond) (*Answer, error) {
	a := &Answer{Status: r.Status, Type: r.Type, Body: []byte(r.Body)}
	if r.File != "" {
		var err error
		if a.Body, err = config.ReadFile(r.File, maxRespond); err != nil {
			return nil, err
		}
	}
	if a.Type == "" {
		a.Type = "text/plain; charset=utf-8"
		if len(a.Body) > 0 {
			a.Type = http.DetectContentType(a.Body)
		}
	}
	return a, nil
}

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
	names := d.Origin.Names()
	draw := q.Random
	cookie, byCookie := strings.CutPrefix(d.Origin.Sticky, "cookie ")
	switch {
	case d.Origin.Sticky == "client":
		draw = hash(q.Client.String())
	case byCookie:
		if v, ok := q.firsts(q.cookiePairs(), &q.firstCookies)[cookie]; ok {
			draw = hash(v)
		} else {
			draw = hash(q.Client.String())
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

// hash returns a hash of a text that is the same in every process.
func hash(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return uint64(sum[0])<<56 | uint64(sum[1])<<48 | uint64(sum[2])<<40 | uint64(sum[3])<<32 | uint64(sum[4])<<24 | uint64(sum[5])<<16 | uint64(sum[6])<<8 | uint64(sum[7])
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

// Plain reports whether the settings of a site leave its responses as they are, and each of its
// rules depends on the path. Spares then tells which paths have no rule.
func (s *Site) Plain() bool {
	return !s.index.always.any() && len(s.whole.RequestEdits) == 0 && len(s.whole.ResponseEdits) == 0 && len(s.whole.EarlyHints) == 0
}

// Spares reports whether no rule of a plain site can match the path of a target.
func (s *Site) Spares(target string) bool {
	if len(s.rules) == 0 {
		return true
	}
	raw, _, _ := strings.Cut(target, "?")
	path := Normalise(raw)
	var room [4]uint64
	set := s.candidates(path, &room)
	left := stepsPerRequest / 10
	for i := range set.all() {
		if slices.ContainsFunc(s.rules[i].paths, func(g *glob.Glob) bool { return g.Match(path, &left) || left < 0 }) {
			return false // or the pipeline finds out
		}
	}
	return true
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

// ResponseEdits returns the edits of responses by the site itself.
func (s *Site) ResponseEdits() []*config.Edits { return s.whole.ResponseEdits }

// Grace returns the grace of the site itself, which rules may replace.
func (s *Site) Grace() *config.Duration { return s.whole.Grace }

// StripRequest removes the cookies that the rules strip from the fields of a request, before its
// key is made.
func (d *Decision) StripRequest(h http.Header) {
	if !d.StripAll && d.StripCookies == nil || len(h["Cookie"]) == 0 {
		return
	}
	var kept []string
	for _, line := range h["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if pair = strings.Trim(pair, " \t"); pair != "" && !d.Strips(pair) {
				kept = append(kept, pair)
			}
		}
	}
	delete(h, "Cookie")
	if len(kept) > 0 {
		h["Cookie"] = []string{strings.Join(kept, "; ")}
	}
}
