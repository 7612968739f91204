package react

import (
	"regexp"
	"strings"
)

// A writer writes the elements of one SVG. Every id, and every class that a style sheet of the SVG
// names, gets a letter in the order in which the writer first meets it, as a definition or a
// reference.
type writer struct {
	letters map[string]string // by "#id" and ".class"
	classes map[string]bool   // those in style sheets
}

// letter returns the letter of an id ("#x") or class (".x"): a, b, … z, aa, ab, …
func (w *writer) letter(key string) string {
	if l, known := w.letters[key]; known {
		return l
	}
	l := ""
	for n := len(w.letters) + 1; n > 0; n = (n - 1) / 26 {
		l = string(rune('a'+(n-1)%26)) + l
	}
	w.letters[key] = l
	return l
}

// rootProps returns the attributes of the outermost svg without size and namespaces. They always
// include a viewBox.
func (w *writer) rootProps(root *node) ([]Prop, error) {
	kept := &node{name: root.name}
	size := map[string]string{}
	boxed := false
	for _, a := range root.attrs {
		switch {
		case a.name == "width", a.name == "height":
			size[a.name] = strings.TrimSuffix(a.value, "px")
		case rules.RootOmits[a.name]:
		case a.name == "viewBox" && !isBox(a.value):
			return nil, refused("its viewBox is not four numbers")
		default:
			boxed = boxed || a.name == "viewBox"
			kept.attrs = append(kept.attrs, a)
		}
	}
	if box := "0 0 " + size["width"] + " " + size["height"]; !boxed && isBox(box) {
		kept.attrs = append([]attr{{"viewBox", box}}, kept.attrs...)
	} else if !boxed {
		return nil, refused("it has no viewBox")
	}
	return w.props(kept)
}

var boxNumbers = regexp.MustCompile(`^\s*-?[\d.]+(?:e-?\d+)?(?:[\s,]+-?[\d.]+(?:e-?\d+)?){3}\s*$`)

func isBox(s string) bool { return boxNumbers.MatchString(s) }

// element writes one element, or the text of an element that shows text. It puts nothing between
// elements, because JSX would render that as text.
func (w *writer) element(n *node, inText bool) (string, error) {
	if n.name == "" {
		if !inText {
			return "", nil
		}
		return "{" + quote(n.text) + "}", nil
	}
	props, err := w.props(n)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("<" + n.name)
	for _, p := range props {
		b.WriteString(" " + p.Name + "=" + p.Source)
	}
	inside, err := w.inside(n)
	if err != nil {
		return "", err
	}
	if inside == "" {
		return b.String() + " />", nil
	}
	return b.String() + ">" + inside + "</" + n.name + ">", nil
}

func (w *writer) inside(n *node) (string, error) {
	if n.name == "style" {
		return w.sheet(n)
	}
	var b strings.Builder
	for _, c := range n.children {
		s, err := w.element(c, rules.Texts[n.name])
		if err != nil {
			return "", err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// props returns the attributes of an element in order, then its style.
func (w *writer) props(n *node) (props []Prop, err error) {
	var style declarations
	for _, a := range n.attrs {
		if rules.Styled[a.name] {
			style.setWeak(a.name, a.value)
			continue
		}
		if a.name == "style" {
			if err := style.read(a.value); err != nil {
				return nil, err
			}
			continue
		}
		if name, source := w.prop(n.name, a); name != "" {
			props = append(props, Prop{name, source})
		}
	}
	if source := w.style(style); source != "" {
		props = append(props, Prop{"style", source})
	}
	return props, nil
}

var dataName = regexp.MustCompile(`^data-[a-z][a-z0-9-]*$`)

// prop writes one attribute. It omits an attribute that React has no name for, or whose value
// React's types do not allow; browsers ignore those too.
func (w *writer) prop(element string, a attr) (name, source string) {
	name = rules.Attributes[a.name]
	value := strings.TrimSpace(a.value)
	switch {
	case a.name == "tabindex" && wholeNumber.MatchString(value):
		return "tabIndex", "{" + value + "}"
	case dataName.MatchString(a.name):
		return a.name, quoted(parts{text(a.value)})
	case name == "", element == "style" && (a.name == "type" || a.name == "media"), !allowed(rules.Keywords[a.name], value):
		return "", ""
	case rules.Keywords[a.name] != nil:
		return name, quoted(parts{text(value)})
	}
	return name, quoted(w.value(a))
}

// wholeNumber matches the values of tabIndex.
var wholeNumber = regexp.MustCompile(`^(?:0|-?[1-9]\d{0,8})$`)

// allowed reports whether value is one of words. Nil words allow every value.
func allowed(words []string, value string) bool {
	for _, word := range words {
		if word == value {
			return true
		}
	}
	return words == nil
}
