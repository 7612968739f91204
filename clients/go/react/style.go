package react

import (
	"regexp"
	"strings"
)

// declarations are the style of one element, in order.
type declarations struct {
	list []declaration
	// number of leading declarations that come from attributes; those of the style attribute follow
	weak int
}

type declaration struct{ name, value string }

// setWeak adds a presentation attribute. A declaration of the same property overrides it (SVG 2,
// section 6.6).
func (d *declarations) setWeak(name, value string) {
	value = strings.TrimSpace(value)
	for _, known := range d.list {
		if known.name == name {
			return
		}
	}
	if value != "" && allowed(rules.CSSWords[name], value) {
		d.list = append(d.list[:d.weak], append([]declaration{{name, value}}, d.list[d.weak:]...)...)
		d.weak++
	}
}

// read adds the declarations of a style attribute. It omits properties that do not change how an
// SVG looks.
func (d *declarations) read(style string) error {
	if strings.ContainsAny(style, `\{}<`) || strings.Contains(style, "/*") {
		return refused("its style has an escape, a brace or a comment")
	}
	for _, one := range splitStyle(style) {
		name, value, ok := strings.Cut(one, ":")
		name = strings.TrimSpace(name)
		if !strings.HasPrefix(name, "--") {
			name = strings.ToLower(name)
		}
		value = strings.TrimSpace(important.ReplaceAllString(value, ""))
		if ok && value != "" && (customName.MatchString(name) || rules.CSSProperties[name] && allowed(rules.CSSWords[name], value)) {
			d.set(name, value)
		}
	}
	return nil
}

var (
	important  = regexp.MustCompile(`(?i)\s*!\s*important\s*$`)
	customName = regexp.MustCompile(`^--[A-Za-z0-9_-]+$`)
)

// set appends a declaration, and removes an earlier one of the same property.
func (d *declarations) set(name, value string) {
	for i, known := range d.list {
		if known.name == name {
			d.list = append(d.list[:i], d.list[i+1:]...)
			if i < d.weak {
				d.weak--
			}
			break
		}
	}
	d.list = append(d.list, declaration{name, value})
}

// splitStyle splits at semicolons outside of strings and brackets.
func splitStyle(s string) (list []string) {
	depth, start, in := 0, 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case in != 0:
			if c == in {
				in = 0
			}
		case c == '"', c == '\'':
			in = c
		case c == '(':
			depth++
		case c == ')':
			depth = max(0, depth-1)
		case c == ';' && depth == 0:
			list, start = append(list, s[start:i]), i+1
		}
	}
	return append(list, s[start:])
}

// style writes the style of an element as a React style object. Custom properties are spread,
// because React's types do not know them.
func (w *writer) style(d declarations) string {
	if len(d.list) == 0 {
		return ""
	}
	var fields []string
	for _, one := range d.list {
		value := expression(w.urls(one.value))
		if strings.HasPrefix(one.name, "--") {
			fields = append(fields, "...{ "+quote(one.name)+": "+value+" }")
		} else {
			fields = append(fields, camel(one.name)+": "+value)
		}
	}
	return "{{ " + strings.Join(fields, ", ") + " }}"
}

// camel returns the name of a property in React styles. A vendor prefix begins with a capital,
// except ms.
func camel(name string) string {
	if strings.HasPrefix(name, "-ms-") {
		name = name[1:]
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '-' && i+1 < len(name) {
			i++
			b.WriteString(strings.ToUpper(name[i : i+1]))
		} else {
			b.WriteByte(name[i])
		}
	}
	return b.String()
}
