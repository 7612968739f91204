package svg

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Limits of the entities of an internal subset.
const (
	maxEntities = 256
	maxExpanded = 1 << 17 // bytes that all references add
	maxEntity   = 8       // entities within entities
)

// subset reads an internal subset (XML 1.0, section 2.8). It keeps the entities of plain text,
// which Illustrator declares for its namespaces. It skips everything else, because the cleaner
// does not validate and writes no document type.
func (p *parser) subset() error {
	p.pos++ // [
	for {
		p.space()
		rest := p.src[p.pos:]
		switch {
		case len(rest) == 0:
			return malformed("its document type declaration is not closed")
		case rest[0] == ']':
			p.pos++
			return nil
		case bytes.HasPrefix(rest, []byte("<!--")):
			if err := p.comment(); err != nil {
				return err
			}
		case bytes.HasPrefix(rest, []byte("<?")):
			if _, err := p.until("<?", "?>", "a processing instruction is not closed"); err != nil {
				return err
			}
		case bytes.HasPrefix(rest, []byte("<!ENTITY")):
			p.pos += len("<!ENTITY")
			if err := p.entity(); err != nil {
				return err
			}
		case bytes.HasPrefix(rest, []byte("<!ATTLIST")), bytes.HasPrefix(rest, []byte("<!ELEMENT")),
			bytes.HasPrefix(rest, []byte("<!NOTATION")):
			p.pos += 2
			if !p.skipDeclaration() {
				return malformed("a declaration in its document type is not closed")
			}
		case rest[0] == '%':
			return unclean("its document type refers to a parameter entity; only entities of plain text are expanded")
		default:
			return malformed("its document type has something other than declarations")
		}
	}
}

// skipDeclaration moves past the end of a declaration.
func (p *parser) skipDeclaration() bool {
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; c {
		case '"', '\'':
			if !p.literal() {
				return false
			}
			continue
		case '<':
			return false
		case '>':
			p.pos++
			return true
		}
		p.pos++
	}
	return false
}

// entity reads the declaration of an entity (section 4.2). The first one of a name counts.
func (p *parser) entity() error {
	if !p.space() {
		return malformed("the declaration of an entity has no name")
	}
	if p.pos < len(p.src) && p.src[p.pos] == '%' { // a parameter entity, to which nothing may refer
		if !p.skipDeclaration() {
			return malformed("the declaration of an entity is not closed")
		}
		return nil
	}
	name := string(p.name())
	if name == "" || strings.Contains(name, ":") || !p.space() || p.pos >= len(p.src) {
		return malformed("the declaration of an entity has no name")
	}
	var text []byte // nil: its text is in another file
	if quote := p.src[p.pos]; quote == '"' || quote == '\'' {
		start := p.pos + 1
		if !p.literal() {
			return malformed("the declaration of an entity is not closed")
		}
		var err error
		if text, err = replacement(p.src[start : p.pos-1]); err != nil {
			return err
		}
		p.space()
		if p.pos >= len(p.src) || p.src[p.pos] != '>' {
			return malformed("the declaration of an entity is not closed")
		}
		p.pos++
	} else if !p.skipDeclaration() {
		return malformed("the declaration of an entity is not closed")
	}
	if p.entities == nil {
		p.entities = map[string][]byte{}
	}
	if _, known := p.entities[name]; !known {
		p.entities[name] = text
	}
	if len(p.entities) > maxEntities {
		return unclean("its document type declares more than %d entities", maxEntities)
	}
	return nil
}

// replacement returns the replacement text of an entity: references to characters are resolved,
// those to entities are not (section 4.5).
func replacement(value []byte) ([]byte, error) {
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '%':
			return nil, unclean("an entity of its document type refers to a parameter entity; only entities of plain text are expanded")
		case c == '&' && i+1 < len(value) && value[i+1] == '#':
			r, size := reference(value[i:])
			if size == 0 {
				return nil, malformed("an entity of its document type has a malformed reference")
			}
			out = utf8.AppendRune(out, r)
			i += size - 1
		default:
			out = append(out, c)
		}
	}
	return out, nil
}

// entityText returns the replacement text of the entity reference at the start of b, and the length
// of the reference. The text is never read as markup.
func (p *parser) entityText(b []byte, depth int) (text []byte, size int, err error) {
	end := 1
	for end < len(b) && nameByte[b[end]] {
		end++
	}
	text, known := p.entities[string(b[1:end])]
	switch {
	case !known || end >= len(b) || b[end] != ';':
		return nil, 0, unclean("it has an entity that neither XML nor its document type defines, or a malformed reference")
	case text == nil:
		return nil, 0, unclean("it refers to an entity in another file; only entities of plain text are expanded")
	case bytes.IndexByte(text, '<') >= 0:
		return nil, 0, unclean("it refers to an entity with markup; only entities of plain text are expanded")
	case depth >= maxEntity:
		return nil, 0, unclean("its entities refer to each other more than %d deep", maxEntity)
	}
	if p.expanded += len(text); p.expanded > maxExpanded {
		return nil, 0, unclean("its entities add more than %d bytes", maxExpanded)
	}
	return text, end + 1, nil
}
