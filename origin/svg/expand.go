package svg

import "bytes"

// checkExpansion refuses drawings that are small as bytes and huge once they are drawn: uses of uses, patterns painted
// with patterns, masks in masks. References that lead back to themselves draw nothing in browsers, and are refused too.
func (p *parser) checkExpansion() error {
	if !p.named { // nothing that could be referred to
		return p.checkRules(len(p.nodes))
	}
	if err := p.checkRules(len(p.nodes)); err != nil {
		return err
	}
	e := expansion{p: p, size: make([]int32, len(p.nodes)), styled: p.sheetsRefer()}
	n, err := e.of(0, 0)
	if err == nil && n > maxDrawn {
		err = unclean("it draws more than %d elements once its references are followed", maxDrawn)
	}
	if err != nil {
		return err
	}
	return p.checkRules(int(n))
}

// checkRules refuses a style sheet that would take long to apply to so many elements.
func (p *parser) checkRules(elements int) error {
	var count func(items []item) int
	count = func(items []item) (n int) {
		for i := range items {
			n += len(items[i].parts) + count(items[i].items)
		}
		return n
	}
	selectors := 0
	for _, s := range p.sheets {
		selectors += count(p.nodes[s].sheet.items)
	}
	if selectors*elements > maxRules {
		return unclean("its style sheet has too many rules for so many elements")
	}
	return nil
}

// expansion counts the elements that each node draws, with what it refers to.
type expansion struct {
	p      *parser
	size   []int32 // per node: 0 not yet known, -1 being counted
	styled []*rule // rules that refer to something
}

func (e *expansion) of(i int32, depth int) (int32, error) {
	switch n := e.size[i]; {
	case n > 0:
		return n, nil
	case n < 0:
		return 0, unclean("it refers to itself")
	}
	if depth > 2*maxDepth {
		return 0, unclean("its references follow each other more than %d deep", 2*maxDepth)
	}
	e.size[i] = -1
	sum, first := int32(1), error(nil)
	count := func(child int32) {
		if first != nil || child == none {
			return
		}
		n, err := e.of(child, depth+1)
		first = err
		sum = min(sum+n, maxDrawn+1) // no overflow
	}
	n := &e.p.nodes[i]
	for c := n.first; c != none; c = e.p.nodes[c].next {
		count(c)
	}
	if n.elem != nil && n.elem.role != roleAnimation {
		e.p.eachReference(n, e.styled, func(ref []byte) { count(e.p.reference(ref)) })
	}
	e.size[i] = sum
	return sum, first
}

// eachReference calls f with every "#id" that an element refers to, by itself or by a rule that may match it.
func (p *parser) eachReference(n *node, styled []*rule, f func(ref []byte)) {
	for i := range n.attrs {
		switch a := &n.attrs[i]; a.info.check {
		case checkHref:
			f(a.value)
		case checkCSS, checkPaint:
			eachURL(a.value, f)
		case checkStyle:
			for _, d := range a.decls {
				eachURL(d.value, f)
			}
		}
	}
	for _, r := range styled {
		for j := range r.parts {
			if r.parts[j].matches(n) {
				for _, d := range r.decls {
					eachURL(d.value, f)
				}
				break
			}
		}
	}
}

// sheetsRefer lists the rules of style elements that refer to something.
func (p *parser) sheetsRefer() (rules []*rule) {
	var visit func(items []item)
	visit = func(items []item) {
		for i := range items {
			visit(items[i].items)
			for _, d := range items[i].decls {
				if bytes.Contains(d.value, []byte("url(")) {
					rules = append(rules, &items[i].rule)
					break
				}
			}
		}
	}
	for _, s := range p.sheets {
		visit(p.nodes[s].sheet.items)
	}
	return rules
}
