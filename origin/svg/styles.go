package svg

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxCopied is the number of bytes by which a style sheet may grow when its declarations are copied
// to each element that they apply to.
const maxCopied = 1 << 18

// maxSheet is the number of bytes of a written style sheet. Each selector of a rule is written with
// all declarations of the rule, so a short list of selectors could become a sheet of gigabytes.
const maxSheet = 2 << 20

// A resolver replaces the style sheets of an SVG by attributes. Rules that can't be written so,
// because a medium or the user decides when they apply, stay in one style sheet, whose selectors
// are classes of this SVG alone.
//
// It works as inlineStyles of SVGO and the style resolution of usvg do, but evaluates every rule
// with the whole cascade (CSS Cascade 4, section 6).
type resolver struct {
	p        *parser
	match    matcher
	always   []leftRule                   // rules that always apply
	left     []leftRule                   // rules that stay
	touching map[int32][]int              // by node, the rules of left that may match it
	kept     map[keptDecl]int             // by declaration, the rule of left that holds it
	classes  map[[sha256.Size]byte]string // by the nodes that have the class
	classOf  map[int32][]string
	frames   []item // keyframes
	order    int
	layers   layer // of the style sheets; the outermost one has the rules without a layer
	animated bool  // an animation may override declarations that are not important
	whole    bool  // every rule stays
}

// A leftRule is a rule with the nodes that it matches.
type leftRule struct {
	precedence
	at       []string // preludes of at-rules around it
	selector written  // empty: the nodes are all that counts
	nodes    []int32
	decls    []decl
	within   *layer
}

// A layer is a cascade layer (CSS Cascade 5, section 6.4), with those in it in their order.
type layer struct {
	name   string
	layers []*layer
	rank   int
}

// layer returns a layer in l, which is new if it has no name.
func (l *layer) layer(name string) *layer {
	for _, in := range l.layers {
		if in.name == name && name != "" {
			return in
		}
	}
	l.layers = append(l.layers, &layer{name: name})
	return l.layers[len(l.layers)-1]
}

// number gives l and the layers in it their ranks. Rules of a layer itself win over those of the
// layers in it.
func (l *layer) number(next int) (rank int) {
	for _, in := range l.layers {
		next = in.number(next) + 1
	}
	l.rank = next
	return next
}

// A written selector has states, and classes for everything else that it says of an element.
type written struct {
	text   string
	weight int    // number of classes and states
	last   string // the class of the last compound
}

// keptDecl identifies a declaration of a rule with the specificity that it has for an element.
type keptDecl struct {
	*decl
	specificity int
}

// A precedence orders declarations (CSS Cascade 5, section 6.1).
type precedence struct {
	important                 bool
	layer, specificity, order int
}

func (a precedence) compare(b precedence) int {
	if a.important != b.important {
		if a.important {
			return 1
		}
		return -1
	}
	layers := cmp.Compare(a.layer, b.layer)
	switch {
	case a.specificity == inlineSpecificity || b.specificity == inlineSpecificity:
		layers = 0 // a style attribute has none
	case a.important: // no later layer overrides an earlier one
		layers = -layers
	}
	return cmp.Or(layers, cmp.Compare(a.specificity, b.specificity), cmp.Compare(a.order, b.order))
}

// of returns the precedence of a declaration of the rule.
func (l *leftRule) of(d *decl) precedence {
	p := l.precedence
	p.important = d.important
	return p
}

// someRule is the note on a rule that is left out.
const someRule = "a rule of its style sheet"

func tooManyRules() error {
	return unclean("its style sheet has too many rules for its number of elements")
}

// resolveStyles replaces the style sheets of a document by attributes, and its classes by those
// that the remaining rules need. It returns the remaining sheet, or nil.
func (p *parser) resolveStyles(root int32) (*sheet, error) {
	r := &resolver{p: p, match: newMatcher(p, root), touching: map[int32][]int{}, kept: map[keptDecl]int{},
		classes: map[[sha256.Size]byte]string{}, classOf: map[int32][]string{}, animated: p.animated}
	for _, i := range p.sheets {
		n := &p.nodes[i]
		if err := r.sheet(n); err != nil {
			return nil, err
		}
		n.sheet, n.first, n.last = nil, none, none
	}
	p.sheets = p.sheets[:0]
	r.layers.number(0)
	for _, list := range [][]leftRule{r.always, r.left} {
		for k := range list {
			list[k].layer = list[k].within.rank
		}
	}
	if r.whole || r.copied() > maxCopied {
		r.left = append(r.left, r.always...)
	} else {
		r.resolveAll()
	}
	return r.rest()
}

// resolveAll makes attributes of the rules that always apply.
func (r *resolver) resolveAll() {
	for k := range r.left {
		for _, i := range r.left[k].nodes {
			r.touching[i] = append(r.touching[i], k)
		}
	}
	applied := map[int32][]*leftRule{}
	for k := range r.always {
		for _, i := range r.always[k].nodes {
			applied[i] = append(applied[i], &r.always[k])
		}
	}
	for i := range r.p.nodes {
		if rules := applied[int32(i)]; rules != nil {
			r.resolve(int32(i), rules)
		}
	}
}

// sheet reads the rules of one style element.
func (r *resolver) sheet(n *node) error {
	if n.sheet == nil {
		return nil
	}
	var at []string
	if a := n.attr(attrMedia); a != nil && !isEveryMedium(string(a.value)) {
		prelude := tokens(append([]byte("@media "), a.value...))
		text, ok := serialise(trim(prelude))
		ends := slices.ContainsFunc(prelude, func(t token) bool { return t.is("{") || t.is("}") || t.is(";") })
		if !ok || ends || !harmlessPrelude(prelude[1:], false) {
			r.p.note("a style sheet for a medium")
			return nil
		}
		at = []string{text}
	}
	return r.items(n.sheet.items, at, &r.layers)
}

func isEveryMedium(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return s == "" || s == "all"
}

func (r *resolver) items(items []item, at []string, within *layer) error {
	for i := range items {
		it := &items[i]
		r.order++
		switch {
		case it.at == "":
			if err := r.rule(&it.rule, at, within); err != nil {
				return err
			}
		case it.at == atLayer:
			in := within
			for _, name := range it.layers {
				in = within
				for _, part := range name {
					in = in.layer(part)
				}
			}
			if in == within { // it has no name
				in = in.layer("")
			}
			if err := r.items(it.items, at, in); err != nil {
				return err
			}
		case frameName(tokens([]byte(it.at))) != nil:
			r.frames = append(r.frames, *it)
			r.animated = true
		case it.at == "@media all":
			if err := r.items(it.items, at, within); err != nil {
				return err
			}
		default:
			if err := r.items(it.items, append(at[:len(at):len(at)], it.at), within); err != nil {
				return err
			}
		}
	}
	return nil
}

// rule finds the elements that a rule matches.
func (r *resolver) rule(one *rule, at []string, within *layer) error {
	selectors, ok := parseSelectors(tokens([]byte(one.selector)), 0)
	if !ok {
		r.p.note(someRule)
		return nil
	}
	r.whole = r.whole || slices.ContainsFunc(one.decls, func(d decl) bool { return d.name == "all" })
	for i := range selectors {
		s := &selectors[i]
		found, ok := r.match.find(s)
		if !ok {
			return tooManyRules()
		}
		l := leftRule{precedence: precedence{specificity: s.specificity(), order: r.order}, at: at,
			nodes: r.list(found.last()), decls: one.decls, within: within}
		if s.dynamic() && len(l.nodes) > 0 {
			if l.selector, ok = r.write(s, found); !ok {
				return tooManyRules()
			}
		}
		switch {
		case len(l.nodes) == 0:
		case len(at) == 0 && l.selector.text == "":
			r.always = append(r.always, l)
		case within == &r.layers:
			r.left = append(r.left, l)
		default: // among those of layers, important declarations have another order
			for _, important := range [2]bool{false, true} {
				l.important = important
				l.decls = slices.DeleteFunc(slices.Clone(one.decls), func(d decl) bool { return d.important != important })
				if len(l.decls) > 0 {
					r.left = append(r.left, l)
				}
			}
		}
	}
	return nil
}

// list returns the elements of a set that have styles.
func (r *resolver) list(set []bool) (nodes []int32) {
	for i, in := range set {
		if in && r.p.nodes[i].styled() {
			nodes = append(nodes, int32(i))
		}
	}
	return nodes
}

// styled reports whether declarations may become attributes of an element. Animations have other
// attributes with the names of properties.
func (n *node) styled() bool {
	switch n.elem.role {
	case roleAnimation, roleWords, roleStyle:
		return false
	}
	return true
}

// copied returns the bytes that the declarations have as attributes of all elements.
func (r *resolver) copied() (bytes int) {
	for k := range r.always {
		for _, d := range r.always[k].decls {
			bytes += len(r.always[k].nodes) * (len(d.name) + len(d.value) + 4)
		}
	}
	return bytes
}

// A weighed declaration knows its place in the cascade.
type weighed struct {
	*decl
	at     precedence
	inline bool // of a style attribute
}

// inlineSpecificity is more than that of any selector.
const inlineSpecificity = 1 << 60

// resolve gives one element the declarations of the rules that apply to it.
func (r *resolver) resolve(i int32, rules []*leftRule) {
	n := &r.p.nodes[i]
	var list []weighed
	touched := map[string]bool{} // families
	for _, l := range rules {
		for k := range l.decls {
			d := &l.decls[k]
			if isInvalid(d.name, d.value) {
				continue
			}
			list = append(list, weighed{d, l.of(d), false})
			touched[family(d.name)] = true
		}
	}
	var style []decl
	if a := n.attr(attrStyle); a != nil {
		for k := range a.decls {
			d := &a.decls[k]
			list = append(list, weighed{d, precedence{important: d.important, specificity: inlineSpecificity, order: k}, true})
			if !touched[family(d.name)] {
				style = append(style, *d)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b weighed) int { return a.at.compare(b.at) })
	chains := map[string][]weighed{}
	for _, w := range list {
		if f := family(w.name); touched[f] {
			chains[f] = append(chains[f], w)
		}
	}
	beside := r.beside(i)
	for _, f := range slices.Sorted(maps.Keys(chains)) {
		style = append(style, r.settle(i, chains[f], beside[f])...)
	}
	if len(style) == 0 {
		n.remove(attrStyle)
	} else {
		n.set(attr{info: attrStyle, decls: style})
	}
}

// beside returns, for each family of properties that rules that stay set on an element, the least
// precedence of such a declaration; nil if there are none.
func (r *resolver) beside(i int32) map[string]*precedence {
	if r.touching[i] == nil {
		return nil
	}
	least := map[string]*precedence{}
	for _, k := range r.touching[i] {
		l := &r.left[k]
		for i := range l.decls {
			p := l.of(&l.decls[i])
			if f := family(l.decls[i].name); least[f] == nil || p.compare(*least[f]) < 0 {
				least[f] = &p
			}
		}
	}
	return least
}

// settle decides about the declarations of one family of properties on one element, in the order of
// the cascade. It sets attributes, and returns the declarations for the style attribute. If rules
// that stay set the same properties, the declarations must lose against all of them (least is the
// one with the least precedence), as attributes do; otherwise they stay too.
func (r *resolver) settle(i int32, chain []weighed, least *precedence) (style []decl) {
	if least != nil && !writable(chain, *least) {
		for _, w := range chain {
			if w.inline {
				style = append(style, *w.decl)
			} else {
				r.keep(i, w)
			}
		}
		return style
	}
	winners := reduce(chain)
	times, shorthand := map[string]int{}, false
	for _, w := range winners {
		times[unprefixed(w.name)]++
		shorthand = shorthand || isShorthand(w.name)
	}
	for _, w := range winners {
		// Another declaration sets the same property, so that their order counts.
		entangled := times[unprefixed(w.name)] > 1 || shorthand && len(winners) > 1
		if w.inline || entangled || w.important && r.animated || !isCertain(w.name, w.value) {
			d := *w.decl
			d.important = d.important && (w.inline || entangled || r.animated)
			style = append(style, d)
			continue
		}
		r.p.nodes[i].set(attr{info: attributes[w.name], value: w.value})
	}
	return style
}

// reduce leaves out the declarations that a later one overrides for certain.
func reduce(chain []weighed) (left []weighed) {
	covered := map[string]bool{}
	for _, w := range slices.Backward(chain) {
		if !covered[w.name] {
			left = append(left, w)
			covered[w.name] = isCertain(w.name, w.value)
		}
	}
	slices.Reverse(left)
	return left
}

// writable reports whether the declarations of a chain can become attributes beside rules with at
// least that precedence.
func writable(chain []weighed, least precedence) bool {
	return !slices.ContainsFunc(chain, func(w weighed) bool {
		return w.inline || w.important || w.at.compare(least) > 0 || !isCertain(w.name, w.value)
	})
}

// keep makes a rule of one declaration for one element.
func (r *resolver) keep(i int32, w weighed) {
	key := keptDecl{w.decl, w.at.specificity}
	k, known := r.kept[key]
	if !known {
		k = len(r.left)
		r.kept[key] = k
		r.left = append(r.left, leftRule{precedence: w.at, decls: []decl{*w.decl}})
		r.left[k].important = w.important && w.at.layer != r.layers.rank
	}
	r.left[k].nodes = append(r.left[k].nodes, i)
}

// set replaces an attribute, or adds it.
func (n *node) set(a attr) {
	for k := range n.attrs {
		if n.attrs[k].info == a.info {
			n.attrs[k] = a
			return
		}
	}
	n.attrs = append(n.attrs, a)
}

// remove removes an attribute.
func (n *node) remove(info *attribute) {
	if info != nil {
		n.attrs = slices.DeleteFunc(n.attrs, func(a attr) bool { return a.info == info })
	}
}

// shorthands are properties that set several others, whose names begin with theirs.
var shorthands = []string{"font", "marker", "animation", "transition", "mask", "text-decoration", "overflow", "background", "offset"}

func isShorthand(name string) bool { return slices.Contains(shorthands, unprefixed(name)) }

// family returns a name that a property shares with those that it may set or be set by.
func family(name string) string {
	if strings.HasPrefix(name, "--") {
		return name
	}
	name = unprefixed(name)
	for _, s := range shorthands {
		if strings.HasPrefix(name, s+"-") {
			return s
		}
	}
	return name
}

func unprefixed(name string) string {
	for _, p := range [...]string{"-webkit-", "-moz-"} {
		name = strings.TrimPrefix(name, p)
	}
	return name
}

// rest writes the rules that stay as a sheet, in the order of the cascade. Each selector gets as
// many classes as keep that order.
func (r *resolver) rest() (*sheet, error) {
	slices.SortStableFunc(r.left, func(a, b leftRule) int { return a.compare(b.precedence) })
	out := &sheet{items: r.usedFrames()}
	heaviest, size := 0, 0
	for k := range r.left {
		l := &r.left[k]
		w := l.selector
		if w.text == "" {
			name := r.class(l.nodes)
			w = written{"." + name, 1, name}
		}
		heaviest = max(heaviest, w.weight)
		w.text += strings.Repeat("."+w.last, heaviest-w.weight)
		if size += len(w.text) + lengthOf(l.decls); size > maxSheet {
			return nil, unclean("its style sheet is too long: each selector gets all declarations of its rule")
		}
		selector, parts, ok := readSelectors(tokens([]byte(w.text)))
		if !ok {
			return nil, unclean("its style sheet has a selector that can't be written")
		}
		out.add(l.at, item{rule: rule{selector: selector, parts: parts, decls: l.decls}})
	}
	for i := range r.p.nodes {
		r.p.nodes[i].remove(attrClass)
	}
	for i, names := range r.classOf {
		if len(names)*len("i00000000_aaaa ") > maxClass {
			return nil, tooManyRules()
		}
		r.p.nodes[i].set(attr{info: attrClass, value: []byte(strings.Join(names, " "))})
	}
	if len(out.items) == 0 {
		return nil, nil
	}
	return out, nil
}

// add adds a rule within at-rules with these preludes.
func (s *sheet) add(at []string, one item) {
	to := &s.items
	for _, prelude := range at {
		if n := len(*to); n == 0 || (*to)[n-1].at != prelude {
			*to = append(*to, item{at: prelude})
		}
		to = &(*to)[len(*to)-1].items
	}
	*to = append(*to, one)
}

// class returns the class that these nodes have, and no others.
func (r *resolver) class(nodes []int32) string {
	h := sha256.New()
	for _, i := range nodes {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(i)))
	}
	key := [sha256.Size]byte(h.Sum(nil))
	name := r.classes[key]
	if name == "" {
		name = "c" + strconv.Itoa(len(r.classes))
		r.classes[key] = name
		for _, i := range nodes {
			r.classOf[i] = append(r.classOf[i], name)
		}
	}
	return name
}

// write writes a selector with states. found has its matches.
func (r *resolver) write(s *complexSelector, found match) (w written, ok bool) {
	var b strings.Builder
	for i := range s.compounds {
		if i > 0 {
			b.WriteByte(s.combinators[i-1])
		}
		w.last = r.class(r.list(found[i]))
		b.WriteString("." + w.last)
		w.weight++
		for _, state := range s.compounds[i].states {
			b.WriteString(":" + state)
			w.weight++
		}
		for _, c := range s.compounds[i].conds {
			if !c.dynamic() {
				continue
			}
			inside, weight, ok := r.writeList(c.list)
			if !ok {
				return w, false
			}
			if inside == "" { // only :not() holds where nothing matches
				continue
			}
			b.WriteString(map[conditionKind]string{isNone: ":not(", isAny: ":is(", isWhere: ":where("}[c.kind] + inside + ")")
			if c.kind != isWhere {
				w.weight += weight
			}
		}
	}
	w.text = b.String()
	return w, true
}

// writeList writes the selectors in the brackets of a pseudo-class. Selectors that match nothing
// are left out. weight is that of the heaviest.
func (r *resolver) writeList(list []complexSelector) (text string, weight int, ok bool) {
	var texts []string
	for i := range list {
		found, ok := r.match.find(&list[i])
		if !ok {
			return "", 0, false
		}
		if len(r.list(found.last())) == 0 {
			continue
		}
		w, ok := r.write(&list[i], found)
		if !ok {
			return "", 0, false
		}
		texts, weight = append(texts, w.text), max(weight, w.weight)
	}
	return strings.Join(texts, ","), weight, true
}

// usedFrames returns the keyframes whose names a declaration has.
func (r *resolver) usedFrames() (frames []item) {
	used := map[string]bool{}
	see := func(decls []decl) {
		for _, d := range decls {
			if family(d.name) == "animation" || strings.HasPrefix(d.name, "--") {
				for _, t := range tokens(d.value) {
					used[t.text] = true
				}
			}
		}
	}
	for k := range r.left {
		see(r.left[k].decls)
	}
	for i := range r.p.nodes {
		if a := r.p.nodes[i].attr(attrStyle); a != nil {
			see(a.decls)
		}
	}
	for _, f := range r.frames {
		if used[frameName(tokens([]byte(f.at))).text] {
			frames = append(frames, f)
		}
	}
	return frames
}
