package svg

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// keepAttrs appends what is kept of p.raw to p.attrs. It reports whether the element can be kept with it: an animation of
// what may not be set, or an image without pixels, is worth nothing without the attribute that was taken.
func (p *parser) keepAttrs(elem *element) (ok bool, err error) {
	first := len(p.attrs)
	ok = true
	for i := range p.raw {
		raw := &p.raw[i]
		info := attributes[string(raw.name)]
		if bytes.IndexByte(raw.name, ':') >= 0 {
			if info, err = p.qualified(raw.name); err != nil {
				return false, err
			}
		}
		if info == nil {
			continue
		}
		a := attr{info: info, value: raw.value, simple: raw.simple}
		keep, harmless := p.checkAttr(elem, &a)
		ok = ok && harmless
		if !keep {
			continue
		}
		for _, other := range p.attrs[first:] { // two prefixes of one namespace
			if other.info == info {
				return false, malformed("an attribute is given twice")
			}
		}
		p.attrs = append(p.attrs, a)
	}
	return ok && p.complete(elem, p.attrs[first:]), nil
}

// complete reports whether an element still does something with the attributes that it has left.
func (p *parser) complete(elem *element, attrs []attr) bool {
	switch elem.role {
	case roleImage:
		for _, a := range attrs {
			if a.info.check == checkHref {
				return true
			}
		}
		return false
	case roleStyle:
		for _, a := range attrs {
			if a.info == attrType && !strings.EqualFold(string(bytes.TrimSpace(a.value)), "text/css") {
				return false
			}
		}
	}
	return true
}

// checkAttr decides whether an attribute is kept, and mends its value; harmless is false where its element may not be kept.
func (p *parser) checkAttr(elem *element, a *attr) (keep, harmless bool) {
	switch a.info.check {
	case checkCSS:
		return a.setCSS(), true
	case checkPaint:
		keep = a.setCSS() // which reads escapes
		a.value = canonicalCurrent(a.value)
		return keep, true
	case checkStyle:
		return a.setStyle(), true
	case checkHref:
		if !elem.refer {
			return false, true
		}
		if !a.setHref(elem) {
			return false, elem.role != roleAnimation // it would change its parent instead
		}
		p.xlink = p.xlink || a.info == attrXlinkHref
		return true, true
	case checkTarget:
		return true, elem.role == roleAnimation && mayAnimate(a.value)
	case checkAnimated:
		a.value = canonicalCurrent(a.value)
		harmless := harmlessValues(a.value)
		return harmless, harmless
	case checkName:
		p.named = p.named || a.info == attrID
		return a.info != attrClass || len(a.value) <= maxClass, true
	case checkPlain:
		return harmlessPlain(a.value), true
	case checkSpace: // said again on an inner element, as some drawings do
		return string(a.value) == svgSpace, true
	}
	return true, true
}

// setHref keeps references inside of the drawing, and the pixels of images.
func (a *attr) setHref(elem *element) bool {
	v := bytes.Trim(a.value, " \t\r\n")
	if elem.role == roleImage {
		if v = pixels(v); v == nil {
			return false
		}
	} else if len(v) == 0 || v[0] != '#' {
		return false
	}
	a.value = v
	return true
}

// pixels is a data: URL of a kind of picture that has nothing but pixels, written in one way; nil if v is none.
func pixels(v []byte) []byte {
	for _, kind := range [...]struct{ name, magic string }{
		{"png", "\x89PNG\r\n\x1a\n"}, {"jpeg", "\xff\xd8\xff"}, {"jpg", "\xff\xd8\xff"}, {"gif", "GIF8"}, {"webp", "RIFF"},
	} {
		start := "data:image/" + kind.name + ";base64,"
		if len(v) < len(start) || !strings.EqualFold(string(v[:len(start)]), start) {
			continue
		}
		code := bytes.Join(bytes.Fields(v[len(start):]), nil)
		data, err := base64.StdEncoding.DecodeString(string(code))
		if err != nil || !bytes.HasPrefix(data, []byte(kind.magic)) || kind.name == "webp" && (len(data) < 12 || string(data[8:12]) != "WEBP") {
			return nil
		}
		return append([]byte(start), code...)
	}
	return nil
}

// harmlessPlain reports whether a value in which no URL is looked for does not look like one either: no reader is trusted
// to know which attributes those are.
func harmlessPlain(v []byte) bool {
	if bytes.IndexByte(v, '(') < 0 {
		return true
	}
	if bytes.IndexByte(v, '\\') >= 0 || bytes.Contains(v, []byte("/*")) {
		return false
	}
	s := strings.ToLower(string(v))
	for _, sign := range [...]string{"url(", "src(", "image(", "image-set(", "expression(", "//", "script:", "behavior", "@"} {
		if strings.Contains(s, sign) {
			return false
		}
	}
	return true
}

// mayAnimate reports whether an animation may change the attribute of this name: never a reference, an event or a style.
func mayAnimate(name []byte) bool {
	s := strings.ToLower(string(name))
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
			return false
		}
	}
	switch s {
	case "", "href", "src", "style", "class", "id", "attributename", "xmlns", "type", "media", "target", "values", "from", "to", "by", "begin", "end", "cursor":
		return false
	}
	return !strings.HasPrefix(s, "on") && !strings.HasPrefix(s, "xlink") && !strings.HasPrefix(s, "xml")
}

// harmlessValues reports whether what an animation sets is nothing that could be followed or run. That goes for references
// inside of the drawing too: what a drawing draws for its references is counted as it stands, not as it will.
func harmlessValues(v []byte) bool {
	if bytes.IndexByte(v, '\\') >= 0 { // nobody writes a value so who means well
		return false
	}
	if bytes.IndexByte(v, '(') < 0 && bytes.IndexByte(v, ':') < 0 {
		return true
	}
	tight := strings.ToLower(string(bytes.Join(bytes.Fields(v), nil)))
	for _, scheme := range [...]string{"script:", "data:", "http:", "https:", "file:", "blob:"} {
		if strings.Contains(tight, scheme) {
			return false
		}
	}
	for part := range bytes.SplitSeq(v, []byte{';'}) {
		if _, ok := cleanValue(part); !ok {
			return false
		}
	}
	refers := false
	eachURL(v, func([]byte) { refers = true })
	return !refers
}
