package main

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// labelSet is a set of label names that the context of an expression needs in its result.
type labelSet map[string]bool

// with returns s with additional names.
func (s labelSet) with(names ...string) labelSet {
	all := maps.Clone(s)
	for _, n := range names {
		all[n] = true
	}
	return all
}

// without returns s without a name.
func (s labelSet) without(name string) labelSet {
	all := maps.Clone(s)
	delete(all, name)
	return all
}

// A reading collects the uses of one expression.
type reading struct {
	uses   map[string]labelSet // by metric
	chosen []choice
	lost   labelSet
}

func look(q question) answer {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.Expr)
	if err != nil {
		return answer{Error: err.Error()}
	}
	r := reading{uses: map[string]labelSet{}, lost: labelSet{}}
	r.walk(expr, labelSet{}.with(q.Labels...))
	a := answer{Uses: map[string][]string{}, Chosen: r.chosen, Lost: slices.Sorted(maps.Keys(r.lost))}
	for metric, names := range r.uses {
		a.Uses[metric] = slices.Sorted(maps.Keys(names))
	}
	return a
}

// walk descends to the selectors of e. The set wanted has the labels that e must have.
func (r *reading) walk(e parser.Expr, wanted labelSet) {
	switch e := e.(type) {
	case *parser.VectorSelector:
		r.selects(e, wanted)
	case *parser.MatrixSelector:
		r.walk(e.VectorSelector, wanted)
	case *parser.AggregateExpr:
		r.aggregate(e, wanted)
	case *parser.BinaryExpr:
		r.binary(e, wanted)
	case *parser.Call:
		r.call(e, wanted)
	case *parser.ParenExpr:
		r.walk(e.Expr, wanted)
	case *parser.UnaryExpr:
		r.walk(e.Expr, wanted)
	case *parser.SubqueryExpr:
		r.walk(e.Expr, wanted)
	case *parser.StepInvariantExpr:
		r.walk(e.Expr, wanted)
	}
}

// selects records a selector: its metric needs the labels of its matchers and the wanted ones.
func (r *reading) selects(e *parser.VectorSelector, wanted labelSet) {
	name, has := e.Name, wanted
	for _, m := range e.LabelMatchers {
		if m.Name == labels.MetricName {
			name = m.Value
		} else {
			has = has.with(m.Name)
		}
	}
	for _, m := range e.LabelMatchers {
		for _, value := range values(m) {
			r.chosen = append(r.chosen, choice{name, m.Name, value})
		}
	}
	if before := r.uses[name]; before != nil {
		has = has.with(slices.Collect(maps.Keys(before))...)
	}
	r.uses[name] = has
}

// values returns the literal values of a matcher: one, or the alternatives of a pattern that
// consists of literals.
func values(m *labels.Matcher) []string {
	switch {
	case m.Name == labels.MetricName:
		return nil
	case m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual:
		return []string{m.Value}
	default:
		return m.SetMatches()
	}
}

// aggregate: a sum `by` labels has only those; topk and similar functions keep all labels.
func (r *reading) aggregate(e *parser.AggregateExpr, wanted labelSet) {
	chooses := e.Op == parser.TOPK || e.Op == parser.BOTTOMK || e.Op == parser.LIMITK || e.Op == parser.LIMIT_RATIO
	if made, ok := e.Param.(*parser.StringLiteral); ok && e.Op == parser.COUNT_VALUES {
		wanted = wanted.without(made.Val)
	}
	for label := range wanted {
		if !chooses && slices.Contains(e.Grouping, label) == e.Without {
			r.lost[label] = true
			wanted = wanted.without(label)
		}
	}
	r.walk(e.Expr, wanted.with(e.Grouping...))
}

// binary: both sides need the labels that they are matched on, and the one side those of
// group_left. The result has the labels of the other, the many side. With `or` both sides reach the
// result.
func (r *reading) binary(e *parser.BinaryExpr, wanted labelSet) {
	m := e.VectorMatching
	if m == nil { // one side is a number
		r.walk(e.LHS, wanted)
		r.walk(e.RHS, wanted)
		return
	}
	both := labelSet{}.with(m.MatchingLabels...)
	many, one := e.LHS, e.RHS
	if m.Card == parser.CardOneToMany {
		many, one = one, many
	}
	ofMany := wanted
	for _, brought := range m.Include {
		ofMany = ofMany.without(brought)
	}
	r.walk(many, ofMany.with(m.MatchingLabels...))
	if e.Op == parser.LOR {
		both = both.with(slices.Collect(maps.Keys(wanted))...)
	}
	r.walk(one, both.with(m.Include...))
}

// call: some functions add labels, some need one.
func (r *reading) call(e *parser.Call, wanted labelSet) {
	text := func(i int) string {
		if s, ok := e.Args[i].(*parser.StringLiteral); ok {
			return s.Val
		}
		return ""
	}
	switch e.Func.Name {
	case "scalar", "vector":
		wanted = labelSet{}
	case "histogram_quantile":
		wanted = wanted.with("le")
	case "label_replace":
		wanted = wanted.without(text(1)).with(text(3))
	case "label_join":
		wanted = wanted.without(text(1))
		for i := 3; i < len(e.Args); i++ {
			wanted = wanted.with(text(i))
		}
	}
	for _, arg := range e.Args {
		r.walk(arg, wanted)
	}
}
