package hit

import (
	"strings"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
)

func (m *hit) addToll(t access.Toll, edits int) {
	m.tolls.all[m.tolls.n], m.tolls.edits[m.tolls.n] = t, edits
	m.tolls.n++
}

// addRuleToll adds the limit of a rule. It reports false if there are too many.
func (m *hit) addRuleToll(l rules.OutcomeLimit) bool {
	limiter, _ := l.State.(*ratelimit.Limiter)
	switch {
	case limiter == nil: // the limit is off
		return true
	case m.tolls.n >= maxTolls-1: // one is for forwarded requests
		return false
	case l.ByClient:
		m.addToll(access.OfRule(limiter), l.Edits)
	default:
		m.addToll(access.OfText(limiter, l.Key(&m.rules)), l.Edits)
	}
	return true
}

// admit counts a request against the limits of its site, of its rules and of its class. It reports
// false if the pipeline has to decide, and has counted nothing then. A request over a limit gets
// its refusal.
func (p *Path) admit(m *hit, q *request.Request, class routes.Class) bool {
	if of := &m.site.Forwarded; class == routes.ClassForwarded && of.Own != nil {
		m.addToll(access.OfSite(class, of.Own, of.Window), m.edits)
	}
	c, over, ok := p.Admission.AdmitFast(m.client, m.now, m.tolls.all[:m.tolls.n], class)
	if !ok {
		return false
	}
	if over >= 0 {
		m.refuse(p, q, c, over)
		return true
	}
	m.count = c
	return true
}

// refuse makes the response to a request over a limit, as the pipeline does: to the edits of rules
// behind the limit it never comes.
func (m *hit) refuse(p *Path, q *request.Request, c access.Count, over int) {
	route, problem := m.target.route, access.TooMany(c.Decision)
	if over < m.tolls.n {
		t := &m.tolls.all[over]
		if m.edits = m.tolls.edits[over]; t.Class() == routes.ClassNone {
			route = routes.Unknown // which is found later
		}
		if t.IsRule() {
			problem, c = respond.RuledProblem(rules.Over(c.Decision.RetryAfter)), access.Count{}
		}
	}
	f := respond.Refusal{Problem: problem, Icons: m.site.Icons, Page: route == routes.Page, Count: &c,
		Date: p.dates.Of(m.now), Node: p.Node}
	if f.Page {
		f.Accept = strings.Join(linesOf(q, "Accept", nil), ", ")
	}
	r := exchange.Response{Lines: m.lines[:0]}
	body := f.Fill(&r)
	m.becomes(p, q, reply{route, exchange.Limited, problem.Status, body, false}, &r)
}
