package svg

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// checkExpansion refuses SVGs that are small in bytes but huge once rendered, through uses of uses,
// patterns painted with patterns, or masks in masks. It also refuses circular references, which
// browsers do not render.
func (p *parser) checkExpansion() error {
	if err := p.checkMatching(); err != nil {
		return err
	}
	if !p.named { // no element has an id, so nothing can be referred to
		return p.checkRules(len(p.nodes))
	}
	if err := p.checkRules(len(p.nodes)); err != nil {
		return err
	}
	all, err := newExpansion(p).inPlace(0, 0)
	if err == nil && all.elements > maxDrawn {
		err = unclean("it renders more than %d elements, counting the targets of its references", maxDrawn)
	}
	if err != nil {
		return err
	}
	return p.checkRules(int(all.elements))
}

// checkRules refuses a style sheet that would take a browser long to apply to so many elements.
func (p *parser) checkRules(elements int) error {
	selectors := 0
	for _, s := range p.sheets {
		eachRule(p.nodes[s].sheet.items, func(r *rule) { selectors += len(r.parts) })
	}
	if selectors*elements > maxRules {
		return tooManyRules()
	}
	return nil
}

// checkMatching refuses a style sheet that would take this package long to apply: the parts of its
// selectors are compared with all attributes of an element and all words of its class, and each
// match has the declarations of the rule, with their references.
func (p *parser) checkMatching() error {
	parts, words := 0, 0
	for _, s := range p.sheets {
		eachRule(p.nodes[s].sheet.items, func(r *rule) {
			effects := len(r.decls)
			for _, d := range r.decls {
				effects += bytes.Count(d.value, []byte("url("))
			}
			for _, one := range r.parts {
				parts += 1 + len(one.ids) + len(one.classes) + effects
			}
		})
	}
	if parts == 0 {
		return nil
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		words += 1 + len(n.attrs)
		if class := n.attr(attrClass); class != nil {
			words += len(bytes.Fields(class.value))
		}
	}
	if parts*words > maxTests {
		return tooManyRules()
	}
	return nil
}

// A renderCost measures the work of rendering a node with everything that it refers to.
type renderCost struct {
	elements int64
	points   int64 // bytes of path data, at least as many as vertices
}

// known reports whether a cost has been counted. It returns an error if the count is still under
// way, because then the node refers to itself.
func (l renderCost) known() (bool, error) {
	if l.elements < 0 {
		return true, unclean("it refers to itself")
	}
	return l.elements > 0, nil
}

// maxPoints keeps the product of the two numbers of a cost from overflowing.
const maxPoints = 1 << 30

// add adds the cost of rendering more so many times.
func (l *renderCost) add(more renderCost, times int64) {
	l.elements = min(l.elements+times*more.elements, maxDrawn+1)
	l.points = min(l.points+times*more.points, maxPoints)
}

// A referral is a reference from a node to another.
type referral struct {
	to   int32
	kind referralKind
}

type referralKind uint8

const (
	drawnOnce  referralKind = iota // once for the node as a whole
	drawnByUse                     // once, with the style of the use element
	// drawnByEach is once for each element in the node, because the property is inherited.
	drawnByEach
	drawnByEdge // once for each vertex of each element in the node
)

// expansion counts the cost of each node, including everything that it refers to.
type expansion struct {
	p         *parser
	own       []renderCost // per node, in place; elements 0: not counted yet, -1: being counted
	referred  []renderCost // per node, through a reference
	referrals [][]referral
	known     []bool // per node, whether referrals holds its referrals
	styled    []styledRule
	outlines  int64 // bytes of path data in CSS and animations, for any shape
	inherits  bool  // "inherit" makes another property inherited
}

// newExpansion collects the declarations that can change the cost of nodes elsewhere in the SVG.
func newExpansion(p *parser) *expansion {
	n := len(p.nodes)
	e := &expansion{p: p, own: make([]renderCost, n), referred: make([]renderCost, n),
		referrals: make([][]referral, n), known: make([]bool, n), styled: p.sheetsRefer()}
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

// inheritWord matches the value that makes any property inherited.
var inheritWord = regexp.MustCompile(`(?i)inherit`)

// eachRule calls f with every rule, including those within at-rules.
func eachRule(items []item, f func(*rule)) {
	for i := range items {
		eachRule(items[i].items, f)
		f(&items[i].rule)
	}
}

// inPlace returns the cost of rendering a node at its own place.
func (e *expansion) inPlace(i int32, depth int) (renderCost, error) {
	if known, err := e.own[i].known(); known {
		return e.own[i], err
	}
	if depth > 2*maxDepth {
		return renderCost{}, unclean("its chain of references is more than %d deep", 2*maxDepth)
	}
	e.own[i].elements = -1
	n := &e.p.nodes[i]
	l := renderCost{elements: 1, points: e.pathData(n)}
	for c := n.first; c != none; c = e.p.nodes[c].next {
		child, err := e.inPlace(c, depth+1)
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

// pathData returns the number of bytes that describe the vertices of a shape.
func (e *expansion) pathData(n *node) int64 {
	if n.elem == nil || n.elem.role != roleShape && n.elem.role != roleLine {
		return 0
	}
	points := e.outlines + 4 // the vertices of a line
	for _, name := range [...]string{"d", "points"} {
		if a := n.attr(attributes[name]); a != nil {
			points += int64(len(a.value))
		}
	}
	return points
}

// referenced returns the cost of rendering a node through a reference. The node inherits from its
// own ancestors, so the inherited referrals of those count too.
func (e *expansion) referenced(i int32, depth int) (renderCost, error) {
	if known, err := e.referred[i].known(); known {
		return e.referred[i], err
	}
	l, err := e.inPlace(i, depth)
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

// follow adds the cost of the referrals of node i to l. If heir is not none, only the referrals
// that heir inherits from node i count.
func (e *expansion) follow(l *renderCost, i, heir int32, depth int) error {
	for _, r := range e.refersTo(i) {
		if heir != none && (r.to == heir || r.kind < drawnByEach) {
			continue
		}
		draw, times := e.referenced, int64(1)
		switch r.kind {
		case drawnByUse:
			draw = e.inPlace
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

// refersTo lists the referrals of a node. Referrals that are rendered once come first, because the
// later kinds are multiplied by the elements and points that the earlier ones add.
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

// kind returns how often the target of a reference is rendered. property is "" for an href. A
// custom property may be used as any property, so it counts as the costliest one.
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

// eachReference calls f with every "#id" that an element refers to, by itself or through a rule
// that may match it, and with the property that holds the reference ("" for href).
func (p *parser) eachReference(n *node, styled []styledRule, f func(property string, ref []byte)) {
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
			for _, u := range r.urls {
				f(u.property, u.ref)
			}
		}
	}
}

// A styledRule is a rule of a style element that holds references. They are read once, and not for
// each element that matches.
type styledRule struct {
	*rule
	urls []styledURL
}

type styledURL struct {
	property string
	ref      []byte
}

// sheetsRefer lists the rules of style elements that hold a reference.
func (p *parser) sheetsRefer() (rules []styledRule) {
	for _, s := range p.sheets {
		eachRule(p.nodes[s].sheet.items, func(r *rule) {
			styled := styledRule{rule: r}
			for _, d := range r.decls {
				eachURL(d.value, func(ref []byte) { styled.urls = append(styled.urls, styledURL{d.name, ref}) })
			}
			if styled.urls != nil {
				rules = append(rules, styled)
			}
		})
	}
	return rules
}
