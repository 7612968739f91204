package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/iconedge/iconedge/clients/go/reference"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/scheme"
)

// mostInCode is the number of icons that a name in code may be, which are tried one after another.
const mostInCode = 5

// codeAt returns the icon that the code at an offset names in the way of its library: a component
// (FaHouse), an imported one, or classes in quotes (fa-solid fa-house). The
// icon may not exist, so no warning is given about it.
func (s *server) codeAt(ctx context.Context, d *document, offset int) (r reference.Reference, ok bool) {
	packs, err := s.icons.packs(ctx)
	if err != nil {
		return r, false
	}
	start, line := d.line(d.position(offset).Line)
	from, to := around(line, offset-start, isCodeWord)
	word := line[from:to]
	if word == "" {
		return r, false
	}
	reading, ok := scheme.Imported(word, d.text, packs.has)
	if !ok {
		reading, ok = scheme.Component(word, packs.has)
	}
	if !ok {
		reading, ok = classes(line, offset-start, word, packs.has)
	}
	if !ok {
		return r, false
	}
	var refs []icon.Ref
	for _, ref := range reading.Refs {
		if packs.has(ref.Pack) && icon.ValidKey(ref.Name) && len(refs) < mostInCode {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return r, false
	}
	return reference.Reference{Start: start + from, End: start + to, Ref: refs[0], Others: refs[1:]}, true
}

// classes reads the text in the quotes around an offset, if the word there is a part of the name.
func classes(line string, offset int, word string, isPack func(string) bool) (scheme.Reading, bool) {
	from, to := around(line, offset, func(r rune) bool { return !strings.ContainsRune("\"'`<>{}", r) })
	for _, r := range scheme.Read(line[from:to], isPack) {
		if r.Certain && len(r.Targets) > 0 && strings.Contains(strings.ReplaceAll(word, "_", "-"), r.Name) {
			return r, true
		}
	}
	return scheme.Reading{}, false
}

// around returns the part of a line around an offset whose characters are of one kind.
func around(line string, offset int, is func(rune) bool) (from, to int) {
	from = strings.LastIndexFunc(line[:offset], func(r rune) bool { return !is(r) })
	// The rest of a character that is not ASCII is no word.
	if from++; from > 0 && from < len(line) && line[from]&0xc0 == 0x80 {
		return offset, offset
	}
	to = strings.IndexFunc(line[offset:], func(r rune) bool { return !is(r) })
	if to < 0 {
		return from, len(line)
	}
	return from, offset + to
}

func isCodeWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_'
}

// leastComponent is the number of letters of a name after which a component is completed.
const leastComponent = 2

// completeComponent completes a component such as FaHou by the icons of the pack of its form.
func (s *server) completeComponent(ctx context.Context, d *document, offset int, set settings) completionList {
	list := completionList{Items: []completionItem{}}
	start, _ := d.line(d.position(offset).Line)
	before := d.text[start:offset]
	from, _ := around(before, len(before), isCodeWord)
	if _, maybe := scheme.Component(before[from:], reference.Any); !maybe {
		return list
	}
	packs, err := s.icons.packs(ctx)
	if err != nil {
		s.tell(err)
		return list
	}
	r, ok := scheme.Component(before[from:], packs.has)
	at := slices.IndexFunc(r.Targets, func(t scheme.Target) bool {
		return packs.has(t.Pack) && (len(set.packs) == 0 || slices.Contains(set.packs, t.Pack))
	})
	if !ok || at < 0 || len(r.Name) < leastComponent {
		return list
	}
	hits, err := s.icons.finder.search(ctx, s.icons.client, reference.Partial{Pack: r.Targets[at].Pack, Typed: r.Name}, set)
	if err != nil {
		s.tell(err)
	} else {
		s.succeeded()
	}
	list.IsIncomplete = true
	for n, h := range hits {
		ref := icon.Ref{Pack: h.Pack, Name: h.Name}
		label, ok := r.Component(ref)
		if !ok {
			continue
		}
		detail := ref.String() + ", " + h.License
		if !h.CommercialUse {
			detail += " (non-commercial)"
		}
		list.Items = append(list.Items, completionItem{Label: label, Kind: kindValue, Detail: detail, SortText: fmt.Sprintf("%02d", n),
			FilterText: before[from:], TextEdit: &textEdit{d.span(start+from, offset), label}, Data: ref})
	}
	return list
}
