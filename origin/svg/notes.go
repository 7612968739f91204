package svg

import (
	"regexp"
	"slices"
	"strings"
)

// outside is the note on a reference to another file.
const outside = "a reference outside of the file"

// maxNotes is the number of notes on one SVG.
const maxNotes = 16

var (
	// outsideURL matches a reference in CSS that does not begin with #. It serves reports alone.
	outsideURL = regexp.MustCompile(`(?i)url\(\s*["']?\s*[^#"'\s)]`)
	// plainName matches the names that a report repeats.
	plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,31}$`)
)

// note records a removed part for the report, once.
func (p *parser) note(what string) {
	if len(p.notes) < maxNotes && !slices.Contains(p.notes, what) {
		p.notes = append(p.notes, what)
	}
}

// noteElement records an element that is left out. Editors' own elements and metadata draw nothing,
// and no browser shows an element that requires an extension.
func (p *parser) noteElement(local string, svg bool) {
	runs := slices.Contains([]string{"script", "iframe", "object", "embed", "handler"}, strings.ToLower(local))
	switch {
	case !runs && (!svg || local == "metadata" || local == "view" || local == "cursor"):
		return
	case slices.ContainsFunc(p.raw, func(a rawAttr) bool { return string(a.name) == "requiredExtensions" }):
		return
	case !plainName.MatchString(local):
		local = "an unknown element"
	}
	p.note(local)
}

// noteAttribute records an attribute that is left out, if it runs or refers to something.
func (p *parser) noteAttribute(name, value []byte) {
	switch n := strings.ToLower(string(name)); {
	case strings.HasPrefix(n, "on") && plainName.MatchString(n):
		p.note(n)
	case n == "href", strings.HasSuffix(n, ":href"), n == "src", outsideURL.Match(value):
		p.note(outside)
	}
}
