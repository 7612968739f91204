package rules

import (
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/iconedge/iconedge/config"
)

// An Outcome is the decision of a site's rules about a request that depends on the matching rules
// alone: none of them waits, asks another server, or draws at random.
type Outcome struct {
	*Decision // valid as long as the request, which must not change it
	// Limits count the request, in this order, before anything else happens with it.
	Limits []OutcomeLimit
}

// An OutcomeLimit is a limit that counts a request. Only the first Edits of the ResponseEdits are
// of its rule or before it, so that they edit the refusal of the request.
type OutcomeLimit struct {
	*Limit
	Edits int
}

// An outcome is the decision about all requests of a site that the same rules match, besides the
// addresses that these make of captures. It never changes.
type outcome struct {
	Decision
	matched ruleSet
	limits  []OutcomeLimit
	// personal: the key has a field of the identity, which the client may have forged.
	personal bool
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
type outcomes [64]atomic.Pointer[outcome]

// Outcome returns the decision about a request without counting it against limits. It is not ok if
// Decide has to decide, because a rule refuses the client, checks a password or a signature, or
// because several origins share the requests at random.
func (s *Site) Outcome(q *Request) (o Outcome, ok bool) {
	if len(s.rules) > maxRules {
		return o, false
	}
	q.prepare(s)
	var room [4]uint64
	var matched ruleSet
	var made address
	more := false
	_, stopped := s.walk(q, s.candidates(q.path, &room), func(i int, r *rule, captures []string) (ends bool) {
		matched.add(i)
		ends, more = made.apply(r, q, captures)
		return ends
	})
	if stopped || more || q.left < 0 || q.unsure {
		return o, false
	}
	at := &s.outcomes[matched.hash()%uint64(len(s.outcomes))]
	known := at.Load()
	if known == nil || known.matched != matched {
		known = s.newOutcome(matched)
		at.Store(known)
	}
	if known.personal {
		return o, false
	}
	return known.of(q, &made)
}

// An address is the target or the redirect that rules make of the captures of a request.
type address struct {
	rewritten bool  // Request.filled is the target for the origin
	redirects *rule // Request.filled is where this rule redirects to; nil: none does
}

// apply applies the actions of a rule that depend on the request, and reports whether the rule ends
// the list. more means that Decide has to decide. Here a rule costs at least as many steps as
// there.
func (a *address) apply(r *rule, q *Request, captures []string) (ends, more bool) {
	if r.dynamic || slices.ContainsFunc(r.access, func(a access) bool { return a.refuses(q) }) {
		return true, true
	}
	if r.rewrite != nil {
		q.filled, a.rewritten = r.rewrite.append(q.filled[:0], captures, q.rawQuery), true
		q.Pay((hashSteps + len(captures)) * len(q.filled))
	}
	if r.limit != nil {
		q.Pay(hashSteps * len(r.limit.Key(q)))
	}
	if r.redirect != nil {
		q.filled, a.redirects = r.redirect.to.append(q.filled[:0], captures, q.rawQuery), r
		return true, false
	}
	return r.respond != nil || r.Stop, false
}

// of returns the outcome for a request.
func (known *outcome) of(q *Request, a *address) (o Outcome, ok bool) {
	o = Outcome{&known.Decision, known.limits}
	filled := unsafe.String(unsafe.SliceData(q.filled), len(q.filled))
	switch {
	case a.redirects != nil:
		o.Decision = q.ownOf(known)
		q.own.answer = Answer{Status: a.redirects.redirect.status, Name: "Location", Value: filled}
		o.Answer = &q.own.answer
	case known.Answer != nil:
	case known.chosen == "" && known.Origin.Sticky == "":
		return o, false
	case a.rewritten, known.chosen == "":
		if o.Decision = q.ownOf(known); a.rewritten {
			o.Target = filled
		}
	}
	return o, true
}

// ownOf returns a copy of a decision that the request may change.
func (q *Request) ownOf(known *outcome) *Decision {
	if q.own == nil {
		q.own = new(ownDecision)
	}
	q.own.Decision = known.Decision
	return &q.own.Decision
}

func (s *Site) newOutcome(matched ruleSet) *outcome {
	o := &outcome{Decision: s.whole, matched: matched}
	for i := range bitset(matched[:]).all() {
		r := s.rules[i]
		r.apply(&o.Decision, &Request{Unanswered: true}, nil)
		o.Answer = r.respond // such a rule is the last one
		if r.limit != nil {
			o.limits = append(o.limits, OutcomeLimit{r.limit, len(o.ResponseEdits)})
		}
	}
	if len(o.Origin.Weights) == 1 {
		o.Choose(&Request{})
	}
	o.personal = slices.ContainsFunc(o.Key.Headers, s.identity.has)
	return o
}

// Strip removes the cookies that the decision strips from the fields of a request, before its key
// is made. It returns the line of Cookie that stays, which is valid as long as q; empty: none.
func (d *Decision) Strip(q *Request) []byte {
	q.kept = d.appendKept(q.kept[:0], q.Lines("Cookie"))
	return q.kept
}

// StripsAny reports whether the decision strips cookies.
func (d *Decision) StripsAny() bool { return d.StripAll || d.StripCookies != nil }

// SetFields replaces the fields of the request, for its key.
func (q *Request) SetFields(f Fields) {
	q.Fields, q.cookiesRead, q.firstCookies, q.joined = f, false, nil, nil
}

// EditsRequest reports whether the decision edits a field for the origin.
func (d *Decision) EditsRequest(name string) bool {
	for _, e := range d.RequestEdits {
		if edits(e, name) {
			return true
		}
	}
	return false
}

func edits(e *config.Edits, name string) bool {
	for set := range e.Set {
		if strings.EqualFold(set, name) {
			return true
		}
	}
	for added := range e.Add {
		if strings.EqualFold(added, name) {
			return true
		}
	}
	return slices.ContainsFunc(e.Remove, func(removed string) bool { return strings.EqualFold(removed, name) })
}
