package react

import (
	"regexp"
	"strings"
)

// A style sheet in an inline SVG applies to the whole page. So a sheet is accepted only if every
// rule selects by class or id, and those are renamed in each instance.
var (
	cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssRule    = regexp.MustCompile(`^\s*([^{}@;]+)\{([^{}@<\\]*)\}`)
	selector   = regexp.MustCompile(`^(?:[A-Za-z0-9_.#*-]+(?: ?[>+~] ?| ))*[A-Za-z0-9*-]*[.#][A-Za-z_-][A-Za-z0-9_.#-]*$`)
	ownName    = regexp.MustCompile(`[.#][A-Za-z_-][A-Za-z0-9_-]*`)
	blanks     = regexp.MustCompile(`\s+`)
)

type rule struct {
	selectors []string
	body      string
}

// appliesAlways has the attributes of a style element that restrict its rules, each with the value
// that does not.
var appliesAlways = map[string]string{"type": "text/css", "media": "all"}

// readSheet reads the rules in a style element.
func readSheet(n *node) (list []rule, err error) {
	for _, a := range n.attrs {
		if applies, known := appliesAlways[a.name]; known && a.value != "" && a.value != applies {
			return nil, refused("it has a style sheet that would apply to the whole page")
		}
	}
	css := ""
	for _, c := range n.children {
		css += c.text
	}
	css = cssComment.ReplaceAllString(css, "")
	if err := checkValue(css); err != nil {
		return nil, err
	}
	for strings.TrimSpace(css) != "" {
		m := cssRule.FindStringSubmatch(css)
		if m == nil {
			return nil, refused("it has a style sheet that would apply to the whole page")
		}
		css = css[len(m[0]):]
		r := rule{body: collapse(m[2])}
		for one := range strings.SplitSeq(m[1], ",") {
			if one = collapse(one); !selector.MatchString(one) {
				return nil, refused("it has a style sheet that would apply to the whole page")
			}
			r.selectors = append(r.selectors, one)
		}
		list = append(list, r)
	}
	return list, nil
}

func collapse(s string) string { return strings.TrimSpace(blanks.ReplaceAllString(s, " ")) }

// collectSheets records the classes that the style sheets of the SVG name.
func (w *writer) collectSheets(n *node) error {
	if n.name == "style" {
		list, err := readSheet(n)
		if err != nil {
			return err
		}
		for _, r := range list {
			for _, name := range ownName.FindAllString(strings.Join(r.selectors, " "), -1) {
				if name[0] == '.' {
					w.classes[name[1:]] = true
				}
			}
		}
	}
	for _, c := range n.children {
		if err := w.collectSheets(c); err != nil {
			return err
		}
	}
	return nil
}

// sheet writes a style sheet whose classes and ids are renamed in each instance.
func (w *writer) sheet(n *node) (string, error) {
	list, err := readSheet(n)
	if err != nil {
		return "", err
	}
	var p parts
	for _, r := range list {
		for i, one := range r.selectors {
			if i > 0 {
				p = append(p, text(","))
			}
			p = append(p, w.selector(one)...)
		}
		p = append(p, text("{"))
		p = append(append(p, w.urls(r.body)...), text("}"))
	}
	if p == nil {
		return "", nil
	}
	return "{" + expression(p) + "}", nil
}

func (w *writer) selector(s string) (p parts) {
	rest := 0
	for _, m := range ownName.FindAllStringIndex(s, -1) {
		p = append(p, text(s[rest:m[0]+1]), part{w.letter(s[m[0]:m[1]]), true})
		rest = m[1]
	}
	return append(p, text(s[rest:]))
}
