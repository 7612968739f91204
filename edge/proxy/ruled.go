package proxy

import (
	"crypto/sha256"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/problem"
)

// A ruled request is one about which the rules of its site have decided.
type ruled struct {
	rules.Decision
	request rules.Request
	site    *rules.Site
	from    *vhosts.Upstream
}

// decide applies the limit and the rules of a request's site. It reports whether they have answered
// the request.
func (h *Proxy) decide(r *request) (answered bool) {
	if err := h.countSite(r, "client", r.site.Client); err != nil {
		h.end(r, exchange.Limited, err)
		return true
	}
	if r.site.Rules == nil {
		return false
	}
	d := &ruled{request: rules.Request{Method: methodOf(r), Host: hostName(r.public.Host), Target: rawTarget(r.ctx), TLS: r.public.Scheme == "https", Client: r.Client,
		Header: fieldsOf(r), Now: r.now, Random: rand.Uint64()}}
	d.request.Allow = func(l *rules.Limit, key string) (bool, time.Duration) { return h.allow(r, l, key) }
	d.request.Guess = func(account, password string, compare func() bool) (bool, error) {
		right, err := h.Options.Admission.CheckPassword(r.Request, account, password, compare)
		r.now = h.Options.Clock.Now() // it may have waited
		d.request.Now = r.now
		return right, err
	}
	d.site = r.site.Rules
	d.Decision = d.site.Decide(&d.request)
	r.ruled = d
	if stop := d.Stopped; stop != nil {
		h.rulesStopped(r, stop)
	}
	a := d.Answer
	if a == nil {
		return false
	}
	o := exchange.Own
	switch {
	case a.Over:
		o = exchange.Limited
	case a.Denied:
		o = exchange.Denied
	case d.Stopped != nil:
		o = exchange.Refused
	}
	if a.Err != nil {
		h.end(r, o, a.Err)
		return true
	}
	if a.Text != "" {
		p := problem.New(a.Status, a.Text).With("Cache-Control", "no-store")
		for name, lines := range a.Header {
			p = p.With(name, lines[0])
		}
		h.end(r, o, p)
		return true
	}
	r.ctx.Response.SetStatusCode(a.Status)
	for name, lines := range a.Header {
		r.Response.Add(name, lines[0])
	}
	h.writeDate(r)
	if a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		if a.Type != "" {
			r.Response.Add("Content-Type", a.Type)
		}
		send(r, notNil(a.Body))
	}
	h.end(r, o, nil)
	return true
}

// rulesStopped reports that the rules of a request cost too much. It logs one a second, because a
// client can send any number of such requests.
func (h *Proxy) rulesStopped(r *request, stop *rules.Stop) {
	h.Options.Metrics.RulesStopped(r.site.Name, stop.Refused)
	now := r.now.Unix()
	if last := h.stopLogged.Load(); last != now && h.stopLogged.CompareAndSwap(last, now) {
		h.Options.Log.Warn("rules of a site stopped, because they cost too much for a request", "site", r.site.Name, "line", stop.Line, "refused", stop.Refused, "client", r.Client)
	}
}

// countSite counts a request against a limit of its site. It returns the 429 if the client is over
// it, which has the RateLimit fields.
func (h *Proxy) countSite(r *request, name string, l vhosts.Limit) error {
	if l.Own == nil {
		return nil
	}
	count, err := h.Options.Admission.CountSite(r.Request, name, l.Window, l.Own.Limit(), r.now)
	if err != nil {
		r.count = count
	}
	return err
}

// allow counts a request against the limit of a rule.
func (h *Proxy) allow(r *request, l *rules.Limit, key string) (bool, time.Duration) {
	limiter, _ := l.State.(*ratelimit.Limiter)
	if limiter == nil || h.Options.Admission.Exempt(r.Request) {
		return true, 0
	}
	var d ratelimit.Decision
	if l.ByClient {
		d = limiter.Allow(r.Client, r.now)
	} else {
		sum := sha256.Sum256([]byte(key))
		d = limiter.AllowKey([16]byte(sum[:16]), r.now)
	}
	return d.OK, d.RetryAfter
}

// fieldsOf returns the fields of a request, in canonical spelling.
func fieldsOf(r *request) http.Header {
	head := make(http.Header, 16)
	for name, value := range r.Fields {
		key := http.CanonicalHeaderKey(string(name))
		head[key] = append(head[key], string(value))
	}
	return head
}

// editResponse edits the fields of the response as the site and its rules say. A response that was
// decided before the rules has the edits of the site.
func (r *request) editResponse() {
	var edits []*config.Edits
	switch {
	case r.ruled != nil:
		edits = r.ruled.ResponseEdits
	default:
		edits = r.site.ResponseEdits()
	}
	respond.Edit(&r.Response, edits)
}

// prepare returns the fields of a request without the parts that the rules remove before its key is
// made; nil: no rules have decided. Edits for the origin do not change the key, because they edit a
// copy of these fields.
func (d *ruled) prepare() http.Header {
	if d == nil {
		return nil
	}
	head := d.request.Header
	vhosts.StripRequest(head, &d.Decision)
	if d.Authorized {
		delete(head, "Authorization")
	}
	d.request.SetHeader(head)
	return head
}

// rule makes a fetch request the one that the rules decide about: its origin, target, key and
// policy.
func (h *Proxy) rule(r *request, q *fetchRequest) {
	d := r.ruled
	if d == nil {
		return
	}
	s := r.site
	q.ruled, q.sendsTierSecret = d, false
	d.from = s.Origins[d.Choose(&d.request)]
	vhosts.Edit(q.header, d.RequestEdits)
	if d.Target != "" {
		q.target, q.policy.Target = d.Target, d.Target
	}
	q.key = s.Rules.Key(&d.Decision, &d.request, r.public.Scheme, r.public.Host)
	q.bypasses = q.bypasses || d.Cache == "bypass"
	q.policy.Directives.NoStore = q.policy.Directives.NoStore || d.Cache == "never"
	path, _, _ := strings.Cut(d.request.Target, "?")
	q.policy.Policy.Override = vhosts.Override(&d.Decision, s, path)
	q.policy.CookieKeyed = d.KeysCookies(&d.request)
	q.policy.Policy.SafeCookies = q.policy.Policy.SafeCookies && d.Cache != "force"
	q.host = ""
	if d.from.ClientHost {
		q.host = r.public.Host
	}
	if r.Interims.Send != nil && q.policy.Method == http.MethodGet {
		for _, link := range d.EarlyHints {
			r.Interims.Add(exchange.Interim{Status: http.StatusEarlyHints, Lines: linesOf(http.Header{"Link": {link}})})
		}
	}
}

// patience returns how long a forwarded request waits for its origin.
func (h *Proxy) patience(q *fetchRequest) *upstream.Patience {
	d := q.ruled
	if d == nil || d.Timeout == nil && d.from.FirstByte == 0 {
		return &h.Options.Bounds.Patience
	}
	p := h.Options.Bounds.Patience
	if p.FirstByte = d.from.FirstByte; d.Timeout != nil {
		p.FirstByte = time.Duration(*d.Timeout)
	}
	return &p
}

// maxBody returns the longest body of a request in bytes; 0: any.
func (h *Proxy) maxBody(q *fetchRequest) int64 {
	if q.ruled != nil && q.ruled.MaxBody != nil {
		return int64(*q.ruled.MaxBody)
	}
	return h.Options.Bounds.MaxBody
}

// clientFor returns the client of the origin of q.
func (h *Proxy) clientFor(q *fetchRequest) *upstream.Client {
	if q.ruled == nil {
		return h.Options.Origin.options.Client
	}
	return q.ruled.from.Client
}

// request sends a request to the origin of q.
func (h *Proxy) request(q *fetchRequest, u upstream.Request) (*upstream.Response, error) {
	a, err := h.Options.Origin.roundTripTo(h.clientFor(q), q.traced, u)
	if err == nil && q.ruled != nil {
		vhosts.StripResponse(a.Header, &q.ruled.Decision)
	}
	return a, err
}

// compresses reports whether clients may get the response in content codings.
func (q *fetchRequest) compresses() bool {
	return q.site != nil && q.site.Compress && (q.ruled == nil || q.ruled.Compress == nil || *q.ruled.Compress)
}

// compresses is fetchRequest.compresses for the client of a stored response.
func (r *request) compresses() bool {
	return r.site.Compress && (r.ruled == nil || r.ruled.Compress == nil || *r.ruled.Compress)
}

// tag adds the surrogate keys of the rules to an entry, and those by which a purge of its address
// finds it.
func (q *fetchRequest) tag(e *cache.Entry) {
	d := q.ruled
	if d == nil {
		return
	}
	e.Tags = append(e.Tags, cache.TargetTag(d.site.CacheTarget(&d.Decision, &d.request)))
	e.Tags = append(append(e.Tags, q.addressTags()...), d.Tags...)
}

// addressTags returns the surrogate keys by which a purge of the address of a ruled request finds
// its response: of the target in the cache, and of the client's own.
func (q *fetchRequest) addressTags() (tags []string) {
	d := q.ruled
	targets := []string{d.site.CacheTarget(&d.Decision, &d.request), d.request.Target}
	for _, target := range slices.Compact(targets) {
		tags = append(tags, cache.AddressTag(q.policy.Host, target))
		if d.Key.Host != nil && !*d.Key.Host {
			tags = append(tags, cache.SharedTag(d.site.Name, target))
		}
	}
	return tags
}
