package svg

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// checkExpansion refuses drawings that are small as bytes and huge once they are drawn: uses of uses, patterns painted
// with patterns, masks in masks. References that lead back to themselves draw nothing in browsers, and are refused too.
func (p *parser) checkExpansion() error {
	if !p.named { // nothing that could be referred to
		return p.checkRules(len(p.nodes))
	}
	if err := p.checkRules(len(p.nodes)); err != nil {
		return err
	}
	all, err := newExpansion(p).of(0, 0)
	if err == nil && all.elements > maxDrawn {
		err = unclean("it draws more than %d elements once its references are followed", maxDrawn)
	}
	if err != nil {
		return err
	}
	return p.checkRules(int(all.elements))
}

// checkRules refuses a style sheet that would take long to apply to so many elements.
func (p *parser) checkRules(elements int) error {
	selectors := 0
	for _, s := range p.sheets {
		eachRule(p.nodes[s].sheet.items, func(r *rule) { selectors += len(r.parts) })
	}
	if selectors*elements > maxRules {
		return unclean("its style sheet has too many rules for so many elements")
	}
	return nil
}

// A load is what it takes to draw a node with all that it refers to.
type load struct {
	elements int64
	points   int64 // bytes of outlines: there are no more vertices than that, and a marker may stand at each
}

// known reports whether a load is counted, or, which is an error, being counted.
func (l load) known() (bool, error) {
	if l.elements < 0 {
		return true, unclean("it refers to itself")
	}
	return l.elements > 0, nil
}

// maxPoints keeps the product of a load's numbers far from overflowing.
const maxPoints = 1 << 30

// add takes in what is drawn so many times more.
func (l *load) add(more load, times int64) {
	l.elements = min(l.elements+times*more.elements, maxDrawn+1)
	l.points = min(l.points+times*more.points, maxPoints)
}

// A referral is a reference of a node to another.
type referral struct {
	to   int32
	kind referralKind
}

type referralKind uint8

const (
	drawnOnce   referralKind = iota // for the node as a whole
	drawnByUse                      // the same, and it takes after the node instead of its ancestors
	drawnByEach                     // for each element in it, since it is inherited
	drawnByEdge                     // for each vertex of each
)

// expansion counts what each node draws, with what it refers to.
type expansion struct {
	p         *parser
	own       []load // per node, as it is drawn where it stands; no elements: not counted yet, -1: being counted
	referred  []load // per node, as it is drawn through a reference
	referrals [][]referral
	known     []bool  // per node, whether its referrals are
	styled    []*rule // rules that refer to something
	outlines  int64   // bytes of outlines that are set by CSS or an animation, and may come in the place of any
	inherits  bool    // something is inherited that is not by itself
}

// newExpansion looks at the drawing for what may stand far from where it counts.
func newExpansion(p *parser) *expansion {
	n := len(p.nodes)
	e := &expansion{p: p, own: make([]load, n), referred: make([]load, n), referrals: make([][]referral, n), known: make([]bool, n), styled: p.sheetsRefer()}
	eachDecl := func(decls []decl) {
		for _, d := range decls {
			e.inherits = e.inherits || inheritWord.Match(d.value)
			if d.name == "d" {
				e.outlines += int64(len(d.value))
			}
		}
	}
	for i := range p.nodes {
		for _, a := range p.nodes[i].attrs {
			eachDecl(a.decls)
			switch a.info.check {
			case checkCSS:
				e.inherits = e.inherits || inheritWord.Match(a.value)
			case checkAnimated:
				e.outlines += int64(len(a.value))
				e.inherits = e.inherits || inheritWord.Match(a.value)
			}
		}
	}
	for _, s := range p.sheets {
		eachRule(p.nodes[s].sheet.items, func(r *rule) { eachDecl(r.decls) })
	}
	return e
}

// inheritWord is the value that makes any property an inherited one.
var inheritWord = regexp.MustCompile(`(?i)inherit`)

// eachRule calls f with every rule, those in at-rules too.
func eachRule(items []item, f func(*rule)) {
	for i := range items {
		eachRule(items[i].items, f)
		f(&items[i].rule)
	}
}

// of is what a node draws where it stands.
func (e *expansion) of(i int32, depth int) (load, error) {
	if known, err := e.own[i].known(); known {
		return e.own[i], err
	}
	if depth > 2*maxDepth {
		return load{}, unclean("its references follow each other more than %d deep", 2*maxDepth)
	}
	e.own[i].elements = -1
	n := &e.p.nodes[i]
	l := load{elements: 1, points: e.outline(n)}
	for c := n.first; c != none; c = e.p.nodes[c].next {
		child, err := e.of(c, depth+1)
		if err != nil {
			return l, err
		}
		l.add(child, 1)
	}
	if err := e.follow(&l, i, none, depth); err != nil {
		return l, err
	}
	e.own[i] = l
	return l, nil
}

// outline is the length of what a shape's vertices are given by.
func (e *expansion) outline(n *node) int64 {
	if n.elem == nil || n.elem.role != roleShape && n.elem.role != roleLine {
		return 0
	}
	points := e.outlines + 4 // of a line
	for _, name := range [...]string{"d", "points"} {
		if a := n.attr(attributes[name]); a != nil {
			points += int64(len(a.value))
		}
	}
	return points
}

// through is what a node draws that is drawn through a reference: it takes after its ancestors where it stands.
func (e *expansion) through(i int32, depth int) (load, error) {
	if known, err := e.referred[i].known(); known {
		return e.referred[i], err
	}
	l, err := e.of(i, depth)
	if err != nil {
		return l, err
	}
	e.referred[i].elements = -1
	for up := e.p.nodes[i].parent; up != none; up = e.p.nodes[up].parent {
		if err := e.follow(&l, up, i, depth); err != nil {
			return l, err
		}
	}
	e.referred[i] = l
	return l, nil
}

// follow adds to a load what the referrals of a node draw: all of them, or, for an heir of the node, those that it hands on.
func (e *expansion) follow(l *load, i, heir int32, depth int) error {
	for _, r := range e.refersTo(i) {
		if heir != none && (r.to == heir || r.kind < drawnByEach) {
			continue
		}
		draw, times := e.through, int64(1)
		switch r.kind {
		case drawnByUse:
			draw = e.of
		case drawnByEach:
			times = l.elements
		case drawnByEdge:
			times = l.points
		}
		more, err := draw(r.to, depth+1)
		if err != nil {
			return err
		}
		l.add(more, times)
	}
	return nil
}

// refersTo lists the referrals of a node, those first that what is drawn for others is drawn with too.
func (e *expansion) refersTo(i int32) []referral {
	if e.known[i] {
		return e.referrals[i]
	}
	e.known[i] = true
	n := &e.p.nodes[i]
	if n.elem == nil || n.elem.role == roleAnimation {
		return nil
	}
	e.p.eachReference(n, e.styled, func(property string, ref []byte) {
		if to := e.p.reference(ref); to != none && e.p.nodes[to].elem != nil {
			e.referrals[i] = append(e.referrals[i], referral{to, e.kind(n, property, e.p.nodes[to].elem)})
		}
	})
	slices.SortStableFunc(e.referrals[i], func(a, b referral) int { return cmp.Compare(a.kind, b.kind) })
	return e.referrals[i]
}

// kind says how often what a property of a node ("": its href) refers to is drawn. A custom property may come to be any.
func (e *expansion) kind(n *node, property string, to *element) referralKind {
	custom := strings.HasPrefix(property, "--")
	switch {
	case property == "" && n.elem.role == roleUse:
		return drawnByUse
	case property == "", to.role == roleGradient:
		return drawnOnce
	case property == "marker-start", property == "marker-end":
		return drawnByEach
	case to.name == "marker":
		return drawnByEdge
	case custom, e.inherits, to.role == rolePattern:
		return drawnByEach
	}
	return drawnOnce
}

// eachReference calls f with every "#id" that an element refers to, by itself or by a rule that may match it, and the
// property that it does so with ("" for its href).
func (p *parser) eachReference(n *node, styled []*rule, f func(property string, ref []byte)) {
	inDecls := func(decls []decl) {
		for _, d := range decls {
			eachURL(d.value, func(ref []byte) { f(d.name, ref) })
		}
	}
	for i := range n.attrs {
		switch a := &n.attrs[i]; a.info.check {
		case checkHref:
			f("", a.value)
		case checkCSS, checkPaint:
			eachURL(a.value, func(ref []byte) { f(a.info.name, ref) })
		case checkStyle:
			inDecls(a.decls)
		}
	}
	for _, r := range styled {
		if slices.ContainsFunc(r.parts, func(s selector) bool { return s.matches(n) }) {
			inDecls(r.decls)
		}
	}
}

// sheetsRefer lists the rules of style elements that refer to something.
func (p *parser) sheetsRefer() (rules []*rule) {
	for _, s := range p.sheets {
		eachRule(p.nodes[s].sheet.items, func(r *rule) {
			if slices.ContainsFunc(r.decls, func(d decl) bool { return bytes.Contains(d.value, []byte("url(")) }) {
				rules = append(rules, r)
			}
		})
	}
	return rules
}
