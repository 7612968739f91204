package svg

import (
	"bytes"
	"strings"
)

// split splits a name at its colon (Namespaces in XML, section 4).
func split(name []byte) (prefix, local []byte, err error) {
	i := bytes.IndexByte(name, ':')
	if i < 0 {
		return nil, name, nil
	}
	prefix, local = name[:i], name[i+1:]
	if len(prefix) == 0 || len(local) == 0 || bytes.IndexByte(local, ':') >= 0 || strings.IndexByte("-.0123456789", local[0]) >= 0 {
		return nil, nil, malformed("a name has a misplaced colon")
	}
	return prefix, local, nil
}

// declareNamespaces reads the namespace declarations among p.raw.
func (p *parser) declareNamespaces() error {
	for _, a := range p.raw {
		name, ok := bytes.CutPrefix(a.name, []byte("xmlns"))
		if !ok || len(name) > 0 && name[0] != ':' {
			continue
		}
		prefix := bytes.TrimPrefix(name, []byte{':'})
		reserved := string(prefix) == "xmlns" || string(prefix) == "xml" && string(a.value) != xmlSpace
		if reserved || len(name) > 0 && (len(prefix) == 0 || len(a.value) == 0) {
			return malformed("a namespace declaration is invalid")
		}
		if len(p.spaces) >= maxSpaces {
			return unclean("it declares more than %d namespaces", maxSpaces)
		}
		p.spaces = append(p.spaces, binding{prefix, knownNamespace(a.value)})
	}
	return nil
}

// resolve returns the namespace of a prefix. An element without a prefix is SVG even if nothing
// declares that: the body of an Iconify icon relies on the declarations of its root, and a file
// without declarations can mean nothing else. If the name of the root has a prefix, an element
// without one has no namespace.
func (p *parser) resolve(prefix []byte) string {
	for i := len(p.spaces) - 1; i >= 0; i-- {
		if bytes.Equal(p.spaces[i].prefix, prefix) {
			return p.spaces[i].space
		}
	}
	switch string(prefix) {
	case "":
		if p.prefixed {
			return otherSpace
		}
		return svgSpace
	case "xlink":
		return xlinkSpace
	case "xml":
		return xmlSpace
	}
	return otherSpace
}

// knownNamespace returns one of the namespaces that the cleaner distinguishes. All others count as
// one.
func knownNamespace(space []byte) string {
	for _, known := range [...]string{svgSpace, xlinkSpace, xmlSpace} {
		if string(space) == known {
			return known
		}
	}
	return otherSpace
}

// checkNames refuses names that browsers refuse even in an element that is left out.
func (p *parser) checkNames() error {
	for i := range p.raw {
		if _, _, err := split(p.raw[i].name); err != nil {
			return err
		}
	}
	return nil
}

// qualifiedAttr returns the attribute that a name with a prefix means: xlink:href, xml:space or
// xml:lang, and nil for all others.
func (p *parser) qualifiedAttr(name []byte) (*attribute, error) {
	prefix, local, err := split(name)
	if err != nil {
		return nil, err
	}
	switch p.resolve(prefix) {
	case xlinkSpace:
		if string(local) == "href" {
			return attrXlinkHref, nil
		}
	case xmlSpace:
		return attributes["xml:"+string(local)], nil
	}
	return nil, nil
}
