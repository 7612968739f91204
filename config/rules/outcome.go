package rules

import "sync/atomic"

// An Outcome is the decision about all requests of a site that the same rules match. It never
// changes. A cache can answer such a request without Decide, because these rules neither answer it
// nor change its address.
type Outcome struct {
	Decision
	matched ruleSet
}

// maxRules is the number of rules of a site up to which it has outcomes.
const maxRules = 256

// A ruleSet is a set of at most maxRules rules.
type ruleSet [maxRules / 64]uint64

func (s *ruleSet) add(i int) { s[i/64] |= 1 << (i % 64) }

// hash spreads sets over the places of a table (Knuth, The Art of Computer Programming, volume 3,
// section 6.4).
func (s *ruleSet) hash() uint64 {
	h := uint64(0)
	for _, word := range s {
		h = (h ^ word) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}

// outcomes remember the decisions of recent sets of rules. A new one replaces that with the same
// place.
type outcomes [64]atomic.Pointer[Outcome]

// Outcome returns the decision about a request, if it depends only on which rules match; nil: it
// depends on more, so that Decide has to decide. A rule depends on more if it answers requests,
// counts them, checks passwords or signatures, or rewrites addresses.
func (s *Site) Outcome(q *Request) *Outcome {
	if len(s.rules) > maxRules {
		return nil
	}
	q.prepare(s.countries)
	var room [4]uint64
	var matched ruleSet
	for i := range s.candidates(q.path, &room).all() {
		r := s.rules[i]
		if !q.pay(ruleSteps) {
			return nil
		}
		_, ok := r.match.match(q, nil)
		switch {
		case q.left < 0, q.unsure, ok && r.dependsOnMore(q):
			return nil
		case ok:
			matched.add(i)
		}
		if ok && r.Stop {
			break
		}
	}
	at := &s.outcomes[matched.hash()%uint64(len(s.outcomes))]
	known := at.Load()
	if known == nil || known.matched != matched {
		known = s.newOutcome(matched)
		at.Store(known)
	}
	if known.chosen == "" {
		return nil // several origins share the requests
	}
	return known
}

// dependsOnMore reports whether the actions of a rule that matches depend on more than that.
func (r *rule) dependsOnMore(q *Request) bool {
	switch {
	case r.Rule.Rewrite != "", r.Redirect != nil, r.respond != nil, r.limit != nil, r.auth != nil, r.Signed != nil:
		return true
	}
	q.pay(len(r.deny) + len(r.allow))
	return r.deny != nil && r.deny.has(q.Client) || r.allow != nil && !r.allow.has(q.Client)
}

func (s *Site) newOutcome(matched ruleSet) *Outcome {
	o := &Outcome{Decision: s.whole, matched: matched}
	for i := range bitset(matched[:]).all() {
		s.rules[i].apply(&o.Decision, &Request{Unanswered: true}, nil)
	}
	if len(o.Origin.Weights) == 1 {
		o.Choose(&Request{})
	}
	return o
}
