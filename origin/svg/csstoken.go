package svg

import (
	"bytes"
	"unicode/utf8"
)

// kind is the kind of a token of CSS Syntax 3, section 4.
type kind uint8

const (
	tokEOF kind = iota
	tokIdent
	tokFunction
	tokAt
	tokHash
	tokString
	tokURL
	tokNumber // also percentages and dimensions: text is the number
	tokSpace  // white space, or a comment
	tokDelim  // one character, such as : ; , [ ] ( ) { }
	tokBad    // a bad string or a bad URL
)

type token struct {
	kind kind
	text string // escapes are decoded, quotes and brackets are left out
	unit string
}

// is reports whether t is the single character c.
func (t token) is(c string) bool { return t.kind == tokDelim && t.text == c }

// tokens splits a style sheet, or a part of one, into tokens.
func tokens(src []byte) []token {
	l := lexer{src: bytes.ReplaceAll(bytes.ReplaceAll(bytes.ReplaceAll(src,
		[]byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n")), []byte("\f"), []byte("\n"))}
	var out []token
	for {
		t := l.next()
		if t.kind == tokEOF {
			return out
		}
		if t.kind == tokSpace && len(out) > 0 && out[len(out)-1].kind == tokSpace {
			continue
		}
		out = append(out, t)
	}
}

type lexer struct {
	src []byte
	pos int
}

// at returns the byte n places ahead, or 0 at the end.
func (l *lexer) at(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

func (l *lexer) next() token {
	c := l.at(0)
	switch {
	case l.pos >= len(l.src):
		return token{}
	case c == '/' && l.at(1) == '*':
		end := bytes.Index(l.src[l.pos+2:], []byte("*/"))
		if end < 0 {
			l.pos = len(l.src)
		} else {
			l.pos += end + 4
		}
		return token{kind: tokSpace}
	case isSpace(c):
		for isSpace(l.at(0)) {
			l.pos++
		}
		return token{kind: tokSpace}
	case c == '"' || c == '\'':
		l.pos++
		return l.str(c)
	case c == '#' && (isName(l.at(1)) || l.escape(1)):
		l.pos++
		return token{kind: tokHash, text: l.name()}
	case l.startsNumber():
		return l.number()
	case l.startsIdent(0):
		return l.ident()
	case c == '@' && l.startsIdent(1):
		l.pos++
		return token{kind: tokAt, text: l.name()}
	}
	_, size := utf8.DecodeRune(l.src[l.pos:])
	l.pos += size
	return token{kind: tokDelim, text: string(l.src[l.pos-size : l.pos])}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}

func isName(c byte) bool { return isNameStart(c) || isDigit(c) || c == '-' }

// escape reports whether a valid escape begins n places ahead (section 4.3.8).
func (l *lexer) escape(n int) bool {
	return l.at(n) == '\\' && l.pos+n+1 < len(l.src) && l.at(n+1) != '\n'
}

// startsIdent reports whether an identifier begins n places ahead (section 4.3.9).
func (l *lexer) startsIdent(n int) bool {
	if l.at(n) == '-' {
		return isNameStart(l.at(n+1)) || l.at(n+1) == '-' || l.escape(n+1)
	}
	return isNameStart(l.at(n)) || l.escape(n)
}

// startsNumber reports whether a number begins here (section 4.3.10).
func (l *lexer) startsNumber() bool {
	n := 0
	if c := l.at(0); c == '+' || c == '-' {
		n = 1
	}
	return isDigit(l.at(n)) || l.at(n) == '.' && isDigit(l.at(n+1))
}

// name reads a name (section 4.3.11).
func (l *lexer) name() string {
	var out []byte
	for l.pos < len(l.src) {
		switch c := l.at(0); {
		case isName(c):
			out = append(out, c)
			l.pos++
		case l.escape(0):
			l.pos++
			out = utf8.AppendRune(out, l.escaped())
		default:
			return string(out)
		}
	}
	return string(out)
}

// escaped reads the character that an escape stands for, after its backslash (section 4.3.7).
func (l *lexer) escaped() rune {
	n, digits := rune(0), 0
	for ; digits < 6; digits++ {
		d := hexDigit(l.at(0))
		if d < 0 || l.pos >= len(l.src) {
			break
		}
		n = n<<4 | rune(d)
		l.pos++
	}
	if digits == 0 {
		r, size := utf8.DecodeRune(l.src[l.pos:])
		l.pos += size
		return r
	}
	if isSpace(l.at(0)) {
		l.pos++
	}
	if n == 0 || n >= 0x80 && !isChar(n) { // section 4.3.7, and characters that XML can't hold
		return utf8.RuneError
	}
	return n
}

func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// number reads a number, a percentage or a dimension (sections 4.3.3 and 4.3.12).
func (l *lexer) number() token {
	start := l.pos
	if c := l.at(0); c == '+' || c == '-' {
		l.pos++
	}
	digits := func() {
		for isDigit(l.at(0)) {
			l.pos++
		}
	}
	digits()
	if l.at(0) == '.' && isDigit(l.at(1)) {
		l.pos++
		digits()
	}
	if e := l.at(0); e == 'e' || e == 'E' {
		if isDigit(l.at(1)) || (l.at(1) == '+' || l.at(1) == '-') && isDigit(l.at(2)) {
			l.pos += 2
			digits()
		}
	}
	t := token{kind: tokNumber, text: string(l.src[start:l.pos])}
	switch {
	case l.startsIdent(0):
		t.unit = l.name()
	case l.at(0) == '%':
		t.unit = "%"
		l.pos++
	}
	return t
}

// ident reads a name, a function, or a URL without quotes (section 4.3.4).
func (l *lexer) ident() token {
	name := l.name()
	if l.at(0) != '(' {
		return token{kind: tokIdent, text: name}
	}
	l.pos++
	if !equalFold(name, "url") {
		return token{kind: tokFunction, text: name}
	}
	n := 0
	for isSpace(l.at(n)) {
		n++
	}
	if c := l.at(n); c == '"' || c == '\'' {
		return token{kind: tokFunction, text: name}
	}
	l.pos += n
	return l.url()
}

// url reads the rest of a URL without quotes (section 4.3.6).
func (l *lexer) url() token {
	var out []byte
	for l.pos < len(l.src) {
		switch c := l.at(0); {
		case c == ')':
			l.pos++
			return token{kind: tokURL, text: string(out)}
		case isSpace(c):
			for isSpace(l.at(0)) {
				l.pos++
			}
			if l.at(0) != ')' {
				return l.badURL()
			}
		case c == '"', c == '\'', c == '(', c < 0x20, c == 0x7f:
			return l.badURL()
		case c == '\\':
			if !l.escape(0) {
				return l.badURL()
			}
			l.pos++
			out = utf8.AppendRune(out, l.escaped())
		default:
			out = append(out, c)
			l.pos++
		}
	}
	return token{kind: tokURL, text: string(out)} // the end of input closes it, as in browsers
}

// badURL skips the remnants of a bad URL (section 4.3.14).
func (l *lexer) badURL() token {
	for l.pos < len(l.src) && l.at(0) != ')' {
		if l.escape(0) {
			l.pos++
			l.escaped()
			continue
		}
		l.pos++
	}
	l.pos = min(l.pos+1, len(l.src))
	return token{kind: tokBad}
}

// str reads the rest of a string (section 4.3.5). A string that the end of input cuts off is bad
// here, although browsers accept it.
func (l *lexer) str(quote byte) token {
	var out []byte
	for l.pos < len(l.src) {
		switch c := l.at(0); {
		case c == quote:
			l.pos++
			return token{kind: tokString, text: string(out)}
		case c == '\n':
			return token{kind: tokBad}
		case c == '\\' && l.at(1) == '\n':
			l.pos += 2
		case c == '\\' && l.pos+1 < len(l.src):
			l.pos++
			out = utf8.AppendRune(out, l.escaped())
		default:
			out = append(out, c)
			l.pos++
		}
	}
	return token{kind: tokBad}
}
