package react

import (
	"fmt"
	"regexp"
	"strings"
)

// parts are a value as text and the letters of ids.
type parts []part

type part struct {
	text string
	id   bool // text is the letter of an id
}

func text(s string) part { return part{text: s} }

// value splits the value of an attribute at the ids in it.
func (w *writer) value(a attr) parts {
	trimmed := strings.TrimSpace(a.value)
	switch a.name {
	case "id":
		return parts{w.id(a.value)}
	case "class":
		return w.words(a.value, func(word string) part {
			if w.classes[word] {
				return part{w.letter("." + word), true}
			}
			return text(word)
		})
	case "aria-labelledby", "aria-describedby":
		return w.words(a.value, w.id)
	case "href", "xlink:href":
		if id, ok := strings.CutPrefix(trimmed, "#"); ok {
			return parts{text("#"), w.id(id)}
		}
		return parts{text(trimmed)}
	case "begin", "end":
		return w.moments(a.value)
	case "aria-label", "lang", "xml:lang", "role":
		return parts{text(a.value)}
	}
	return w.urls(a.value)
}

func (w *writer) id(id string) part { return part{w.letter("#" + id), true} }

// words returns the parts of a list that spaces separate.
func (w *writer) words(list string, each func(string) part) (p parts) {
	for i, word := range strings.Fields(list) {
		if i > 0 {
			p = append(p, text(" "))
		}
		p = append(p, each(word))
	}
	return p
}

// urls finds url(#id) in a value, with or without quotes.
func (w *writer) urls(value string) (p parts) {
	rest := 0
	for _, m := range reference.FindAllStringSubmatchIndex(value, -1) {
		p = append(p, text(value[rest:m[0]]+"url(#"), w.id(value[m[2]:m[3]]), text(")"))
		rest = m[1]
	}
	return append(p, text(value[rest:]))
}

// moment matches a time relative to another element (SMIL 3.0, timing, Syncbase-value): "x.end+1s".
var moment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)(\.[A-Za-z].*)$`)

// moments returns the parts of a list that semicolons separate.
func (w *writer) moments(value string) (p parts) {
	for i, one := range strings.Split(value, ";") {
		one = strings.TrimSpace(one)
		if i > 0 {
			p = append(p, text(";"))
		}
		if m := moment.FindStringSubmatch(one); m != nil {
			p = append(p, w.id(m[1]), text(m[2]))
		} else {
			p = append(p, text(one))
		}
	}
	return p
}

// quoted writes the value of a JSX attribute: in quotes if no character has a meaning in JSX, else
// as an expression.
func quoted(p parts) string {
	s := expression(p)
	if s[0] != '"' || strings.ContainsFunc(p.plain(), special) || p.ids() {
		return "{" + s + "}"
	}
	return s
}

func special(r rune) bool {
	return r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 || strings.ContainsRune(`"&\{}<>`, r)
}

func (p parts) plain() (s string) {
	for _, one := range p {
		if !one.id {
			s += one.text
		}
	}
	return s
}

func (p parts) ids() bool {
	for _, one := range p {
		if one.id {
			return true
		}
	}
	return false
}

// expression writes a value as a JavaScript expression: "url(#" + id + "a)". The letter of an id
// begins the string after it.
func expression(p parts) string {
	var terms []string
	now := ""
	for _, one := range p {
		if one.id {
			if now != "" {
				terms = append(terms, quote(now))
			}
			terms, now = append(terms, "id"), ""
		}
		now += one.text
	}
	if now != "" || len(terms) == 0 {
		terms = append(terms, quote(now))
	}
	return strings.Join(terms, " + ")
}

// quote writes a JavaScript string (ECMA-262, section 12.9.4).
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ', r == 0x7f, r == 0x2028, r == 0x2029:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
