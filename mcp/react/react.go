// Package react writes an SVG drawing as a React component: one module that imports nothing but types from react, compiles as
// TSX, and draws the same in React 18.3 and 19 without a warning. What it takes for a drawing is an allow-list over a strict
// parse; anything that could run, or reach out of the drawing, is refused.
//
// The rules are written down, with cases, in mcp/testdata/react.json: the copy-in command of clients/react follows the same
// ones. The package knows nothing of MCP, packs or HTTP, and imports nothing but the standard library.
package react

import (
	"errors"
	"fmt"
	"strings"
)

// ErrRefused says that a drawing can't be written as a component; errors that wrap it say why, and repeat nothing of it.
var ErrRefused = errors.New("this drawing can't be a React component")

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// A Prop is one attribute as JSX writes it: its source is a quoted string, or an expression in braces.
type Prop struct{ Name, Source string }

// A Drawing is an SVG in the words of JSX.
type Drawing struct {
	Root     []Prop // of the svg element; its size and namespace are the component's to say
	Children string // what is inside, each outermost element on a line of its own
	IDs      bool   // the sources name the variable id, of which each copy has its own
}

// Render reads a drawing and writes it as JSX. The error wraps ErrRefused.
func Render(svg string) (Drawing, error) {
	root, err := parse(svg)
	if err != nil {
		return Drawing{}, err
	}
	w := &writer{letters: map[string]string{}, classes: map[string]bool{}}
	if err := w.collectSheets(root); err != nil {
		return Drawing{}, err
	}
	d := Drawing{}
	if d.Root, err = w.rootProps(root); err != nil {
		return Drawing{}, err
	}
	lines := []string{}
	for _, c := range root.children {
		line, err := w.element(c, false)
		if err != nil {
			return Drawing{}, err
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	d.Children, d.IDs = strings.Join(lines, "\n"), len(w.letters) > 0
	return d, nil
}

// Name is the name of an icon's component: its words with capitals, "Icon" in front of a pack that begins with a digit.
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

// Component is a whole module. The credit goes into a comment, in which it can't be anything else.
func (d Drawing) Component(name, credit string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n", comment(credit))
	imports, ids := `import type { SVGProps } from "react";`, ""
	if d.IDs {
		imports = `import { useId, type SVGProps } from "react";`
		ids = "  const id = \"i\" + useId().replace(/\\W/g, \"\") + \"_\";\n"
	}
	fmt.Fprintf(&b, "%s\n\nexport default function %s(props: SVGProps<SVGSVGElement>) {\n%s  return (\n", imports, name, ids)
	b.WriteString(`    <svg xmlns="http://www.w3.org/2000/svg" width="1em" height="1em"`)
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

// comment makes words fit for a comment of one line: what ends a line in JavaScript (ECMA-262, section 12.3) is a space.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
