package forwarded

import (
	"iter"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// prepare returns the fields of a request without the parts that the rules remove before its key is
// made; nil: no rules have decided. Edits for the origin do not change the key, because they edit a
// copy of these fields.
func prepare(d *pipeline.Ruled) http.Header {
	if d == nil {
		return nil
	}
	head := d.Request.Header
	d.StripRequest(head)
	if d.Authorized && len(d.Identity["Authorization"]) == 0 {
		delete(head, "Authorization")
	}
	d.Request.SetHeader(head)
	return head
}

// rule makes a fetch request the one that the rules decide about: its origin, target, key and
// policy.
func (h *Answerer) rule(r *pipeline.Request, q *fetch.Request) {
	d := r.Ruled
	if d == nil {
		return
	}
	s := r.Site
	q.Ruled, q.SendsTierSecret = d, false
	d.From = s.Origins[d.Choose(&d.Request)]
	identify(q, d.Identity)
	vhosts.Edit(q.Header, d.RequestEdits)
	for _, e := range d.RequestEdits {
		pass(q, maps.Keys(e.Set))
		pass(q, maps.Keys(e.Add))
	}
	if d.Target != "" {
		q.Target, q.Policy.Target = d.Target, d.Target
	}
	q.Key = s.Rules.Key(&d.Decision, &d.Request, r.Public.Scheme, r.Public.Host)
	q.Bypasses = q.Bypasses || d.Cache == "bypass"
	q.Policy.Directives.NoStore = q.Policy.Directives.NoStore || d.Cache == "never"
	path, _, _ := strings.Cut(d.Request.Target, "?")
	q.Policy.Policy.Override = vhosts.Override(&d.Decision, s, path)
	q.Policy.CookieKeyed = d.KeysCookies(&d.Request)
	q.Policy.Policy.SafeCookies = q.Policy.Policy.SafeCookies && d.Cache != "force"
	q.Host = ""
	if d.From.ClientHost {
		q.Host = r.Public.Host
	}
	if r.Interims.Send != nil && q.Policy.Method == http.MethodGet {
		for _, link := range d.EarlyHints {
			r.Interims.Add(exchange.Interim{Status: http.StatusEarlyHints, Lines: pipeline.LinesOf(http.Header{"Link": {link}})})
		}
	}
}

// identify tells the origin the name of the person who sent a request, also by fields that it gets
// from no client. The response may be for that person alone, as one to a request with
// Authorization.
func identify(q *fetch.Request, identity http.Header) {
	if identity == nil {
		return
	}
	q.Policy.Authorized = true
	for name, lines := range identity {
		if delete(q.Header, name); len(lines) > 0 {
			q.Header[name] = lines
		}
	}
	pass(q, maps.Keys(identity))
}

// pass makes the origin get fields that the edge has set, also where it drops those of clients. The
// header of q has no such field of the client any more, in any spelling (Request.Fields).
func pass(q *fetch.Request, names iter.Seq[string]) {
	cloned := false
	for name := range names {
		if name = http.CanonicalHeaderKey(name); !upstream.Passable(name) || q.Passed[name] {
			continue
		}
		if !cloned { // the map is that of the site
			q.Passed, cloned = maps.Clone(q.Passed), true
		}
		if q.Passed == nil {
			q.Passed = map[string]bool{}
		}
		q.Passed[name] = true
	}
}

// patience returns how long a forwarded request waits for its origin.
func (h *Answerer) patience(q *fetch.Request) *upstream.Patience {
	d := q.Ruled
	if d == nil || d.Timeout == nil && d.From.FirstByte == 0 {
		return &h.Bounds.Patience
	}
	p := h.Bounds.Patience
	if p.FirstByte = d.From.FirstByte; d.Timeout != nil {
		p.FirstByte = time.Duration(*d.Timeout)
	}
	return &p
}

// maxBody returns the longest body of a request in bytes; 0: any.
func (h *Answerer) maxBody(q *fetch.Request) int64 {
	if q.Ruled != nil && q.Ruled.MaxBody != nil {
		return int64(*q.Ruled.MaxBody)
	}
	return h.Bounds.MaxBody
}
