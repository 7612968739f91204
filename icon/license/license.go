// Package license knows what the licences of icon packs oblige the user of an icon to do. It has
// the only table of these obligations: search filters, the site, the files of the bag and the
// attribution in answers all read it. The text of a licence decides, the table is its summary;
// docs/reference/licences.md lists the rows with their sources.
//
// The package imports only the standard library.
package license

import (
	"math/bits"
	"strings"
)

// Obligations is a set of duties that a licence imposes. The zero value is the set of a licence
// without conditions.
type Obligations uint8

// The obligations, the heaviest first.
const (
	// NonCommercial forbids use that is primarily intended for commercial advantage.
	NonCommercial Obligations = 1 << iota
	// NoDerivatives forbids sharing changed versions.
	NoDerivatives
	// Copyleft requires that changed versions are distributed under the same licence, with source.
	Copyleft
	// ShareAlike requires that changed versions are shared under the same licence.
	ShareAlike
	// Attribution requires that the author is credited where the icon is shown.
	Attribution
	// Notice requires that copies keep the copyright notice and the licence.
	Notice
)

// count is the number of obligations.
const count = 6

// words has, for each obligation by its bit, its name in filters and the instruction for the user
// of an icon.
var words = [count]struct{ name, text string }{
	{"non-commercial", "Use these icons for nothing that is primarily intended for commercial advantage or payment."},
	{"no-derivatives", "Share these icons unchanged only."},
	{"copyleft", "Distribute changed versions of these icons under the same licence, with their source."},
	{"share-alike", "Share changed versions of these icons under the same licence, or one that it names as compatible."},
	{"attribution", "Where you show these icons, credit the author, name and link the licence, and say if you changed them."},
	{"notice", "Keep the copyright notice and the licence with copies of these icons."},
}

// None is the name of the empty set in lists of groups.
const None = "none"

// Has reports whether the set contains every obligation of o.
func (s Obligations) Has(o Obligations) bool { return s&o == o }

// Each calls yield with the obligations of the set one by one, in the order of the constants.
func (s Obligations) Each(yield func(Obligations) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(s & -s) {
			return
		}
	}
}

// Names returns the names of the obligations in the set, such as attribution and share-alike.
func (s Obligations) Names() []string {
	names := make([]string, 0, bits.OnesCount8(uint8(s)))
	for o := range s.Each {
		names = append(names, o.String())
	}
	return names
}

// String returns the names of the obligations with a comma between them, or None.
func (s Obligations) String() string {
	switch {
	case s == 0:
		return None
	case s&(s-1) == 0 && s < 1<<count:
		return words[bits.TrailingZeros8(uint8(s))].name
	}
	return strings.Join(s.Names(), ", ")
}

// Text returns the instruction of one obligation as a sentence; "" for any other set.
func (s Obligations) Text() string {
	if s == 0 || s&(s-1) != 0 || s >= 1<<count {
		return ""
	}
	return words[bits.TrailingZeros8(uint8(s))].text
}

// Heaviest returns the heaviest obligation of the set; 0 for the empty set.
func (s Obligations) Heaviest() Obligations { return s & -s }

// Headings of licences without an obligation.
const (
	NoConditions = "No conditions"
	Unknown      = "Unknown"
)

// Heading returns the names of the obligations as a heading.
func (s Obligations) Heading() string {
	if s == 0 {
		return NoConditions
	}
	name := s.String()
	return strings.ToUpper(name[:1]) + name[1:]
}

// Parse returns the obligation with that name. It is not ok if no obligation has the name.
func Parse(name string) (o Obligations, ok bool) {
	for i := range words {
		if words[i].name == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// All returns the set of all obligations.
func All() Obligations { return 1<<count - 1 }

// Of returns the obligations of a licence: an SPDX identifier or a licence expression (SPDX 2.3,
// annex D), in any case. Of an expression with OR the user may choose the licence, so only the
// obligations of all alternatives count. It is not known if the table lacks a licence that the user
// cannot avoid; the set then has the certain ones.
func Of(spdx string) (o Obligations, known bool) {
	if e, ok := table[spdx]; ok {
		return e.obliges, true
	}
	return evaluate(spdx)
}

// Instructions of licences without an obligation.
const (
	FreeText    = "Use these icons as you like."
	UnknownText = "Read the licence before you use these icons."
)

// Advice returns sentences that tell the user of an icon what the licence obliges to do, the
// heaviest obligation first.
func Advice(spdx string) (sentences []string) {
	o, known := Of(spdx)
	for one := range o.Each {
		sentences = append(sentences, one.Text())
	}
	switch {
	case !known:
		sentences = append(sentences, UnknownText)
	case o == 0:
		sentences = append(sentences, FreeText)
	}
	return sentences
}

// Matches reports whether a licence passes a filter: the SPDX identifier of the licence in any
// case, or the name of its heaviest obligation, or None.
func Matches(filter, spdx string) bool {
	if strings.EqualFold(filter, spdx) {
		return true
	}
	wanted, ok := Parse(filter)
	if !ok && filter != None {
		return false
	}
	o, known := Of(spdx)
	return known && o.Heaviest() == wanted
}

// Title returns the full name of a licence in the SPDX list; "" if the table lacks the licence.
func Title(spdx string) string { return table[spdx].title }

// Source returns the page whose text states the obligations of a licence; "" if the table lacks the
// licence.
func Source(spdx string) string { return table[spdx].source }

// Page returns the page of a licence in the SPDX list. Expressions and licences of the operator
// have no page there, so theirs is the list.
func Page(spdx string) string {
	const list = "https://spdx.org/licenses/"
	if strings.ContainsAny(spdx, " ():") || strings.HasPrefix(spdx, "LicenseRef-") {
		return list
	}
	return list + spdx + ".html"
}
