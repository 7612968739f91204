// Package react writes an SVG as a React component: one module that imports only from react,
// compiles as TSX, and renders alike and without warnings in React 18.3 and 19. Input passes a
// strict parser and an allow-list; an SVG that could run a script, or refer to something outside,
// is rejected.
//
// The rules, with cases, are in clients/go/react/testdata/react.json; the copy-in command of
// clients/react follows them too. The package knows nothing of MCP, packs or HTTP, and imports only
// the standard library.
package react

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ErrRefused means that an SVG cannot be written as a component. Errors that wrap it give the
// reason, and quote nothing of the SVG.
var ErrRefused = errors.New("the SVG cannot be a React component")

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// A Prop is an attribute in JSX. Its source is a quoted string, or an expression in braces.
type Prop struct{ Name, Source string }

// JSX is an SVG in JSX.
type JSX struct {
	// attributes of the svg element, without size and namespace, which the component sets
	Root     []Prop
	Children string // the content, each outermost element on a line of its own
	IDs      bool   // the sources use the variable id, which differs in each instance

	// Width and Height are the size of the component in pixels; both empty: 1em.
	Width, Height string
}

// Render reads an SVG and writes it as JSX. The error wraps ErrRefused.
func Render(svg string) (JSX, error) {
	root, err := parse(svg)
	if err != nil {
		return JSX{}, err
	}
	inheritColor(root)
	w := &writer{letters: map[string]string{}, classes: map[string]bool{}}
	if err := w.collectSheets(root); err != nil {
		return JSX{}, err
	}
	d := JSX{}
	if d.Root, err = w.rootProps(root); err != nil {
		return JSX{}, err
	}
	lines := []string{}
	for _, c := range root.children {
		line, err := w.element(c, false)
		if err != nil {
			return JSX{}, err
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	d.Children, d.IDs = strings.Join(lines, "\n"), len(w.letters) > 0
	return d, nil
}

var (
	ownColor = regexp.MustCompile(`^#(?:[0-9A-Fa-f]{3}){1,2}$`)
	paints   = []string{"fill", "stroke", "color", "stop-color", "flood-color", "lighting-color", "style"}
)

// inheritColor replaces the one colour of an icon, which its root has as color, by currentColor
// everywhere below, because the color of the component then paints them.
func inheritColor(root *node) {
	i := slices.IndexFunc(root.attrs, func(a attr) bool { return a.name == "color" && ownColor.MatchString(a.value) })
	if i >= 0 {
		root.inherit(root.attrs[i].value)
	}
}

func (n *node) inherit(color string) {
	for _, c := range n.children {
		for i := range c.attrs {
			if a := &c.attrs[i]; slices.Contains(paints, a.name) {
				a.value = strings.ReplaceAll(a.value, color, "currentColor")
			}
		}
		if n.name == "style" {
			c.text = strings.ReplaceAll(c.text, color, "currentColor")
		}
		c.inherit(color)
	}
}

// Name returns the name of an icon's component: the words of pack and name, capitalised. If the
// pack begins with a digit, the name begins with "Icon".
func Name(pack, name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(pack+"-"+name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	if s := b.String(); s == "" || s[0] < 'A' {
		return "Icon" + s
	}
	return b.String()
}

// Component returns a whole module. The credit is in a comment, which it cannot end.
func (d JSX) Component(name, credit string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n", comment(credit))
	imports, ids := `import type { SVGProps } from "react";`, ""
	if d.IDs {
		imports = `import { useId, type SVGProps } from "react";`
		ids = "  const id = \"i\" + useId().replace(/\\W/g, \"\") + \"_\";\n"
	}
	fmt.Fprintf(&b, "%s\n\nexport default function %s(props: SVGProps<SVGSVGElement>) {\n%s  return (\n", imports, name, ids)
	width, height := d.Width, d.Height
	if width == "" || height == "" {
		width, height = "1em", "1em"
	}
	fmt.Fprintf(&b, `    <svg xmlns="http://www.w3.org/2000/svg" width=%q height=%q`, width, height)
	for _, p := range d.Root {
		b.WriteString(" " + p.Name + "=" + p.Source)
	}
	b.WriteString(" {...props}>\n")
	for line := range strings.Lines(d.Children) {
		b.WriteString("      " + strings.TrimSuffix(line, "\n") + "\n")
	}
	b.WriteString("    </svg>\n  );\n}\n")
	return b.String()
}

// comment makes a text fit for a one-line comment: it replaces the line terminators of JavaScript
// (ECMA-262, section 12.3) by spaces.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
